"""What each fact does to a job: named cases for the rules that are easy to get wrong."""

from __future__ import annotations

from datetime import timedelta

import pytest

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.edges import IllegalEdge, Owner
from muster.domain.evolve import START_BUDGET, evolve, fold
from muster.domain.phases import Phase, Shown
from muster.domain.reasons import Reason, ReasonCode
from muster.domain.state import KNOWN_REQUESTS, DeadlineKind
from tests.support.lives import START, Life, auto_queue, limits, spec

RECLAIM = f.Preempted(cause=EvictionCause.SPOT_RECLAIM, grace_s=30)
STOP = f.StopRequested(by="ann", request="stop-1")


def queued(hours: int = 2, requeues: int = 1) -> Life:
    return Life(spec(auto_queue=auto_queue(hours, requeues))).queued()


def requeued(life: Life, **more: object) -> Life:
    values = {"cause": EvictionCause.SPOT_RECLAIM, "counted": True, **more}
    return life.then(f.Requeued.model_validate(values))


class TestTheQueue:
    def test_the_first_queueing_is_not_a_requeue(self) -> None:
        state = queued().state
        assert (state.queue_entry, state.ledgers.requeues) == (1, 0)

    def test_each_entry_has_a_fresh_clock(self) -> None:
        life = Life(spec(auto_queue=auto_queue(2, 1))).interrupted()
        first = life.state.entered_at
        state = requeued(life).state
        assert state.entered_at is not None
        assert first is not None
        assert state.entered_at > first
        assert state.due(DeadlineKind.QUEUE) == state.entered_at + timedelta(hours=2)
        assert (state.queue_entry, state.ledgers.requeues) == (2, 1)

    @pytest.mark.parametrize(
        "fact",
        [
            f.Unscheduled(cause=f.Withdrawal.VICTIM_OVERDUE),
            f.StartRefused(attempt=1, permanent=False, why="no room"),
        ],
        ids=lambda fact: fact.event,
    )
    def test_a_bounced_start_keeps_entry_and_clock(self, fact: f.Fact) -> None:
        life = queued()
        before = life.state
        state = life.placed().then(fact).state
        assert state.queue_entry == before.queue_entry
        assert state.entered_at == before.entered_at
        assert state.deadlines == before.deadlines
        assert state.ledgers == before.ledgers

    def test_a_start_that_failed_before_it_ever_ran_keeps_the_entry(self) -> None:
        life = queued()
        due = life.state.due(DeadlineKind.QUEUE)
        life.launching().then(f.StartFailed(attempt=1, why="slow"), f.Released(attempt=1))
        assert life.state.eviction
        assert life.state.eviction.same_entry
        requeued(life, cause=EvictionCause.START_FAILED, counted=False, same_entry=True)
        assert life.state.queue_entry == 1
        assert life.state.due(DeadlineKind.QUEUE) == due

    def test_a_restart_that_fails_after_the_job_ran_begins_a_new_entry(self) -> None:
        life = Life(
            spec(auto_queue=auto_queue(2, 1), fault_tolerance={"enabled": True, "max_retries": 1})
        ).faulted()
        life.then(f.Restarted(reason=_why()), f.Launching(attempt=2))
        life.then(f.StartFailed(attempt=2, why="slow"), f.Released(attempt=2))
        assert life.state.eviction
        assert not life.state.eviction.same_entry

    def test_a_restart_that_is_refused_after_the_job_ran_begins_a_new_entry(self) -> None:
        life = Life(spec(auto_queue=auto_queue(2, 1))).faulted()
        life.then(f.Restarted(reason=_why()), f.Launching(attempt=2))
        state = life.then(f.StartRefused(attempt=2, permanent=True, why="bad")).state
        assert state.queue_entry == 2
        assert state.due(DeadlineKind.QUEUE) is not None
        assert state.ledgers.starts == 1

    def test_a_restart_before_the_first_start_keeps_the_queue_clock(self) -> None:
        life = queued()
        due = life.state.due(DeadlineKind.QUEUE)
        failure = f.WorkerFailure(worker="worker-0", node="n1", exit_code=1)
        life.launching().then(f.WorkersFailed(attempt=1, failures=(failure,)))
        life.then(f.Restarted(reason=_why()), f.Launching(attempt=2))
        life.then(f.StartRefused(attempt=2, permanent=False, why="no room"))
        assert life.state.due(DeadlineKind.QUEUE) == due

    def test_a_one_shot_job_waits_for_one_round_and_is_shown_as_submitted(self) -> None:
        state = Life().queued().state
        assert state.one_shot
        assert state.shown is Shown.SUBMITTED
        assert set(state.deadlines) == {DeadlineKind.ROUND}

    def test_only_a_one_shot_job_is_declined(self) -> None:
        with pytest.raises(IllegalEdge, match="one-shot"):
            queued().then(f.Declined(reason=_why()))

    def test_new_limits_count_from_the_start_of_the_entry(self) -> None:
        life = queued(2)
        entered = life.state.entered_at
        demand = life.state.demand.model_copy(update={"queue": limits(5, 3)})
        life.then(
            f.Respecified(by="ann", request="r2", before=life.state.demand, demand=demand),
            after=600,
        )
        assert entered is not None
        assert life.state.due(DeadlineKind.QUEUE) == entered + timedelta(hours=5)


