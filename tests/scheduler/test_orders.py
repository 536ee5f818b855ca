"""The plain orders of a queue: who came first, with and without passing, and who is done first."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from muster.domain.state import JobState
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Order, Policy
from muster.scheduler.core.snapshot import key_of
from muster.scheduler.core.verdicts import Plan, Waiting
from tests.scheduler.worlds import node, placements, queued, running, world


def _limited(state: JobState, seconds: int | None) -> JobState:
    demand = state.demand.model_copy(update={"max_runtime_s": seconds})
    return state.model_copy(update={"demand": demand})


def _plan(order: Order, jobs: Sequence[JobState]) -> Plan:
    return plan(world([node("n1"), node("n2")], jobs), Policy(order=order))


BUSY = running("busy", ["n1"], priority=99)
FIRST = queued("first", 2, entered=-300)
SECOND = queued("second", entered=-200)
THIRD = queued("third", entered=-100, priority=99)


def test_nobody_passes_a_job_that_waits_for_room_in_strict_order() -> None:
    made = _plan(Order.FIFO, [BUSY, THIRD, SECOND, FIRST])
    assert placements(made) == {}
    whys = {job: verdict.why for job, verdict in made.verdicts.items()}
    assert whys[key_of(FIRST)] is Waiting.NO_ROOM
    assert whys[key_of(SECOND)] is whys[key_of(THIRD)] is Waiting.BEHIND


def test_who_fits_passes_where_the_order_lets_it_and_priority_counts_for_nothing() -> None:
    assert set(placements(_plan(Order.FIFO_SKIP, [BUSY, THIRD, SECOND, FIRST]))) == {"second"}


def test_a_job_that_can_never_fit_blocks_nobody() -> None:
    giant = queued("giant", 3, entered=-400)
    assert set(placements(_plan(Order.FIFO, [giant, SECOND]))) == {"second"}


@pytest.mark.parametrize("limit", [None, 3600])
def test_the_shortest_goes_first_and_one_without_a_limit_last(limit: int | None) -> None:
    long, short = _limited(SECOND, limit), _limited(THIRD, 600)
    assert set(placements(_plan(Order.SJF, [BUSY, long, short]))) == {"third"}
