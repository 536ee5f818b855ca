"""`evolve(state, fact, at) -> state`: the only place where the state of a job changes.

Pure. Each effect below says only what its fact changes; version, `since`, `shown` and the known
requests are kept in one place. `fold` replays a history and must give what the events carry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from muster.domain import facts as f
from muster.domain.causes import SCHEDULER_CAUSES, EvictionCause
from muster.domain.deadlines import (
    RELEASE_MARGIN_S,
    ROUND_S,
    VERDICT_S,
    VICTIM_MARGIN_S,
)
from muster.domain.demand import Demand, QueueLimits, ResourceClass
from muster.domain.edges import EDGES, IllegalEdge, Owner, check_source, check_target
from muster.domain.faults import Faults, after_failure, gives_back
from muster.domain.model import assembled
from muster.domain.phases import Phase, Shown
from muster.domain.progress import Progress, Resumption
from muster.domain.reasons import Reason, ReasonCode, because, reason
from muster.domain.state import (
    KNOWN_REQUESTS,
    DeadlineKind,
    Eviction,
    JobState,
    Ledgers,
    Outcome,
)

Changes = dict[str, Any]
"""Fields of a state and their new values."""

START_BUDGET = 3
INFRASTRUCTURE_WINDOW = timedelta(hours=24)
TOGETHER = 64
"""So many orders to leave are remembered: who leaves at the same instant shares what is equal."""
_AFTER_ARCHIVING = frozenset({"relabelled", "shared"})


def evolve(
    state: JobState | None, fact: f.Fact, at: datetime, owner: Owner | None = None
) -> JobState:
    """Return the state after `fact` happened at `at`.

    owner: the service that writes it; None when a history is replayed. Raises IllegalEdge.
    """
    check_source(fact.event, owner or _any_owner(fact), state.phase if state else None)
    if state is None:
        assert isinstance(fact, f.Submitted)
        return _submitted(fact, at)
    if isinstance(fact, f.OfAttempt) and fact.attempt != state.attempt:
        raise IllegalEdge(f"{fact.event} of attempt {fact.attempt}: now is {state.attempt}")
    if state.archived and fact.event not in _AFTER_ARCHIVING:
        raise IllegalEdge(f"{fact.event} cannot follow archived")
    changes = _EFFECTS[type(fact)](state, fact, at)
    phase = changes.get("phase", state.phase)
    check_target(fact.event, state.phase, phase)
    changes["version"] = state.version + 1
    if phase is not state.phase or fact.event == "requeued":
        changes["since"] = at
    changes["shown"] = _shown(state, phase, fact, changes.get("one_shot", state.one_shot))
    if isinstance(fact, f.Asked):
        changes["requests"] = (*state.requests, fact.request)[-KNOWN_REQUESTS:]
    return assembled(JobState, {**state.__dict__, **changes})


def fold(history: Iterable[tuple[f.Fact, datetime]]) -> JobState | None:
    """Replay a whole history of one job."""
    state: JobState | None = None
    for fact, at in history:
        state = evolve(state, fact, at)
    return state


def _any_owner(fact: f.Fact) -> Owner:
    return EDGES[fact.event].owners[0]


# --- what is shown -----------------------------------------------------------------------------


_SHOWN = {phase: Shown(phase.value) for phase in Phase if phase.value in set(Shown)}


def _shown(state: JobState, phase: Phase, fact: f.Fact, one_shot: bool) -> Shown:
    match phase:
        case Phase.INTERRUPTED:
            return state.shown
        case Phase.FAULTED:
            return Shown.HANDLING_FAULT
        case Phase.QUEUED:
            return Shown.SUBMITTED if one_shot else Shown.QUEUED
        case Phase.STARTING:
            again = isinstance(fact, f.Restarted) or state.shown is Shown.RESTARTING
            return Shown.RESTARTING if again else Shown.STARTING
        case _:
            return _SHOWN[phase]


# --- pieces that several effects share ---------------------------------------------------------


def _is_one_shot(demand: Demand) -> bool:
    return demand.resource_class is ResourceClass.SPOT and demand.queue is None


def _after(at: datetime, seconds: float) -> datetime:
    return at + timedelta(seconds=seconds)


def _keep(state: JobState, *kinds: DeadlineKind) -> dict[DeadlineKind, datetime]:
    return {kind: due for kind, due in state.deadlines.items() if kind in kinds}


def _queue_deadlines(
    queue: QueueLimits | None, one_shot: bool, at: datetime
) -> dict[DeadlineKind, datetime]:
    if queue is not None:
        return {DeadlineKind.QUEUE: _after(at, queue.max_queue_hours * 3600)}
    return {DeadlineKind.ROUND: _after(at, ROUND_S)} if one_shot else {}


def _enter_queue(state: JobState, at: datetime, one_shot: bool) -> Changes:
    return {
        "phase": Phase.QUEUED,
        "queue_entry": state.queue_entry + 1,
        "entered_at": at,
        "one_shot": one_shot,
        "not_before": None,
        "deadlines": _queue_deadlines(state.demand.queue, one_shot, at),
        "ledgers": state.ledgers.model_copy(update={"starts": 0}),
        "eviction": None,
        "outcome": None,
        "launched": False,
        "signalled": False,
        "outlook": None,
    }


_QUEUE_CLOCKS = (DeadlineKind.QUEUE, DeadlineKind.ROUND)


def _entry_is_over(state: JobState) -> bool:
    """Whether the job has run since it entered the queue: that queueing has ended.

    `started` stops the clock of an entry, so one that still goes has not ended; instants alone
    cannot tell where one equals the other.
    """
    if any(kind in state.deadlines for kind in _QUEUE_CLOCKS):
        return False
    return bool(state.started_at and state.entered_at and state.started_at >= state.entered_at)


def _back_to_entry(state: JobState, at: datetime) -> Changes:
    if _entry_is_over(state):
        return {**_enter_queue(state, at, state.one_shot), "held": {}, "cards": {}, "waits_for": ()}
    # the limit of an entry goes on running; the wait for a round begins again
    clocks = _keep(state, DeadlineKind.QUEUE)
    if state.one_shot:
        clocks[DeadlineKind.ROUND] = _after(at, ROUND_S)
    return {
        "phase": Phase.QUEUED,
        "held": {},
        "cards": {},
        "waits_for": (),
        "launched": False,
        "signalled": False,
        "eviction": None,
        "outlook": None,
        "deadlines": clocks,
    }


def _leave(state: JobState, at: datetime, grace_s: int, eviction: Eviction) -> Changes:
    stop, queue = _stop_clocks(at, grace_s), _keep(state, *_QUEUE_CLOCKS)
    return {
        "phase": Phase.EVICTING,
        "eviction": eviction,
        "waits_for": (),
        "deadlines": {**queue, **stop} if queue else stop,
    }


@lru_cache(maxsize=TOGETHER)
def _stop_clocks(at: datetime, grace_s: float) -> dict[DeadlineKind, datetime]:
    return {
        DeadlineKind.GRACE: _after(at, grace_s),
        DeadlineKind.RELEASE: _after(at, grace_s + RELEASE_MARGIN_S),
    }


def _end(phase: Phase, why: Any, at: datetime) -> Changes:
    return {
        "phase": phase,
        "reason": why,
        "ended_at": at if phase is not Phase.ABNORMAL else None,
        "deadlines": {},
        "waits_for": (),
        "eviction": None,
        "outcome": None,
        "not_before": None,
    }


def _end_or_hold(state: JobState, outcome: Outcome, at: datetime) -> Changes:
    if not state.demand.debug_hold_s:
        return _end(outcome.phase, outcome.reason, at)
    return {
        "phase": Phase.DEBUG_HOLDING,
        "outcome": outcome,
        "eviction": None,
        "reason": outcome.reason,
        "deadlines": {DeadlineKind.HOLD: _after(at, state.demand.debug_hold_s)},
    }


# --- effects, in the order of a life -----------------------------------------------------------


def _submitted(fact: f.Submitted, at: datetime) -> JobState:
    return JobState(
        tenant=fact.tenant,
        job=fact.job,
        user=fact.user,
        name=fact.spec.name,
        pool=fact.pool,
        demand=fact.demand,
        labels=dict(fact.spec.labels),
        origin=fact.origin,
        submitted_at=at,
        since=at,
        requests=(fact.request,),
    )


def _admitted(state: JobState, fact: f.Admitted, at: datetime) -> Changes:
    return _enter_queue(state, at, _is_one_shot(state.demand))


def _rejected(state: JobState, fact: f.Rejected, at: datetime) -> Changes:
    return _end(Phase.REJECTED, reason(ReasonCode.INVALID, count=len(fact.violations)), at)


def _scheduled(state: JobState, fact: f.Scheduled, at: datetime) -> Changes:
    return {
        "phase": Phase.STARTING,
        "attempt": state.attempt + 1,
        "held": dict(fact.placement),
        "cards": dict(fact.cards),
        "waits_for": fact.waits_for,
        "launched": False,
        "signalled": False,
        "not_before": None,
        "outlook": fact.outlook,
        "reason": None,
        "deadlines": {
            **_keep(state, *_QUEUE_CLOCKS),
            DeadlineKind.PLAN: _after(at, fact.grace_s + VICTIM_MARGIN_S),
        },
    }


def _unscheduled(state: JobState, fact: f.Unscheduled, at: datetime) -> Changes:
    if state.launched or state.due(DeadlineKind.PLAN) is None:
        # also not after a restart in place: workers of the attempt before may still be there
        raise IllegalEdge("unscheduled is for a placement that nothing was launched on")
    why = reason(ReasonCode.PLAN_WITHDRAWN, why=fact.cause.value)
    return {**_back_to_entry(state, at), "reason": why}


def _declined(state: JobState, fact: f.Declined, at: datetime) -> Changes:
    if not state.one_shot:
        raise IllegalEdge("declined is for one-shot jobs only")
    return _end(Phase.FAILED, fact.reason, at)


def _launching(state: JobState, fact: f.Launching, at: datetime) -> Changes:
    start = _after(at, state.demand.start_deadline_s)
    clocks = {**_keep(state, *_QUEUE_CLOCKS), DeadlineKind.START: start}
    return {"launched": True, "waits_for": (), "not_before": None, "deadlines": clocks}


def _start_refused(state: JobState, fact: f.StartRefused, at: datetime) -> Changes:
    # may follow `launching`: the intent was on the log, and then the cluster started nothing
    starts = state.ledgers.starts + (1 if fact.permanent else 0)
    ledgers = state.ledgers.model_copy(update={"starts": starts})
    if starts >= START_BUDGET:
        why = reason(ReasonCode.START_LIMIT, count=starts, why=fact.why, why_zh=fact.why_zh)
        return {**_end(Phase.ABNORMAL, why, at), "held": {}, "cards": {}, "ledgers": ledgers}
    return {
        **_back_to_entry(state, at),
        "ledgers": ledgers,
        "not_before": fact.not_before,
        "reason": reason(ReasonCode.START_REFUSED, why=fact.why, why_zh=fact.why_zh),
    }


def _start_failed(state: JobState, fact: f.StartFailed, at: datetime) -> Changes:
    same_entry = not _entry_is_over(state)
    eviction = Eviction(cause=EvictionCause.START_FAILED, same_entry=same_entry)
    changes = _leave(state, at, state.demand.grace_s, eviction)
    return {**changes, "reason": reason(ReasonCode.START_FAILED, why=fact.why)}


def _started(state: JobState, fact: f.Started, at: datetime) -> Changes:
    run = state.demand.max_runtime_s
    return {
        "phase": Phase.RUNNING,
        "started_at": at,
        "ledgers": state.ledgers.model_copy(update={"starts": 0}),
        "deadlines": {DeadlineKind.RUN: _after(at, run)} if run else {},
        "reason": None,
    }


def _preempted(state: JobState, fact: f.Preempted, at: datetime) -> Changes:
    if state.eviction is not None:
        raise IllegalEdge("preempted cannot follow an order to leave that still stands")
    eviction, why = _evicted(fact.cause, fact.by)
    return {**_leave(state, at, fact.grace_s, eviction), "reason": why}


@lru_cache(maxsize=TOGETHER)
def _evicted(cause: EvictionCause, by: str | None) -> tuple[Eviction, Reason]:
    """Return the order to leave, and the words for it: thousands may get the same at once."""
    return Eviction(cause=cause, by=by), reason(ReasonCode.EVICTED, cause=cause.value)


def _grace_shortened(state: JobState, fact: f.GraceShortened, at: datetime) -> Changes:
    nearer = min(fact.deadline, state.deadlines.get(DeadlineKind.GRACE, fact.deadline))
    clocks = {**state.deadlines, DeadlineKind.GRACE: nearer}
    if DeadlineKind.RELEASE in clocks:  # not again once it was told
        clocks[DeadlineKind.RELEASE] = _after(nearer, RELEASE_MARGIN_S)
    return {"deadlines": clocks}


def _signalled(state: JobState, fact: f.Signalled, at: datetime) -> Changes:
    return {"signalled": True}


def _workers_failed(state: JobState, fact: f.WorkersFailed, at: datetime) -> Changes:
    _refuse_after_signal(state, "workers_failed")
    if state.outcome is not None:
        raise IllegalEdge("workers_failed cannot follow an outcome that is held")
    if state.eviction is not None and state.eviction.cause not in SCHEDULER_CAUSES:
        # judged already: the rest of the gang ends of the same cause, which is paid for once
        raise IllegalEdge("workers_failed cannot follow an order to leave after a failure")
    first = fact.failures[0]
    why = _how_it_ended(first)
    return {
        "phase": Phase.FAULTED,
        "deadlines": {
            **_keep(state, *_QUEUE_CLOCKS),
            **({DeadlineKind.SETTLE: _after(at, fact.settle_s)} if fact.settle_s else {}),
            DeadlineKind.VERDICT: _after(at, VERDICT_S),
        },
        "reason": reason(ReasonCode.WORKER_FAILED, worker=first.worker, node=first.node, why=why),
    }


def _refuse_after_signal(state: JobState, event: str) -> None:
    if state.phase in {Phase.EVICTING, Phase.STOPPING} and state.signalled:
        raise IllegalEdge(f"{event} counts only for exits observed before the stop signal")


def _how_it_ended(failure: f.WorkerFailure) -> str:
    if failure.exit_code is None:
        return failure.cause
    return f"exit code {failure.exit_code}"


def _succeeded(state: JobState, fact: f.Succeeded, at: datetime) -> Changes:
    _refuse_after_signal(state, "succeeded")
    if state.holds_outcome:
        raise IllegalEdge("succeeded cannot follow an outcome that is held")
    done = Outcome(phase=Phase.SUCCEEDED, reason=reason(ReasonCode.SUCCEEDED))
    if state.phase is Phase.RUNNING:
        return _end_or_hold(state, done, at)
    return _end(done.phase, done.reason, at)


def _released(state: JobState, fact: f.Released, at: datetime) -> Changes:
    changes: Changes = {"held": {}, "cards": {}, "waits_for": (), "launched": False}
    if state.phase is not Phase.EVICTING:
        return changes
    if state.outcome is not None:
        return {**_end(state.outcome.phase, state.outcome.reason, at), **changes}
    return {**changes, "phase": Phase.INTERRUPTED, "deadlines": _keep(state, *_QUEUE_CLOCKS)}


def _release_overdue(state: JobState, fact: f.ReleaseOverdue, at: datetime) -> Changes:
    return {
        "deadlines": {k: v for k, v in state.deadlines.items() if k is not DeadlineKind.RELEASE}
    }


def _requeued(state: JobState, fact: f.Requeued, at: datetime) -> Changes:
    requeues = state.ledgers.requeues + (1 if fact.counted else 0)
    ledgers = state.ledgers.model_copy(update={"requeues": requeues})
    if fact.same_entry:
        changes = _back_to_entry(state, at)
    else:
        changes = _enter_queue(state, at, fact.one_shot)
        ledgers = ledgers.model_copy(update={"starts": 0})
    return {
        **changes,
        "ledgers": ledgers,
        "not_before": fact.not_before,
        "avoid": fact.avoid,
    }


def _not_requeued(state: JobState, fact: f.NotRequeued, at: datetime) -> Changes:
    by = fact.by or "muster"
    return _end(Phase.FAILED, reason(ReasonCode.PREEMPTED, by=by, cause=fact.cause.value), at)


def _requeue_exhausted(state: JobState, fact: f.RequeueExhausted, at: datetime) -> Changes:
    limit = state.demand.queue.max_requeues if state.demand.queue else 0
    why = reason(ReasonCode.REQUEUE_LIMIT, limit=limit, cause=fact.cause.value)
    return _end(Phase.ABNORMAL, why, at)


def _queue_timed_out(state: JobState, fact: f.QueueTimedOut, at: datetime) -> Changes:
    hours = state.demand.queue.max_queue_hours if state.demand.queue else 0
    said = reason(ReasonCode.QUEUE_TIMEOUT, hours=hours)
    return _end(Phase.ABNORMAL, because(said, fact.why) if fact.why else said, at)


def _unchanged(state: JobState, fact: f.Fact, at: datetime) -> Changes:
    return {}


def _hung(state: JobState, fact: f.Hung, at: datetime) -> Changes:
    return {
        "phase": Phase.FAULTED,
        "deadlines": {DeadlineKind.VERDICT: _after(at, VERDICT_S)},
        "reason": reason(ReasonCode.HANG, seconds=fact.seconds),
    }


def _restarted(state: JobState, fact: f.Restarted, at: datetime) -> Changes:
    if state.eviction is not None:
        raise IllegalEdge("restarted cannot follow an order to leave the nodes")
    ours = not (fact.infrastructure or fact.hang)
    ledgers = _debit(state.ledgers, at, fact.infrastructure, restart=ours, hang=fact.hang)
    begin = max(at, fact.not_before) if fact.not_before else at
    start = _after(begin, state.demand.grace_s + state.demand.start_deadline_s)
    return {
        "phase": Phase.STARTING,
        "attempt": state.attempt + 1,
        "launched": False,
        "signalled": False,
        "eviction": None,
        "ledgers": ledgers,
        "faults": _remembered(state, fact),
        "not_before": fact.not_before,
        "deadlines": {**_keep(state, *_QUEUE_CLOCKS), DeadlineKind.START: start},
        "reason": fact.reason,
    }


def _replacement_ordered(state: JobState, fact: f.ReplacementOrdered, at: datetime) -> Changes:
    eviction = Eviction(cause=fact.cause, not_before=fact.not_before)
    changes = _leave(state, at, state.demand.grace_s, eviction)
    ledgers = _debit(state.ledgers, at, fact.infrastructure, restart=fact.restart, hang=fact.hang)
    return {
        **changes,
        "ledgers": ledgers,
        "faults": _remembered(state, fact),
        "avoid": fact.avoid,
        "reason": fact.reason,
    }


def _debit(
    ledgers: Ledgers, at: datetime, infrastructure: bool, *, restart: bool, hang: bool
) -> Ledgers:
    if infrastructure:  # one failure is paid for from one ledger, whatever a fact names
        recent = tuple(t for t in ledgers.infrastructure if at - t < INFRASTRUCTURE_WINDOW)
        return ledgers.model_copy(update={"infrastructure": (*recent, at)})
    if restart:
        return ledgers.model_copy(update={"restarts": ledgers.restarts + 1})
    if hang:
        return ledgers.model_copy(update={"hangs": ledgers.hangs + 1})
    return ledgers


def _remembered(state: JobState, fact: f.Judged) -> Faults | None:
    if fact.diagnosis is None or not fact.diagnosis.fingerprint:
        return state.faults
    step = max(state.progress.step if state.progress else 0, fact.diagnosis.step or 0)
    return after_failure(state.faults, fact.diagnosis.fingerprint, step, state.held)


def _failed(state: JobState, fact: f.Failed, at: datetime) -> Changes:
    return _end_or_hold(state, Outcome(phase=Phase.FAILED, reason=fact.reason), at)


def _escalated(state: JobState, fact: f.Escalated, at: datetime) -> Changes:
    return _end(Phase.ABNORMAL, fact.reason, at)


def _run_timed_out(state: JobState, fact: f.RunTimedOut, at: datetime) -> Changes:
    why = reason(ReasonCode.MAX_RUNTIME, seconds=state.demand.max_runtime_s)
    return _stopping(state, at, Outcome(phase=Phase.FAILED, reason=why))


def _stopping(state: JobState, at: datetime, outcome: Outcome) -> Changes:
    clocks = _stop_clocks(at, state.demand.grace_s)
    grace = state.deadlines.get(DeadlineKind.GRACE)
    if state.phase is Phase.EVICTING and grace is not None and grace < clocks[DeadlineKind.GRACE]:
        clocks = _keep(state, DeadlineKind.GRACE, DeadlineKind.RELEASE)
    return {
        "phase": Phase.STOPPING,
        "outcome": outcome,
        "eviction": None,
        "waits_for": (),
        "deadlines": clocks,
        "reason": outcome.reason,
    }


def _stop_requested(state: JobState, fact: f.StopRequested, at: datetime) -> Changes:
    stopped = Outcome(phase=Phase.STOPPED, reason=reason(ReasonCode.STOPPED_BY_USER, by=fact.by))
    if state.phase in {Phase.QUEUED, Phase.INTERRUPTED, Phase.ABNORMAL}:
        return _end(stopped.phase, stopped.reason, at)
    if state.phase is Phase.STOPPING:
        return {}
    return _stopping(state, at, state.outcome or stopped)


def _stopped(state: JobState, fact: f.Stopped, at: datetime) -> Changes:
    assert state.outcome is not None
    return _end(state.outcome.phase, state.outcome.reason, at)


def _hold_ended(state: JobState, fact: f.HoldEnded, at: datetime) -> Changes:
    assert state.outcome is not None
    return _end(state.outcome.phase, state.outcome.reason, at)


def _resumed(state: JobState, fact: f.Resumed, at: datetime) -> Changes:
    if state.held:
        raise IllegalEdge("resumed needs every node given back first")
    queue = None if fact.off else fact.queue or state.demand.queue
    demand = state.demand.model_copy(update={"queue": queue})
    fresh = state.model_copy(
        update={
            "demand": demand,
            "ledgers": Ledgers(infrastructure=state.ledgers.infrastructure),
        }
    )
    entry = _enter_queue(fresh, at, _is_one_shot(demand))
    return {**entry, "demand": demand, "reason": None, "avoid": (), "faults": None}


def _respecified(state: JobState, fact: f.Respecified, at: datetime) -> Changes:
    if state.phase is not Phase.QUEUED:
        return {"demand": fact.demand}
    one_shot = _is_one_shot(fact.demand)
    clocks = _queue_deadlines(fact.demand.queue, False, state.entered_at or at)
    if one_shot:  # its wait for a round goes on, or begins
        clocks = {DeadlineKind.ROUND: state.due(DeadlineKind.ROUND) or _after(at, ROUND_S)}
    return {"demand": fact.demand, "deadlines": clocks, "one_shot": one_shot}


def _prioritised(state: JobState, fact: f.Prioritised, at: datetime) -> Changes:
    return {"demand": state.demand.model_copy(update={"priority": fact.priority})}


def _relabelled(state: JobState, fact: f.Relabelled, at: datetime) -> Changes:
    return {"labels": dict(fact.labels)}


def _scaled_down(state: JobState, fact: f.ScaledDown, at: datetime) -> Changes:
    left = {n: tuple(w for w in ws if w not in fact.workers) for n, ws in state.held.items()}
    return {"held": {node: workers for node, workers in left.items() if workers}}


def _rescaled(state: JobState, fact: f.Rescaled, at: datetime) -> Changes:
    held = dict(state.held)
    for node, workers in fact.placement.items():
        held[node] = (*held.get(node, ()), *workers)
    return {"held": held}


def _checkpoint_saved(state: JobState, fact: f.CheckpointSaved, at: datetime) -> Changes:
    before = state.progress or Progress()
    step = max(before.step, fact.step, fact.last_step or 0)
    heard = {"step": step, "checkpoint_step": fact.step, "checkpointed_at": at}
    return {"progress": before.model_copy(update=heard), **_given_back(state, fact.step, at)}


def _given_back(state: JobState, step: int, at: datetime) -> Changes:
    """New work that is safe pays off: hangs are forgotten, and one restart comes back."""
    if not gives_back(state.faults, step=step, started_at=state.started_at, at=at):
        return {}
    assert state.faults is not None
    if state.ledgers.hangs:
        fewer = {"hangs": 0}
    else:
        fewer = {"restarts": max(0, state.ledgers.restarts - 1)}
    return {
        "ledgers": state.ledgers.model_copy(update=fewer),
        "faults": state.faults.model_copy(update={"credited_at": at}),
    }


def _resumption(state: JobState, fact: f.ResumeVerified | f.ProgressLost, at: datetime) -> Changes:
    if fact.attempt is None:
        return {}  # of a time when these facts changed nothing
    if fact.attempt != state.attempt:
        raise IllegalEdge(f"{fact.event} of attempt {fact.attempt}: now is {state.attempt}")
    before, kept = state.progress or Progress(), isinstance(fact, f.ResumeVerified)
    found = Resumption(
        attempt=fact.attempt,
        kept=kept,
        step_before=fact.step_before,
        step_after=fact.step_after,
        gpu_hours=fact.gpu_hours,
    )
    known = before.checkpoint_step if fact.checkpoint_step is None else fact.checkpoint_step
    changes = {
        "step": fact.step_after,
        # where the training started over, none counts until it saves one again
        "checkpoint_step": known if kept else None,
        "resumption": found,
    }
    return {"progress": before.model_copy(update=changes)}


def _archived(state: JobState, fact: f.Archived, at: datetime) -> Changes:
    return {"archived": True}


_EFFECTS: dict[type[f.Fact], Callable[[JobState, Any, datetime], Changes]] = {
    f.Admitted: _admitted,
    f.Rejected: _rejected,
    f.Scheduled: _scheduled,
    f.Unscheduled: _unscheduled,
    f.Declined: _declined,
    f.Launching: _launching,
    f.StartRefused: _start_refused,
    f.StartFailed: _start_failed,
    f.Started: _started,
    f.Preempted: _preempted,
    f.GraceShortened: _grace_shortened,
    f.Signalled: _signalled,
    f.WorkersFailed: _workers_failed,
    f.Succeeded: _succeeded,
    f.Released: _released,
    f.ReleaseOverdue: _release_overdue,
    f.Requeued: _requeued,
    f.NotRequeued: _not_requeued,
    f.RequeueExhausted: _requeue_exhausted,
    f.QueueTimedOut: _queue_timed_out,
    f.HangSuspected: _unchanged,
    f.Hung: _hung,
    f.Restarted: _restarted,
    f.ReplacementOrdered: _replacement_ordered,
    f.Failed: _failed,
    f.Escalated: _escalated,
    f.RunTimedOut: _run_timed_out,
    f.StopRequested: _stop_requested,
    f.Stopped: _stopped,
    f.HoldEnded: _hold_ended,
    f.Resumed: _resumed,
    f.Respecified: _respecified,
    f.Prioritised: _prioritised,
    f.Relabelled: _relabelled,
    f.Shared: _unchanged,
    f.ScaleRequested: _unchanged,
    f.ScaledDown: _scaled_down,
    f.Rescaled: _rescaled,
    f.CheckpointSaved: _checkpoint_saved,
    f.ResumeVerified: _resumption,
    f.ProgressLost: _resumption,
    f.Archived: _archived,
}