class TestCounters:
    def test_three_permanent_refusals_park_the_job_and_give_everything_back(self) -> None:
        life = queued()
        for attempt in range(1, START_BUDGET + 1):
            life.placed().then(f.StartRefused(attempt=attempt, permanent=True, why="bad image"))
        assert life.state.phase is Phase.ABNORMAL
        assert life.state.reason
        assert life.state.reason.code is ReasonCode.START_LIMIT
        assert "bad image" in life.state.reason.en
        assert not life.state.held

    def test_refusals_that_are_not_the_jobs_fault_are_free(self) -> None:
        life = queued()
        for attempt in range(1, 6):
            life.placed().then(f.StartRefused(attempt=attempt, permanent=False, why="throttled"))
        assert (life.state.phase, life.state.ledgers.starts) == (Phase.QUEUED, 0)

    def test_a_start_that_works_pays_the_start_budget_back(self) -> None:
        life = queued().placed().then(f.StartRefused(attempt=1, permanent=True, why="bad"))
        assert life.state.ledgers.starts == 1
        assert life.running().state.ledgers.starts == 0

    def test_a_resume_resets_what_it_may_and_nothing_else(self) -> None:
        life = Life(spec(auto_queue=auto_queue(2, 1))).interrupted()
        requeued(life)
        life.then(f.QueueTimedOut(entry=2))
        version = life.state.version
        state = life.then(f.Resumed(by="ann", request="r2", queue=limits(3, 2))).state
        assert state.ledgers.requeues == 0
        assert state.queue_entry == 3
        assert state.demand.queue == limits(3, 2)
        assert state.version == version + 1
        assert state.reason is None

    def test_a_lost_node_debits_the_infrastructure_ledger_only(self) -> None:
        life = Life(spec(auto_queue=auto_queue(2, 1))).faulted(None, "node_lost")
        fact = f.ReplacementOrdered(
            cause=EvictionCause.NODE_LOST, reason=_why(), infrastructure=True, avoid=("n1",)
        )
        ledgers = life.then(fact).state.ledgers
        assert (ledgers.requeues, ledgers.restarts, len(ledgers.infrastructure)) == (0, 0, 1)

    def test_the_infrastructure_ledger_forgets_after_a_day(self) -> None:
        life = Life().faulted(None, "node_lost")
        order = f.ReplacementOrdered(
            cause=EvictionCause.NODE_LOST, reason=_why(), infrastructure=True
        )
        life.then(order, f.Released(attempt=1))
        requeued(life, cause=EvictionCause.NODE_LOST, counted=False)
        life.faulted(None, "node_lost").then(order, after=25 * 3600)
        assert len(life.state.ledgers.infrastructure) == 1


class TestLeaving:
    def test_what_ended_by_itself_before_the_signal_still_counts(self) -> None:
        life = Life().running().then(RECLAIM, f.Succeeded(attempt=1))
        assert life.state.phase is Phase.SUCCEEDED

    @pytest.mark.parametrize("order", [RECLAIM, STOP], ids=["evicted", "stopped"])
    def test_after_the_signal_no_exit_counts(self, order: f.Fact) -> None:
        life = Life().running().then(order, f.Signalled(attempt=1))
        with pytest.raises(IllegalEdge):
            life.then(f.Succeeded(attempt=1))
        failure = f.WorkerFailure(worker="worker-0", node="n1", exit_code=143)
        with pytest.raises(IllegalEdge):
            life.then(f.WorkersFailed(attempt=1, failures=(failure,)))

    def test_a_stop_beats_an_eviction_under_way(self) -> None:
        life = Life(spec(auto_queue=auto_queue(2, 1))).running().then(RECLAIM, STOP)
        life.then(f.Released(attempt=1), f.Stopped())
        assert life.state.phase is Phase.STOPPED
        assert life.state.ledgers.requeues == 0

    def test_a_stop_never_lengthens_a_grace_that_runs(self) -> None:
        life = Life(spec(grace_s=600)).running().then(RECLAIM)
        due = life.state.due(DeadlineKind.GRACE)
        life.then(STOP)
        assert life.state.due(DeadlineKind.GRACE) == due

    def test_grace_only_gets_shorter(self) -> None:
        life = Life().running().then(RECLAIM)
        due = life.state.due(DeadlineKind.GRACE)
        assert due is not None
        life.then(f.GraceShortened(deadline=due + timedelta(hours=1)))
        assert life.state.due(DeadlineKind.GRACE) == due
        life.then(f.GraceShortened(deadline=due - timedelta(seconds=20)))
        assert life.state.due(DeadlineKind.GRACE) == due - timedelta(seconds=20)

    def test_an_order_to_leave_is_given_once(self) -> None:
        life = Life().running().then(RECLAIM)
        failure = f.WorkerFailure(worker="worker-0", node="n1", exit_code=1)
        life.then(f.WorkersFailed(attempt=1, failures=(failure,)))
        assert life.state.phase is Phase.FAULTED
        with pytest.raises(IllegalEdge, match="still stands"):
            life.then(RECLAIM)

    def test_a_release_in_any_other_phase_moves_nothing(self) -> None:
        life = Life().faulted().then(f.Failed(reason=_why()))
        state = life.then(f.Released(attempt=1)).state
        assert (state.phase, dict(state.held)) == (Phase.FAILED, {})

    def test_an_interrupted_job_shows_what_was_shown(self) -> None:
        life = Life().running().then(RECLAIM, f.Released(attempt=1))
        assert life.state.phase is Phase.INTERRUPTED
        assert life.state.shown is Shown.EVICTING

    def test_nothing_is_unscheduled_after_the_intent_to_launch(self) -> None:
        with pytest.raises(IllegalEdge, match="launched"):
            Life().launching().then(f.Unscheduled(cause=f.Withdrawal.PLAN_ABANDONED))

    def test_the_promised_words_stand_in_both_languages(self) -> None:
        life = Life().interrupted("priority", by="j9")
        state = life.then(f.NotRequeued(cause=EvictionCause.PRIORITY, by="j9")).state
        assert state.reason
        assert "was preempted by another task" in state.reason.en
        assert "was preempted by another task" in state.reason.zh
        assert "j9" in state.reason.en


