"""What the executor's own reading of the log tells it, and what it may leave alone."""

from __future__ import annotations

import pytest

from muster.domain import facts as f
from muster.domain.edges import Owner
from muster.executor.core.reconcile import concerns
from muster.executor.watch import Watch
from muster.log.memory import MemoryLog, Store
from tests.support.lives import Life
from tests.support.log_lives import START, HandClock, Lives


@pytest.mark.parametrize(
    ("life", "concerned"),
    [
        (Life(), False),
        (Life().queued(), False),
        (Life().placed(), True),
        (Life().placed().then(f.Unscheduled(cause=f.Withdrawal.PLAN_ABANDONED)), True),
    ],
    ids=["submitted", "queued", "placed", "placed once"],
)
def test_what_was_never_placed_is_none_of_its_concern(life: Life, concerned: bool) -> None:
    assert concerns(life.state) is concerned


def test_a_stop_is_its_concern_whatever_was_before() -> None:
    queued = Life().placed().then(f.StopRequested(by="ann", request="r1"))
    assert concerns(queued.state)


async def test_only_room_that_was_held_is_told_to_be_free() -> None:
    clock = HandClock(START)
    log = MemoryLog(Store(clock.now))
    lives, watch = Lives(log, clock), Watch(log, "default", "c")
    await lives.queued("waits")
    await lives.running("runs", "n1")
    assert await watch.read() == []
    await lives.say("runs", Owner.EXECUTOR, f.Succeeded(attempt=1))
    await lives.say("runs", Owner.EXECUTOR, f.Released(attempt=1))
    assert [freed.job for freed in await watch.read()] == ["runs"]
    assert set(watch.jobs) == {"waits"}
