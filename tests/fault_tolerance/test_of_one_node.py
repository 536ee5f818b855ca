"""Where a node is left for what it alone lacks, and where it is not, with the rules as shipped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from muster.domain.diagnosis import Action, Blame, Diagnosis
from muster.domain.evidence import WorkerEvidence
from muster.fault_tolerance.core.diagnosis import diagnose
from muster.fault_tolerance.core.failure import Earlier, Failure
from muster.fault_tolerance.rulebook import shipped
from tests.fault_tolerance.failures import failure, worker
from tests.support.lives import START

BOOK = shipped()
MISSING = "FileNotFoundError: [Errno 2] No such file or directory: '{path}'"


def gang(of: int, line: str) -> tuple[WorkerEvidence, ...]:
    """Four workers; one says the line, the others are torn down."""
    said = worker(of, f"Traceback (most recent call last):\n{line}")
    rest = (worker(rank, "", code=143, after=6) for rank in range(4) if rank != of)
    return tuple(sorted((said, *rest), key=lambda one: one.rank))


def judged(found: Failure) -> Diagnosis:
    return diagnose(found, BOOK, found.at)


@pytest.mark.parametrize(
    "line",
    [
        MISSING.format(path="/mnt/corpus/train"),
        "PermissionError: [Errno 13] Permission denied: '/mnt/corpus/train'",
        "SSLError: certificate verify failed: certificate is not yet valid",
    ],
)
def test_what_a_node_lacks_that_the_others_have_is_left(line: str) -> None:
    found = judged(failure(*gang(2, line), ran_s=40))
    assert found.blame.infrastructure
    assert (found.action, found.nodes) == (Action.EXCLUDE, ("n2",))


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (gang(0, MISSING.format(path="/mnt/x")), "the first rank does what no other does"),
        (gang(3, MISSING.format(path="/lists/part-3.txt")), "the path is this rank's own"),
        (gang(2, "TypeError: f() takes no arguments"), "no node brings the program"),
        (
            tuple(worker(rank, MISSING.format(path="/mnt/x")) for rank in range(4)),
            "every node shows it",
        ),
        ((worker(0, MISSING.format(path="/mnt/x")),), "there is no other to compare with"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_it_stays_the_jobs_own_where(told: tuple[WorkerEvidence, ...], why: str) -> None:
    found = judged(failure(*told, ran_s=40))
    assert (found.nodes, found.blame.infrastructure) == ((), False), why


def test_a_second_time_on_another_node_it_was_not_the_nodes() -> None:
    told = failure(*gang(2, MISSING.format(path="/mnt/x")), ran_s=40)
    rule = judged(told).rule
    before = (Earlier("f", rule, ("n0", "n9"), "n9", 0, START),)
    again = judged(replace(told, earlier=before))
    assert (again.blame, again.action) == (Blame.USER, Action.STOP)
