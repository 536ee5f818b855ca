"""What must hold in every life of a job: limits, one ledger for a cause, and somebody who looks.

Each rule takes a walk and raises Broken with what happened. The counts are made anew from the
events, without a look at the counters that the states carry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from muster.admission.core import decide as admission
from muster.domain import facts as f
from muster.domain.deadlines import armed
from muster.domain.edges import IllegalEdge, Owner
from muster.domain.evolve import evolve
from muster.domain.phases import Phase
from muster.domain.state import DeadlineKind, JobState, Ledgers
from muster.domain.violations import Violation
from muster.fault_tolerance.core.verdict import by_event
from muster.requeue.core import decide as requeue
from tests.sim.limit_walks import Step, Walk

MOMENT = timedelta(microseconds=1)
REFUSALS = 3


class Broken(AssertionError):
    """A rule does not hold."""


def _require(holds: object, what: str, step: Step) -> None:
    if not holds:
        events = f"{step.before.phase} -> {step.fact.event} -> {step.after.phase}"
        raise Broken(f"{what}: {events} at {step.at}, {step.fact!r}, {step.after.ledgers}")


# --- limits ------------------------------------------------------------------------------------


def requeues_stay_within_their_limit(walk: Walk) -> None:
    """No more evictions are followed by a queueing than the limit of that moment allows."""
    used = 0
    for step in walk.steps:
        limits = step.before.demand.queue
        match step.fact:
            case f.Resumed():
                used = 0
            case f.Requeued(cause=cause) if cause.value in _COUNT:
                used += 1
                allowed = limits.max_requeues if limits else 0
                _require(used <= min(3, allowed), f"requeue {used} of {allowed}", step)
            case f.RequeueExhausted():
                left = limits.max_requeues - used if limits else 0
                _require(limits and left <= 0, f"parked with {left} left", step)
            case f.NotRequeued():
                _require(limits is None, "ended in spite of auto-queue", step)
        _require(step.after.ledgers.requeues == used, f"counted {used}", step)


_COUNT = frozenset({"spot_reclaim", "idle_reclaim", "priority", "quota_reclaim"})


def starts_stay_within_their_limit(walk: Walk) -> None:
    """The third permanent refusal in one queueing parks the job, none before does."""
    refused = 0
    for step in walk.steps:
        if step.after.queue_entry != step.before.queue_entry or isinstance(step.fact, f.Started):
            refused = 0
        if isinstance(step.fact, f.StartRefused):
            refused += step.fact.permanent
            parked = step.after.phase is Phase.ABNORMAL
            _require(parked == (refused == REFUSALS), f"refusal {refused}", step)


def restarts_stay_within_their_limit(walk: Walk) -> None:
    """No more restarts than the user's own budget, between two resumes."""
    used = 0
    for step in walk.steps:
        if isinstance(step.fact, f.Resumed):
            used = 0
        match step.fact:
            case f.Restarted(infrastructure=False, hang=False):
                used += 1
            case f.ReplacementOrdered(restart=True):
                used += 1
        _require(used <= step.before.demand.max_restarts, f"restart {used}", step)


def each_queueing_has_its_hours(walk: Walk) -> None:
    """Whoever waits under a limit is over at its end exactly, wherever the entry went meanwhile.

    The end is counted from the beginning of the queueing, with the limit of the moment.
    """
    began: datetime | None = walk.steps[0].before.entered_at if walk.steps else None
    for step in walk.steps:
        if step.after.queue_entry != step.before.queue_entry:
            began = step.at
        if isinstance(step.fact, f.QueueTimedOut):
            _timed_out(step, began)
        limits = step.after.demand.queue
        if step.after.phase is not Phase.QUEUED or limits is None:
            continue
        assert began is not None
        end = began + timedelta(hours=limits.max_queue_hours)
        _require(_asked_at(step, end - MOMENT) is None, f"over before {end}", step)
        over = isinstance(_asked_at(step, end), f.QueueTimedOut)
        _require(over, f"not over at {end}", step)


def _asked_at(step: Step, instant: datetime) -> f.Fact | None:
    ran = requeue.Round(at=instant, upto=step.seq)
    return requeue.on_deadline(step.after, step.seq, instant, ran)


def _timed_out(step: Step, began: datetime | None) -> None:
    limits = step.before.demand.queue
    _require(limits and began, "timed out without a limit", step)
    if limits and began:
        end = began + timedelta(hours=limits.max_queue_hours)
        _require(step.at >= end, f"timed out before {end}", step)


def a_new_queueing_needs_a_cause(walk: Walk) -> None:
    """Nobody gets a fresh clock for a placement that is taken back or a start that is refused."""
    ran = False
    for step in walk.steps:
        if step.after.queue_entry != step.before.queue_entry:
            told = isinstance(step.fact, f.Requeued | f.Resumed)
            free = step.before.demand.queue is not None and not told and not ran
            _require(not free, "a queueing for free", step)
            _require(step.after.queue_entry == step.before.queue_entry + 1, "skipped", step)
            ran = False
        ran = ran or isinstance(step.fact, f.Started)


def lowering_a_limit_ends_nothing_by_itself(walk: Walk) -> None:
    """A change of limits changes limits: no phase, no counter, no entry."""
    for step in walk.steps:
        if isinstance(step.fact, f.Respecified):
            same = (step.before.phase, step.before.ledgers, step.before.queue_entry)
            found = (step.after.phase, step.after.ledgers, step.after.queue_entry)
            _require(found == same, "a change of limits changed more", step)


# --- one ledger for one cause ------------------------------------------------------------------


