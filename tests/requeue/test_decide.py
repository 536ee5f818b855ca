"""The auto-queue contract at both sides of every limit."""

from __future__ import annotations

from datetime import timedelta

import pytest

from muster.domain import facts as f
from muster.domain.causes import PREEMPTIONS, EvictionCause
from muster.domain.phases import Phase, Shown
from muster.domain.reasons import ReasonCode, reason
from muster.domain.state import DeadlineKind, Ledgers
from muster.requeue.core.decide import Round, on_deadline, on_release
from tests.support.lives import Life, auto_queue, spec

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize("allowed", [0, 1, 2, 3])
@pytest.mark.parametrize("cause", sorted(PREEMPTIONS))
def test_each_preemption_uses_one_requeue_until_none_is_left(allowed: int, cause: str) -> None:
    life = Life(spec(auto_queue=auto_queue(requeues=allowed)))
    for used in range(allowed):
        life.interrupted(cause)
        fact = on_release(life.state)
        assert isinstance(fact, f.Requeued)
        assert fact.counted
        life.then(fact)
        assert life.state.ledgers.requeues == used + 1
        assert life.state.queue_entry == used + 2
    life.interrupted(cause)
    last = on_release(life.state)
    assert isinstance(last, f.RequeueExhausted)
    life.then(last)
    assert life.state.phase is Phase.ABNORMAL
    assert life.state.reason is not None
    assert f"重新排队次数达到上限 {allowed} 次" in life.state.reason.zh


@pytest.mark.parametrize(
    "cause", sorted(set(EvictionCause) - PREEMPTIONS - {EvictionCause.START_FAILED})
)
def test_what_is_nobodys_preemption_never_counts(cause: str) -> None:
    life = Life(spec(auto_queue=auto_queue(requeues=0))).interrupted(cause)
    fact = on_release(life.state)
    assert isinstance(fact, f.Requeued)
    assert not fact.counted
    assert life.then(fact).state.ledgers.requeues == 0


@pytest.mark.parametrize("wait", [None, timedelta(minutes=10)])
def test_a_pause_that_gave_the_nodes_back_is_kept_in_the_queue(wait: timedelta | None) -> None:
    life = Life(spec(auto_queue=auto_queue())).faulted()
    until = life.at + wait if wait else None
    why = reason(ReasonCode.SUCCEEDED)
    life.then(
        f.ReplacementOrdered(cause=EvictionCause.BACKOFF, reason=why, not_before=until),
        f.Released(attempt=1),
    )
    life.then(_requeued(life))
    assert (life.state.phase, life.state.not_before) == (Phase.QUEUED, until)
    assert life.state.ledgers == Ledgers()


def test_a_failed_start_keeps_its_entry_and_its_clock() -> None:
    life = Life(spec(auto_queue=auto_queue())).launching()
    entered, deadline = life.state.entered_at, life.state.due(DeadlineKind.QUEUE)
    life.then(f.StartFailed(attempt=1, why="image server away"), f.Released(attempt=1), after=60)
    life.then(_requeued(life))
    assert (life.state.queue_entry, life.state.entered_at) == (1, entered)
    assert life.state.due(DeadlineKind.QUEUE) == deadline


def _requeued(life: Life) -> f.Fact:
    fact = on_release(life.state)
    assert fact is not None
    return fact


def test_each_queueing_has_a_clock_of_its_own() -> None:
    life = Life(spec(auto_queue=auto_queue(hours=2)))
    life.queued()
    first = life.state.due(DeadlineKind.QUEUE)
    assert first == life.at + timedelta(hours=2)
    life.interrupted()
    life.then(_requeued(life))
    assert life.state.due(DeadlineKind.QUEUE) == life.at + timedelta(hours=2)


@pytest.mark.parametrize("kind", ["spot", "idle", "reserved", "on_demand"])
def test_without_auto_queue_a_preemption_ends_the_job(kind: str) -> None:
    job = spec(resource={"type": kind, "replicas": 2, "gpus_per_replica": 4})
    life = Life(job).interrupted("priority", by="j9")
    life.then(_requeued(life))
    assert life.state.phase is Phase.FAILED
    assert life.state.reason is not None
    assert "was preempted by another task" in life.state.reason.en
    assert "was preempted by another task" in life.state.reason.zh
    assert "j9" in life.state.reason.en


@pytest.mark.parametrize(
    ("kind", "one_shot", "kinds"),
    [
        ("spot", True, {DeadlineKind.ROUND}),
        ("idle", False, set()),
        ("reserved", False, set()),
        ("on_demand", False, set()),
    ],
)
def test_without_auto_queue_a_lost_node_queues_again(
    kind: str, one_shot: bool, kinds: set[DeadlineKind]
) -> None:
    job = spec(resource={"type": kind, "replicas": 2, "gpus_per_replica": 4})
    life = Life(job).interrupted("node_lost")
    life.then(_requeued(life))
    assert life.state.one_shot is one_shot
    assert set(life.state.deadlines) == kinds
    assert life.state.shown is (Shown.SUBMITTED if one_shot else Shown.QUEUED)


def test_nothing_is_decided_in_any_other_phase() -> None:
    assert on_release(Life().running().state) is None
    assert on_release(Life().queued().state) is None


class TestQueueClock:
    """One entry expires once, after a round that ran past its deadline."""

    life = Life(spec(auto_queue=auto_queue(hours=1))).queued()
    deadline = life.state.deadlines[DeadlineKind.QUEUE]
    seq = 7

    def decide(self, late: float, round_late: float, upto: int) -> f.Fact | None:
        last = Round(at=self.deadline + timedelta(seconds=round_late), upto=upto)
        return on_deadline(self.life.state, self.seq, self.deadline + late * SECOND, last)

    def test_expires_at_the_deadline_and_not_a_moment_before(self) -> None:
        assert self.decide(-0.001, 0, 7) is None
        assert self.decide(0, 0, 7) == f.QueueTimedOut(entry=1)

    def test_waits_for_a_round_after_the_deadline(self) -> None:
        assert self.decide(60, -0.001, 7) is None

    def test_waits_for_a_round_that_knew_the_job_as_it_is(self) -> None:
        assert self.decide(60, 1, 6) is None
        assert self.decide(60, 1, 7) is not None

    def test_never_expires_without_any_round(self) -> None:
        assert on_deadline(self.life.state, 7, self.deadline + 3600 * SECOND, None) is None

    def test_leads_to_abnormal_with_what_a_person_can_do(self) -> None:
        life = Life(spec(auto_queue=auto_queue(hours=1))).queued().then(f.QueueTimedOut(entry=1))
        assert life.state.phase is Phase.ABNORMAL
        assert life.state.reason is not None
        assert "resume" in life.state.reason.en
        assert "排队时长达到上限 1 小时" in life.state.reason.zh


def test_a_one_shot_job_is_declined_after_two_minutes_without_a_round() -> None:
    life = Life().queued()
    due = life.state.deadlines[DeadlineKind.ROUND]
    assert due == life.at + timedelta(seconds=120)
    assert on_deadline(life.state, 2, due - SECOND, None) is None
    fact = on_deadline(life.state, 2, due, None)
    assert isinstance(fact, f.Declined)
    assert life.then(fact).state.phase is Phase.FAILED
