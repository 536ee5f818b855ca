"""Limits that change while a job waits, also below what it has used already."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from muster.admission.core import decide as admission
from muster.domain import facts as f
from muster.domain.demand import QueueLimits
from muster.domain.phases import Phase
from muster.domain.state import DeadlineKind
from muster.requeue.core.decide import Round, on_deadline, on_release
from tests.support.lives import Life, auto_queue, limits, spec

SECOND = timedelta(seconds=1)


def waits_again(requeues: int, used: int, hours: int = 2) -> Life:
    """A job in the queue that has used so many requeues."""
    life = Life(spec(auto_queue=auto_queue(hours, requeues))).queued()
    for _ in range(used):
        evicted(life)
    return life


def evicted(life: Life, cause: str = "priority") -> Life:
    fact = on_release(life.interrupted(cause).state)
    assert fact is not None
    return life.then(fact)


def changed(life: Life, queue: QueueLimits | None, after: float = 1) -> Life:
    fact = admission.respecify(life.state, "ann", f"q{life.state.version}", (queue,), None)
    assert isinstance(fact, f.Respecified)
    return life.then(fact, after=after)


def where(life: Life) -> Phase:
    """Return the phase of the moment."""
    return life.state.phase


def over(life: Life, instant: datetime) -> bool:
    """Whether a round at this instant is the last one of the queueing."""
    found = on_deadline(life.state, 1, instant, Round(at=instant, upto=1))
    return isinstance(found, f.QueueTimedOut)


@pytest.mark.parametrize(("used", "lowered"), [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)])
def test_fewer_requeues_than_are_used_leave_none_and_end_nothing(used: int, lowered: int) -> None:
    life = changed(waits_again(3, used), limits(2, lowered))
    assert where(life) is Phase.QUEUED
    assert (life.state.ledgers.requeues, life.state.requeues_left) == (used, 0)
    assert life.state.queue_entry == used + 1
    evicted(life)
    assert where(life) is Phase.ABNORMAL
    assert life.state.reason is not None
    assert f"limit of {lowered} " in life.state.reason.en
    assert life.state.ledgers.requeues == used


@pytest.mark.parametrize("cause", ["node_drain", "node_lost", "fault"])
def test_what_does_not_count_lets_it_queue_again_even_then(cause: str) -> None:
    life = changed(waits_again(3, 2), limits(2, 0))
    assert evicted(life, cause).state.phase is Phase.QUEUED
    assert life.state.ledgers.requeues == 2


def test_exactly_as_many_as_are_used_leave_none_and_one_more_leaves_one() -> None:
    life = changed(waits_again(1, 1), limits(2, 2))
    assert life.state.requeues_left == 1
    assert evicted(life).state.phase is Phase.QUEUED
    assert evicted(life).state.phase is Phase.ABNORMAL
    assert changed(waits_again(3, 2), limits(2, 2)).state.requeues_left == 0


def test_more_hours_count_from_the_beginning_of_the_queueing() -> None:
    life = waits_again(1, 1, hours=1)
    began = life.state.entered_at
    assert began is not None
    changed(life, limits(3, 1), after=3000)
    end = began + timedelta(hours=3)
    assert life.state.due(DeadlineKind.QUEUE) == end
    assert not over(life, end - SECOND)
    assert over(life, end)


def test_fewer_hours_than_it_has_waited_are_over_after_one_more_round() -> None:
    life = waits_again(1, 0, hours=3)
    changed(life, limits(1, 1), after=2 * 3600)
    assert life.state.phase is Phase.QUEUED
    before = Round(at=life.at - 2 * timedelta(hours=1), upto=1)
    assert on_deadline(life.state, 1, life.at, before) is None
    unaware = Round(at=life.at, upto=0)
    assert on_deadline(life.state, 1, life.at, unaware) is None
    assert over(life, life.at)


def test_auto_queue_turned_off_while_it_waits_ends_the_job_at_the_next_eviction() -> None:
    life = changed(waits_again(3, 1), None)
    assert evicted(life).state.phase is Phase.FAILED


def test_limits_of_a_parked_job_count_from_the_resume() -> None:
    life = evicted(waits_again(0, 0))
    assert life.state.phase is Phase.ABNORMAL
    changed(life, limits(4, 2), after=9 * 3600)
    assert not life.state.deadlines
    resumed = admission.resume(life.state, "ann", "again", None)
    assert isinstance(resumed, f.Resumed)
    life.then(resumed)
    assert life.state.due(DeadlineKind.QUEUE) == life.at + timedelta(hours=4)
    assert (life.state.ledgers.requeues, life.state.requeues_left) == (0, 2)