def no_cause_debits_two_ledgers(walk: Walk) -> None:
    """From what drives a job off its nodes to where it goes next, one ledger moves by one."""
    debits = 0
    for step in walk.steps:
        moved = _debits(step.before.ledgers, step.after.ledgers)
        _require(moved <= 1, f"one event moved {moved}", step)
        debits += moved
        _require(debits <= 1, "one cause moved two ledgers", step)
        if step.after.phase not in _UNDER_WAY or isinstance(step.fact, f.Restarted | f.Scheduled):
            debits = 0


_UNDER_WAY = frozenset({Phase.STARTING, Phase.FAULTED, Phase.EVICTING, Phase.INTERRUPTED})


def _debits(old: Ledgers, new: Ledgers) -> int:
    return (
        max(0, new.requeues - old.requeues)
        + max(0, new.restarts - old.restarts)
        + max(0, new.starts - old.starts)
        + len(set(new.infrastructure) - set(old.infrastructure))
    )


# --- somebody looks ----------------------------------------------------------------------------

REST = "at rest"
"""Waits for something outside, which is named by the phase: room, its processes, a person."""


def somebody_looks_again(walk: Walk) -> None:
    """From wherever the job stands, those who owe it something bring it to rest, in a few steps.

    Nothing else happens: there is no room, nobody asks, processes run on. Each step is owed by the
    owner of an armed deadline, or follows from the state alone.
    """
    for step in walk.steps:
        seen = [step.after.phase]
        state, seq, now = step.after, step.seq, step.at
        for _ in range(40):
            moved = _owed(state, seq, now)
            if moved == REST:
                break
            _require(not isinstance(moved, str), f"{moved}, after {seen}", step)
            assert not isinstance(moved, str)
            state, seq, now = moved[0], seq + 1, moved[1]
            seen.append(state.phase)
        else:
            _require(False, f"never comes to rest: {seen}", step)
        if state.parked:
            _obeys(state, now, step)


Moved = tuple[JobState, datetime] | str


def _owed(state: JobState, seq: int, now: datetime) -> Moved:
    """Do the next thing that somebody owes the job; REST, or what is missing."""
    if state.terminal or state.parked:
        return REST
    due = min(_due(state), default=None)
    match state.phase:
        case Phase.INTERRUPTED:
            return _after(state, Owner.REQUEUE, requeue.on_release(state), now)
        case Phase.QUEUED if due is None:
            return REST if _may_wait_for_ever(state) else "waits without a clock"
        case Phase.RUNNING if due is None:
            return REST if state.demand.max_runtime_s is None else "runs without its clock"
    if due is None:
        return f"{state.phase} without a clock"
    instant, owner, kind = due
    at = max(now, instant)
    return _after(state, owner, _when_over(kind, state, seq, at), at)


def _when_over(kind: DeadlineKind, state: JobState, seq: int, at: datetime) -> f.Fact | None:
    """Return what the owner of a deadline does when it is over."""
    match kind:
        case DeadlineKind.QUEUE | DeadlineKind.ROUND:
            return requeue.on_deadline(state, seq, at, requeue.Round(at=at, upto=seq))
        case DeadlineKind.SETTLE | DeadlineKind.VERDICT:
            return by_event(state, None, at)
        case DeadlineKind.PLAN:
            return f.Unscheduled(cause=f.Withdrawal.PLAN_ABANDONED)
        case DeadlineKind.START:
            return f.StartFailed(attempt=state.attempt, why="not up in time")
        case DeadlineKind.HOLD:
            return f.HoldEnded()
        case DeadlineKind.RUN:
            return f.RunTimedOut()
        case DeadlineKind.GRACE | DeadlineKind.RELEASE:
            held = state.phase is Phase.EVICTING or state.held
            return f.Released(attempt=state.attempt) if held else f.Stopped()


def _due(state: JobState) -> Iterator[tuple[datetime, Owner, DeadlineKind]]:
    for owner in Owner:
        for kind, instant in armed(state, owner):
            yield instant, owner, kind


def _may_wait_for_ever(state: JobState) -> bool:
    return state.demand.queue is None and not state.one_shot


def _after(state: JobState, owner: Owner, fact: f.Fact | None, at: datetime) -> Moved:
    if fact is None:
        return f"{owner} does nothing about {state.phase}"
    try:
        return evolve(state, fact, at, owner), at
    except IllegalEdge as error:
        return f"{owner} may not: {error}"


def _obeys(state: JobState, now: datetime, step: Step) -> None:
    """A parked job stops when told so; it resumes as soon as it holds nothing."""
    stop = admission.stop(state, "ann", "people-stop")
    _require(isinstance(stop, f.StopRequested), "does not obey a stop", step)
    if state.held:
        state = evolve(state, f.Released(attempt=state.attempt), now)
    resume = admission.resume(state, "ann", "people-resume", None)
    _require(resume and not isinstance(resume, Violation), "does not obey a resume", step)
    if isinstance(resume, f.Resumed):
        again = evolve(state, resume, now)
        _require(again.phase is Phase.QUEUED, "does not queue again", step)
        _require(again.ledgers.requeues == 0, "begins with used requeues", step)


Rule = Callable[[Walk], None]
RULES: tuple[Rule, ...] = (
    requeues_stay_within_their_limit,
    starts_stay_within_their_limit,
    restarts_stay_within_their_limit,
    each_queueing_has_its_hours,
    a_new_queueing_needs_a_cause,
    lowering_a_limit_ends_nothing_by_itself,
    no_cause_debits_two_ledgers,
    somebody_looks_again,
)