class TestTheHold:
    RAY = spec(
        type="RayJob",
        debug={"enabled": True, "hold_seconds": 600},
        resource={"type": "spot", "replicas": 1, "gpus_per_replica": 1},
    )

    def test_the_outcome_is_told_and_kept(self) -> None:
        life = Life(self.RAY).running().then(f.Succeeded(attempt=1))
        assert life.state.phase is Phase.DEBUG_HOLDING
        assert life.state.outcome
        assert life.state.outcome.phase is Phase.SUCCEEDED
        assert life.then(f.HoldEnded()).state.phase is Phase.SUCCEEDED

    @pytest.mark.parametrize("order", [RECLAIM, STOP], ids=["evicted", "stopped"])
    def test_neither_an_eviction_nor_a_stop_changes_the_outcome(self, order: f.Fact) -> None:
        life = Life(self.RAY).running().then(f.Succeeded(attempt=1), order)
        life.then(f.Released(attempt=1))
        if life.state.phase is Phase.STOPPING:
            life.then(f.Stopped())
        assert life.state.phase is Phase.SUCCEEDED

    def test_a_failure_under_an_order_to_leave_can_be_held_and_then_evicted(self) -> None:
        failure = f.WorkerFailure(worker="worker-0", node="n1", exit_code=1)
        life = Life(self.RAY).running().then(RECLAIM)
        life.then(f.WorkersFailed(attempt=1, failures=(failure,)), f.Failed(reason=_why()))
        assert life.state.eviction is None
        assert life.then(RECLAIM, f.Released(attempt=1)).state.phase is Phase.FAILED


class TestRequests:
    def test_the_state_remembers_the_last_32(self) -> None:
        life = Life().queued()
        for number in range(40):
            labels = {"n": str(number)}
            life.then(f.Relabelled(by="ann", request=f"q{number}", before={}, labels=labels))
        assert len(life.state.requests) == KNOWN_REQUESTS
        assert life.state.knows("q39")
        assert not life.state.knows("q0")

    def test_resume_needs_every_node_given_back(self) -> None:
        life = Life().faulted().then(f.Escalated(reason=_why()))
        with pytest.raises(IllegalEdge, match="given back"):
            life.then(f.Resumed(by="ann", request="r2"))
        life.then(f.Released(attempt=1), f.Resumed(by="ann", request="r2"))
        assert life.state.phase is Phase.QUEUED


def test_a_foreign_writer_is_refused() -> None:
    with pytest.raises(IllegalEdge, match="is written by"):
        evolve(Life().running().state, RECLAIM, START, Owner.EXECUTOR)


def test_an_empty_history_is_no_job() -> None:
    assert fold([]) is None


def _why() -> Reason:
    return Life().queued().then(STOP).state.reason or pytest.fail("a stop has a reason")


def test_a_resume_of_before_attempts_were_named_changes_nothing() -> None:
    life = Life().running().then(f.ResumeVerified(step_before=9, step_after=10))
    assert (
        life.then(f.ProgressLost(step_before=9, step_after=0, gpu_hours=1)).state.progress is None
    )


def test_a_lost_checkpoint_counts_no_more_and_its_minute_goes_on() -> None:
    life = Life().running().then(f.CheckpointSaved(attempt=1, step=400, last_step=490))
    heard = life.at
    lost = life.then(f.ProgressLost(attempt=1, step_before=490, step_after=1, gpu_hours=1))
    progress = lost.state.progress
    assert progress is not None
    assert (progress.step, progress.checkpoint_step, progress.checkpointed_at) == (1, None, heard)
    kept = life.then(f.ResumeVerified(attempt=1, step_before=9, step_after=8, checkpoint_step=7))
    assert kept.state.progress is not None
    assert (kept.state.progress.step, kept.state.progress.checkpoint_step) == (8, 7)
