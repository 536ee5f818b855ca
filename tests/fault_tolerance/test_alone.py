"""A fault of one node that reads like a fault of the specification, and the other way round."""

from __future__ import annotations

from datetime import timedelta

import pytest

from muster.domain.diagnosis import Action, Blame
from muster.domain.evidence import WorkerEvidence
from muster.fault_tolerance.core.diagnosis import diagnose
from muster.fault_tolerance.core.failure import Failure
from muster.fault_tolerance.rulebook import shipped
from tests.support.lives import START

MISSING = "FileNotFoundError: [Errno 2] No such file or directory: '/data/train.bin'\n"
RESET = "RuntimeError: Connection reset by peer\n"
KEY = "KeyError: 'text'\n"


def failure(tails: list[str], *, nodes: int | None = None) -> Failure:
    """One worker for each tail; those that show the cause end first."""
    workers = tuple(
        WorkerEvidence(
            worker=f"worker-{rank}",
            node=f"n{rank % (nodes or len(tails))}",
            rank=rank,
            exit_code=1,
            ended_at=START + timedelta(seconds=6 if tail == RESET else 0),
            tail=tail,
        )
        for rank, tail in enumerate(tails)
    )
    return Failure(tenant="t", job="j", user="u", attempt=1, at=START, workers=workers)


def judged(tails: list[str], *, nodes: int | None = None) -> tuple[Action, Blame, tuple[str, ...]]:
    found = diagnose(failure(tails, nodes=nodes), shipped(), START)
    return found.action, found.blame, found.nodes


def test_what_one_node_misses_is_that_nodes_fault() -> None:
    tails = [RESET, RESET, MISSING, RESET]
    assert judged(tails) == (Action.EXCLUDE, Blame.STORAGE, ("n2",))


def test_two_workers_of_one_node_are_one_node() -> None:
    tails = [RESET, MISSING, RESET, MISSING]
    assert judged(tails, nodes=2) == (Action.EXCLUDE, Blame.STORAGE, ("n1",))


@pytest.mark.parametrize(
    ("tails", "why"),
    [
        ([MISSING, MISSING, MISSING], "all miss it"),
        ([RESET, MISSING, MISSING], "two nodes miss it"),
        ([MISSING, RESET, RESET], "the first rank does what no other does"),
        ([MISSING], "there is no other node"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_others_would_miss_too_is_the_specifications(tails: list[str], why: str) -> None:
    action, blame, nodes = judged(tails)
    assert (action, blame, nodes) == (Action.STOP, Blame.USER, ()), why


def test_what_a_program_raises_on_its_own_data_says_nothing_of_the_node() -> None:
    assert judged([RESET, KEY, RESET, RESET])[1] is Blame.USER
