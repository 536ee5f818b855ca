"""What failures leave behind: rows of the same failure, disjoint nodes, and restarts given back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from muster.domain.faults import HEALTHY, NODES, Faults, after_failure, gives_back
from tests.support.lives import START


def row(*nodes: str, count: int = 1, step: int = 10, **more: object) -> Faults:
    values = {"fingerprint": "f", "count": count, "step": step, "nodes": nodes, **more}
    return Faults.model_validate(values)


@pytest.mark.parametrize(
    ("known", "fingerprint", "step", "count"),
    [
        (None, "f", 0, 1),
        (row("n1"), "f", 10, 2),
        (row("n1", count=4), "f", 9, 5),
        (row("n1", count=4), "f", 11, 1),
        (row("n1", count=4), "g", 10, 1),
    ],
)
def test_the_same_failure_counts_up_until_there_is_progress(
    known: Faults | None, fingerprint: str, step: int, count: int
) -> None:
    assert after_failure(known, fingerprint, step, ("n1",)).count == count


@pytest.mark.parametrize(
    ("before", "now", "disjoint"),
    [
        (("n1", "n2"), ("n3", "n4"), True),
        (("n1", "n2"), ("n2", "n3"), False),
        ((), ("n1",), False),
        (("n1",), (), False),
    ],
)
def test_two_failures_are_apart_only_if_no_node_is_the_same(
    before: tuple[str, ...], now: tuple[str, ...], disjoint: bool
) -> None:
    assert after_failure(row(*before), "f", 10, now).disjoint is disjoint


def test_once_apart_a_row_stays_apart_and_progress_ends_it() -> None:
    apart = after_failure(row("n1"), "f", 10, ("n2",))
    assert after_failure(apart, "f", 10, ("n2",)).disjoint
    assert not after_failure(apart, "f", 11, ("n3",)).disjoint


def test_only_so_many_nodes_are_remembered() -> None:
    found = after_failure(None, "f", 0, (f"n{number}" for number in range(NODES + 1)))
    assert len(found.nodes) == NODES


def test_when_a_restart_came_back_is_not_forgotten_with_the_row() -> None:
    known = row("n1", credited_at=START)
    assert after_failure(known, "other", 10, ("n1",)).credited_at == START


@pytest.mark.parametrize(
    ("step", "ran", "back"),
    [
        (11, HEALTHY, True),
        (11, HEALTHY - timedelta(microseconds=1), False),
        (10, HEALTHY, False),
    ],
)
def test_new_work_after_half_an_hour_gives_a_restart_back(
    step: int, ran: timedelta, back: bool
) -> None:
    assert gives_back(row("n1"), step=step, started_at=START, at=START + ran) is back


@pytest.mark.parametrize(("since", "back"), [(HEALTHY, True), (HEALTHY / 2, False)])
def test_one_comes_back_in_half_an_hour_however_long_it_runs(since: timedelta, back: bool) -> None:
    credited = START + timedelta(hours=5)
    known = row("n1", credited_at=credited)
    assert gives_back(known, step=99, started_at=START, at=credited + since) is back


def test_what_never_failed_or_never_ran_gets_nothing_back() -> None:
    late = START + timedelta(days=1)
    assert not gives_back(None, step=99, started_at=START, at=late)
    assert not gives_back(row("n1"), step=99, started_at=None, at=late)
