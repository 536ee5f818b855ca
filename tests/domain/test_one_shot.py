"""Spot without auto-queue has one round, until a person gives it limits, and again without."""

from __future__ import annotations

from datetime import timedelta

import pytest

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.demand import NodePolicy, NodePolicyType, QueueLimits
from muster.domain.edges import IllegalEdge
from muster.domain.phases import Phase, Shown
from muster.domain.state import DeadlineKind
from tests.domain.making import WHY
from tests.domain.stages import waiting
from tests.support.lives import Life, limits, spec


def respecified(life: Life, **changes: object) -> f.Respecified:
    demand = life.state.demand.model_copy(update=changes)
    return f.Respecified(before=life.state.demand, demand=demand, by="ann", request="q1")


def looks(life: Life) -> tuple[bool, Shown, set[DeadlineKind]]:
    return life.state.one_shot, life.state.shown, set(life.state.deadlines)


ONE_ROUND = (True, Shown.SUBMITTED, {DeadlineKind.ROUND})
WAITS = (False, Shown.QUEUED, {DeadlineKind.QUEUE})
WAITS_FOR_EVER = (False, Shown.QUEUED, set[DeadlineKind]())


@pytest.mark.parametrize(
    ("kind", "queue", "expected"),
    [
        ("spot", False, ONE_ROUND),
        ("spot", True, WAITS),
        ("idle", False, WAITS_FOR_EVER),
        ("idle", True, WAITS),
        ("reserved", False, WAITS_FOR_EVER),
        ("on_demand", False, WAITS_FOR_EVER),
    ],
)
def test_who_has_one_round(kind: str, queue: bool, expected: object) -> None:
    more = {"auto_queue": waiting().auto_queue} if queue else {}
    life = Life(spec(resource={"type": kind, "replicas": 2}, **more)).queued()
    assert looks(life) == expected


def test_with_limits_it_waits_and_can_no_longer_be_declined() -> None:
    life = Life().queued()
    life.then(respecified(life, queue=limits(3, 1)))
    assert looks(life) == WAITS
    entered = life.state.entered_at
    assert entered is not None
    assert life.state.due(DeadlineKind.QUEUE) == entered + timedelta(hours=3)
    with pytest.raises(IllegalEdge, match="one-shot"):
        life.then(f.Declined(reason=WHY))


def test_without_limits_it_has_one_round_from_then_on() -> None:
    life = Life(waiting()).queued()
    life.then(respecified(life, queue=None), after=4000)
    assert looks(life) == ONE_ROUND
    assert life.state.due(DeadlineKind.ROUND) == life.at + timedelta(seconds=120)
    assert life.then(f.Declined(reason=WHY)).state.phase is Phase.FAILED


def test_another_node_policy_neither_cuts_nor_prolongs_the_wait_for_a_round() -> None:
    life = Life().queued()
    due = life.state.due(DeadlineKind.ROUND)
    policy = NodePolicy(type=NodePolicyType.NODE_IN, nodes=("n7",))
    life.then(respecified(life, node_policy=policy), after=50)
    assert looks(life) == ONE_ROUND
    assert life.state.due(DeadlineKind.ROUND) == due


@pytest.mark.parametrize(
    ("job", "queue", "expected"),
    [
        (spec(), None, ONE_ROUND),
        (spec(), limits(2, 1), WAITS),
        (waiting(), None, WAITS),
        (waiting(), limits(5, 0), WAITS),
    ],
)
def test_after_a_resume_it_waits_by_the_limits_that_it_has_then(
    job: object, queue: QueueLimits | None, expected: object
) -> None:
    life = Life(job)  # type: ignore[arg-type]
    for attempt in (1, 2, 3):
        life.placed().then(f.StartRefused(attempt=attempt, permanent=True, why="no such image"))
    assert life.state.phase is Phase.ABNORMAL
    life.then(f.Resumed(by="ann", request="q1", queue=queue))
    assert looks(life) == expected


def test_limits_changed_while_parked_count_after_the_resume() -> None:
    life = Life(waiting()).queued().then(f.QueueTimedOut(entry=1))
    life.then(respecified(life, queue=None))
    assert life.state.phase is Phase.ABNORMAL
    life.then(f.Resumed(by="ann", request="q2"))
    assert looks(life) == ONE_ROUND


@pytest.mark.parametrize("one_shot", [True, False])
def test_a_requeue_says_whether_it_has_one_round(*, one_shot: bool) -> None:
    life = Life().interrupted("node_lost")
    life.then(f.Requeued(cause=EvictionCause.NODE_LOST, counted=False, one_shot=one_shot))
    assert looks(life) == (ONE_ROUND if one_shot else WAITS_FOR_EVER)


def test_while_it_starts_and_runs_it_is_shown_like_any_other() -> None:
    life = Life().placed()
    seen = [life.state.shown, life.then(f.Unscheduled(cause=f.Withdrawal.NODE_GONE)).state.shown]
    assert [*seen, life.running().state.shown] == [Shown.STARTING, Shown.SUBMITTED, Shown.RUNNING]
