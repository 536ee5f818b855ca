"""Whatever happens to a job, in whatever order: every failure is paid for once, by who it is of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.deadlines import passed
from muster.domain.demand import FaultStrategy
from muster.domain.edges import Owner
from muster.domain.evolve import evolve
from muster.domain.faults import HEALTHY
from muster.domain.phases import Phase
from muster.domain.reasons import ReasonCode
from muster.domain.state import DeadlineKind, JobState, Ledgers
from muster.fault_tolerance.core.event import failure_of
from muster.fault_tolerance.core.failure import Failure
from muster.fault_tolerance.core.ledger import HANG_LIMIT, INFRASTRUCTURE_LIMIT
from muster.fault_tolerance.core.verdict import judge
from muster.requeue.core.decide import on_release
from tests.fault_tolerance.failures import BOOK
from tests.support.lives import Life, auto_queue, spec

TOLERANT = {"enabled": True, "max_retries": 3, "hang": {"action": "restart", "window_s": 600}}
KINDS = {
    "unknown": "something",
    "own": "step 9 loss 1\nTraceback (most recent call last):\n  x\nKeyError: 'x'",
    "network": "step 9 loss 1\nConnect to peer failed",
    "storage": "step 9 loss 1\n503 Service Unavailable",
    "stale": "step 9 loss 1\nStale file handle",
    "hardware": "uncorrectable ECC error",
}
INFRASTRUCTURE = {"network", "storage", "stale", "hardware", "lost"}


class Story:
    """A job through a whole life. moved: after each fact, the ledgers that it moved."""

    def __init__(self, retries: int = 3, requeues: int = 3) -> None:
        tolerant = TOLERANT | {"max_retries": retries}
        self.life = Life(
            spec(fault_tolerance=tolerant, auto_queue=auto_queue(12, requeues))
        ).queued()
        self.moved: list[tuple[f.Fact, JobState, JobState]] = []
        self.step = 0

    @property
    def state(self) -> JobState:
        return self.life.state

    def tell(self, fact: f.Fact, owner: Owner, after: float = 1.0) -> None:
        before = self.state
        self.life.at += timedelta(seconds=after)
        self.life.state = evolve(before, fact, self.life.at, owner)
        self.moved.append((fact, before, self.state))

    def runs(self, seconds: float) -> None:
        """Bring the job to its run, if it can get there, and let it run."""
        if self.state.phase is Phase.QUEUED:
            where = {"n0": ("worker-0",), "n1": ("worker-1",)}
            self.tell(f.Scheduled(placement=where), Owner.SCHEDULER)
        if self.state.phase is Phase.STARTING:
            begin = self.state.not_before
            if begin is not None and begin > self.life.at:
                self.life.at = begin
            self.tell(f.Launching(attempt=self.state.attempt), Owner.EXECUTOR)
            self.tell(f.Started(attempt=self.state.attempt), Owner.EXECUTOR)
        self.life.at += timedelta(seconds=seconds)

    def fails(self, kind: str) -> None:
        """Fail, judge, and go where the verdict leads."""
        if self.state.phase is not Phase.RUNNING:
            return
        cause, code = ("node_lost", None) if kind == "lost" else ("exited", 1)
        one = f.WorkerFailure(worker="worker-0", node="n0", exit_code=code, cause=cause)
        fact = f.WorkersFailed(attempt=self.state.attempt, failures=(one,))
        self.tell(fact, Owner.EXECUTOR)
        self.judged(fact, KINDS.get(kind, ""))

    def hangs(self) -> None:
        """Hang, without anything that shows why."""
        if self.state.phase is Phase.RUNNING:
            fact = f.Hung(evidence=("no new step",), seconds=600)
            self.tell(fact, Owner.FAULT_TOLERANCE)
            self.judged(fact, "")

    def judged(self, fact: f.Fact, tail: str) -> None:
        failure: Failure = failure_of(self.state, fact, self.life.at)
        first, *rest = failure.workers
        told = (first.model_copy(update={"tail": tail}), *rest)
        made = judge(self.state, replace(failure, workers=told), BOOK, self.life.at)
        assert made is not None
        self.tell(made, Owner.FAULT_TOLERANCE)
        self.leaves()

    def evicted(self) -> None:
        """Be preempted."""
        if self.state.phase is Phase.RUNNING:
            self.tell(f.Preempted(cause=EvictionCause.SPOT_RECLAIM, grace_s=30), Owner.SCHEDULER)
            self.leaves()

    def leaves(self) -> None:
        """Give the nodes back, and queue again if requeue says so."""
        if self.state.phase is not Phase.EVICTING:
            return
        self.tell(f.Released(attempt=self.state.attempt), Owner.EXECUTOR)
        follows = on_release(self.state)
        if follows is not None:
            self.tell(follows, Owner.REQUEUE)

    def saves(self) -> None:
        """Save a checkpoint of new work."""
        if self.state.phase is Phase.RUNNING:
            self.step += 100
            fact = f.CheckpointSaved(attempt=self.state.attempt, step=self.step)
            self.tell(fact, Owner.EXECUTOR)


MOVES: dict[str, Callable[[Story], None]] = {
    **{kind: lambda s, k=kind: s.fails(k) for kind in (*KINDS, "lost")},  # type: ignore[misc]
    "hang": Story.hangs,
    "evict": Story.evicted,
    "save": Story.saves,
    "short run": lambda s: s.runs(60),
    "long run": lambda s: s.runs(HEALTHY.total_seconds() + 1),
}
MOVE_NAMES = st.lists(st.sampled_from(sorted(MOVES)), max_size=40)


def moved(before: Ledgers, after: Ledgers) -> set[str]:
    """Return which ledgers a fact debited."""
    found = set()
    for name in ("requeues", "restarts", "hangs", "starts"):
        if getattr(after, name) > getattr(before, name):
            found.add(name)
    if len(after.infrastructure) > len(before.infrastructure):
        found.add("infrastructure")
    return found


def lived(names: list[str], retries: int = 3, requeues: int = 3) -> Story:
    story = Story(retries, requeues)
    story.runs(60)
    for name in names:
        MOVES[name](story)
        story.runs(5)
    return story


@given(MOVE_NAMES, st.sampled_from([0, 1, 3, 99]), st.integers(0, 3))
@settings(max_examples=300, deadline=None)
def test_no_sequence_of_events_moves_two_ledgers_at_once(
    names: list[str], retries: int, requeues: int
) -> None:
    for fact, before, after in lived(names, retries, requeues).moved:
        assert len(moved(before.ledgers, after.ledgers)) <= 1, fact
        if not isinstance(fact, f.Restarted | f.ReplacementOrdered):
            assert "restarts" not in moved(before.ledgers, after.ledgers), fact
        assert after.ledgers.restarts <= max(before.ledgers.restarts, retries)
        assert after.ledgers.hangs <= HANG_LIMIT


@given(MOVE_NAMES)
@settings(max_examples=300, deadline=None)
def test_neither_infrastructure_nor_an_eviction_nor_a_hang_lowers_the_users_budget(
    names: list[str],
) -> None:
    own = {"unknown", "own"}
    story = lived([name for name in names if name not in own])
    assert all(after.ledgers.restarts == 0 for _, _, after in story.moved)


@given(MOVE_NAMES)
@settings(max_examples=300, deadline=None)
def test_a_restart_comes_back_only_with_new_work_that_is_safe_after_a_healthy_run(
    names: list[str],
) -> None:
    best = 0
    for fact, before, after in lived(names).moved:
        if after.ledgers.restarts < before.ledgers.restarts:
            assert isinstance(fact, f.CheckpointSaved)
            assert before.ledgers.restarts - after.ledgers.restarts == 1
            assert fact.step > best
            assert before.started_at is not None
            assert after.faults is not None
            assert after.faults.credited_at is not None
            assert after.faults.credited_at - before.started_at >= HEALTHY
            best = fact.step


@given(MOVE_NAMES)
@settings(max_examples=200, deadline=None)
def test_the_diagnosis_tells_the_ledgers_before_and_after(names: list[str]) -> None:
    for fact, before, after in lived(names).moved:
        if isinstance(fact, f.Judged):
            found = fact.diagnosis
            assert found is not None
            assert found.before is not None
            assert found.after is not None
            assert found.before.restarts == before.ledgers.restarts
            assert found.after.restarts == after.ledgers.restarts
            assert found.after.hangs == after.ledgers.hangs
            assert found.after.infrastructure == len(after.ledgers.infrastructure)


@given(MOVE_NAMES)
@settings(max_examples=200, deadline=None)
def test_every_failure_is_decided_about_before_its_time_is_over(names: list[str]) -> None:
    for fact, before, _ in lived(names).moved:
        if isinstance(fact, f.Judged):
            assert before.phase is Phase.FAULTED
            assert not passed(before, DeadlineKind.VERDICT, before.since + timedelta(seconds=2))


# --- limits, on both sides ---------------------------------------------------------------------


@pytest.mark.parametrize("retries", [0, 1, 3, 99])
def test_an_unknown_failure_is_retried_so_often_and_not_once_more(retries: int) -> None:
    story = Story(retries)
    for attempt in range(retries + 1):
        assert (story.state.ledgers.restarts, story.state.terminal) == (attempt, False)
        story.runs(5)
        story.fails("unknown")
    assert story.state.phase is Phase.FAILED
    assert story.state.ledgers.restarts == retries
    assert story.state.reason is not None
    limited = ReasonCode.RESTART_LIMIT if retries else ReasonCode.NOT_RETRIED
    assert story.state.reason.code is limited


@pytest.mark.parametrize(("asked", "given"), [(1, 1), (3, 3), (4, 3), (99, 3)])
def test_unconditional_restarts_are_three_at_most(asked: int, given: int) -> None:
    story = Story()
    demand = story.state.demand.model_copy(
        update={"max_restarts": asked, "restart_strategy": FaultStrategy.ALWAYS}
    )
    story.life.state = story.state.model_copy(update={"demand": demand})
    for _ in range(given + 1):
        story.runs(5)
        story.fails("own")
    assert story.state.phase is Phase.FAILED
    assert story.state.ledgers.restarts == given


def test_hangs_without_progress_are_two_and_then_a_person() -> None:
    story = Story()
    for count in (1, 2):
        story.runs(5)
        story.hangs()
        assert story.state.ledgers.hangs == count
    story.runs(5)
    story.hangs()
    assert story.state.phase is Phase.ABNORMAL
    assert story.state.reason is not None
    assert story.state.reason.code is ReasonCode.HANG_LIMIT


def test_infrastructure_fails_twenty_times_a_day_and_then_a_person() -> None:
    story = Story()
    for count in range(INFRASTRUCTURE_LIMIT):
        story.runs(5)
        story.fails("lost")
        assert len(story.state.ledgers.infrastructure) == count + 1
    story.runs(5)
    story.fails("lost")
    assert story.state.phase is Phase.ABNORMAL
    assert story.state.ledgers.restarts == 0


@pytest.mark.parametrize(("late_s", "back"), [(-1, False), (0, True)])
def test_a_restart_comes_back_at_half_an_hour_and_not_before(late_s: float, back: bool) -> None:
    story = Story()
    story.runs(5)
    story.fails("unknown")
    story.runs(HEALTHY.total_seconds() + late_s - 1)
    story.saves()
    assert story.state.ledgers.restarts == (0 if back else 1)


def test_a_hang_is_forgotten_before_a_restart_comes_back() -> None:
    story = Story()
    story.runs(5)
    story.fails("unknown")
    story.runs(5)
    story.hangs()
    for ledgers in ((1, 0), (0, 0)):
        story.runs(HEALTHY.total_seconds())
        story.saves()
        assert (story.state.ledgers.restarts, story.state.ledgers.hangs) == ledgers


def test_work_that_was_done_before_the_failure_brings_nothing_back() -> None:
    story = Story()
    story.runs(5)
    story.saves()
    story.fails("unknown")
    story.step = 0
    story.runs(HEALTHY.total_seconds())
    story.saves()
    assert story.state.ledgers.restarts == 1
