"""What was tried for a job, read from its history: how long, what came of it, and why."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.phases import Phase
from muster.domain.queueings import Queueing, queueings
from muster.domain.reasons import ReasonCode, reason
from muster.domain.spec import JobSpec
from muster.domain.state import JobState
from tests.domain.making import WHY
from tests.support.lives import Life, auto_queue, spec

FULL = reason(ReasonCode.WAITING, why="no room", why_zh="没有空位")
PLACE = f.Scheduled(placement={"n1": ("worker-0", "worker-1")})


class Diary(Life):
    """A life that remembers."""

    def __init__(self, job: JobSpec) -> None:
        self.told: list[tuple[f.Fact, datetime, JobState]] = []
        super().__init__(job)

    def then(self, *facts: f.Fact, after: float = 1.0) -> Diary:
        for fact in facts:
            super().then(fact, after=after)
            self.told.append((fact, self.at, self.state))
        return self

    def tried(self, later: float = 0) -> tuple[Queueing, ...]:
        return queueings(self.told, self.at + timedelta(seconds=later))


def waiting(requeues: int = 1) -> Diary:
    return Diary(spec(auto_queue=auto_queue(2, requeues))).then(f.Admitted())


def ran(diary: Diary, waits: float, runs: float, by: str | None = "j9") -> Diary:
    """It waits, runs, and is evicted."""
    diary.then(PLACE, after=waits)
    attempt = diary.state.attempt
    diary.then(f.Launching(attempt=attempt), f.Started(attempt=attempt), after=5)
    diary.then(f.Preempted(cause=EvictionCause.PRIORITY, grace_s=30, by=by), after=runs)
    return diary.then(f.Released(attempt=attempt), after=20)


def test_a_job_that_used_its_requeues() -> None:
    diary = ran(waiting(), 60, 3600)
    diary.then(f.Requeued(cause=EvictionCause.PRIORITY, counted=True))
    ran(diary, 300, 100, by=None).then(f.RequeueExhausted(cause=EvictionCause.PRIORITY))
    assert diary.state.phase is Phase.ABNORMAL
    first, second = diary.tried(later=5000)
    assert (first.entry, first.waited_s, first.ran_s) == (1, 60, 3600)
    assert (first.end, first.cause, first.by) == ("preempted", EvictionCause.PRIORITY, "j9")
    assert (second.entry, second.waited_s, second.ran_s, second.by) == (2, 300, 100, None)


def test_a_job_whose_time_is_over_says_why_it_did_not_fit() -> None:
    diary = waiting().then(f.QueueTimedOut(entry=1, why=FULL), after=7200)
    (only,) = diary.tried(later=99)
    assert (only.waited_s, only.ran_s, only.end) == (7200, None, "queue_timed_out")
    assert only.why == FULL
    assert diary.state.reason is not None
    assert diary.state.reason.en.endswith("the last placement round said: waiting: no room")
    assert diary.state.reason.zh.endswith("最近一轮调度：等待中：没有空位")


def test_a_job_that_no_round_named_says_no_more_than_its_limit() -> None:
    diary = waiting().then(f.QueueTimedOut(entry=1), after=7200)
    assert diary.state.reason == reason(ReasonCode.QUEUE_TIMEOUT, hours=2)
    assert diary.tried()[0].why is None


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ((f.Unscheduled(cause=f.Withdrawal.NODE_GONE),), ReasonCode.PLAN_WITHDRAWN),
        ((f.StartRefused(attempt=1, permanent=True, why="no image"),), ReasonCode.START_REFUSED),
        (
            (
                f.Launching(attempt=1),
                f.StartFailed(attempt=1, why="slow"),
                f.Released(attempt=1),
                f.Requeued(cause=EvictionCause.START_FAILED, counted=False, same_entry=True),
            ),
            ReasonCode.START_FAILED,
        ),
    ],
    ids=["taken back", "refused", "failed"],
)
def test_a_placement_that_came_to_nothing_is_counted_and_the_wait_goes_on(
    facts: tuple[f.Fact, ...], code: ReasonCode
) -> None:
    diary = waiting().then(PLACE, after=10).then(*facts, after=10)
    (only,) = diary.tried(later=1000)
    assert (only.bounced, only.end, only.ran_s) == (1, None, None)
    assert only.waited_s == 10 + 10 * len(facts) + 1000
    assert only.why is not None
    assert only.why.code is code


def test_who_waits_still_has_waited_until_now() -> None:
    assert waiting().tried(later=42)[0].waited_s == 42
    assert Diary(spec()).tried() == ()


def test_a_fault_that_moves_a_job_names_its_cause() -> None:
    diary = waiting().then(PLACE).then(f.Launching(attempt=1), f.Started(attempt=1))
    failure = f.WorkerFailure(worker="worker-0", node="n1", cause="node_lost")
    diary.then(f.WorkersFailed(attempt=1, failures=(failure,)), after=100)
    diary.then(f.ReplacementOrdered(cause=EvictionCause.NODE_LOST, reason=WHY))
    (only,) = diary.tried()
    assert (only.end, only.cause, only.ran_s) == (
        "replacement_ordered",
        EvictionCause.NODE_LOST,
        101,
    )


def test_a_stop_ends_the_last_queueing() -> None:
    diary = waiting().then(f.StopRequested(by="ann", request="r2"), after=30)
    (only,) = diary.tried(later=100)
    assert (only.waited_s, only.end) == (30, "stop_requested")
