"""The verdict on a failure: again, elsewhere, not again, or a person. Pure.

One failure moves one ledger. Whatever the user's strategy is, what is sure to come again is not
tried again, but for `always`; a full disk or quota not even then. With fault tolerance off a job
still goes on elsewhere if something other than its own output proves that the infrastructure
failed: that was never the user's to pay for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime

from muster.domain.deadlines import VERDICT_S, passed
from muster.domain.demand import FaultStrategy
from muster.domain.diagnosis import Action, Blame, Kind, Source
from muster.domain.edges import Owner
from muster.domain.evolve import evolve
from muster.domain.facts import Escalated, Fact, Failed, Judged, ReplacementOrdered
from muster.domain.phases import Phase
from muster.domain.reasons import ReasonCode, reason
from muster.domain.state import DeadlineKind, JobState
from muster.fault_tolerance.core.again import (
    left_as_ordered,
    paused,
    replaced,
    restarted,
    waited_out,
)
from muster.fault_tolerance.core.case import Case
from muster.fault_tolerance.core.cause import LOST
from muster.fault_tolerance.core.choice import FULL
from muster.fault_tolerance.core.diagnosis import explained
from muster.fault_tolerance.core.event import failure_of
from muster.fault_tolerance.core.failure import Failure
from muster.fault_tolerance.core.ledger import (
    HANG_LIMIT,
    INFRASTRUCTURE_LIMIT,
    Ledger,
    counts,
    recent,
)
from muster.fault_tolerance.core.rules import Rulebook
from muster.fault_tolerance.core.signs import Signs
from muster.fault_tolerance.core.strategy import covers

NO_RULES = Rulebook("none", ())
_PROVED = frozenset({Source.POD, Source.NODE, Source.KERNEL})
"""Evidence that is not the job's own word."""


def judge(
    state: JobState,
    failure: Failure,
    book: Rulebook,
    now: datetime,
    seen: Collection[str] = (),
    *,
    silent: bool = False,
    signs: Signs | None = None,
) -> Judged | None:
    """Diagnose a failure and decide about the job; None when it is not faulted any more.

    seen: which of the job's keywords stand in its output. silent: see `Case`. signs: see
    `diagnose`.
    """
    if state.phase is not Phase.FAULTED:
        return None
    diagnosis, cause = explained(failure, book, now, signs)
    return verdict(Case(state, failure, diagnosis, cause, now, frozenset(seen), silent))


def by_event(
    state: JobState, evidence: Fact | None, now: datetime, book: Rulebook = NO_RULES
) -> Judged | None:
    """Decide from the event of the failure alone, for which nobody was asked.

    evidence: the fact that made the job faulted; None if it cannot be read.
    """
    if state.phase is not Phase.FAULTED:
        return None
    if evidence is None:
        return undecided(state, now)
    return judge(state, failure_of(state, evidence, now), book, now)


def undecided(state: JobState, now: datetime) -> Judged | None:
    """Decide where not even the event of the failure can be read: a person, once time is over."""
    if not passed(state, DeadlineKind.VERDICT, now):
        return None
    return Escalated(reason=reason(ReasonCode.UNDECIDED, seconds=VERDICT_S))


def verdict(case: Case) -> Judged:
    """Return the fact that follows, with its diagnosis and the ledgers before and after."""
    fact = _away(case, _decided(case))
    after = evolve(case.state, fact, case.now, Owner.FAULT_TOLERANCE)
    diagnosis = case.diagnosis.model_copy(
        update={
            "excluded": fact.avoid if isinstance(fact, ReplacementOrdered) else (),
            "before": counts(case.state, case.now),
            "after": counts(after, case.now),
        }
    )
    return fact.model_copy(update={"diagnosis": diagnosis})


def _away(case: Case, fact: Judged) -> Judged:
    """Keep away from earlier nodes, too, until there is progress: else two take turns."""
    if not isinstance(fact, ReplacementOrdered) or case.progressed:
        return fact
    return fact.model_copy(update={"avoid": tuple(dict.fromkeys((*case.state.avoid, *fact.avoid)))})


def _decided(case: Case) -> Judged:
    if _never_again(case):
        return _to_a_person(case)
    if case.diagnosis.incident and case.diagnosis.action is not Action.STOP and case.limit:
        return paused(case)
    return _ACTIONS[case.diagnosis.action](case)


def _never_again(case: Case) -> bool:
    """Tell whether another attempt only makes it worse: a full disk gets fuller."""
    found = case.diagnosis
    full = found.blame is Blame.STORAGE or found.rule in FULL
    return full and found.kind is Kind.DETERMINISTIC


def _to_a_person(case: Case) -> Judged:
    """Park the job; with fault tolerance off nobody waits for it, and it has failed."""
    if not case.limit:
        return _not_retried(case)
    return Escalated(reason=case.says(ReasonCode.NEEDS_HUMAN))


def _not_retried(case: Case) -> Judged:
    return Failed(reason=case.says(ReasonCode.NOT_RETRIED))


def _stopped(case: Case) -> Judged:
    always = case.state.demand.restart_strategy is FaultStrategy.ALWAYS
    if always and case.limit:
        return _own(case)
    return Failed(reason=case.says(ReasonCode.DETERMINISTIC))


def _tried_once(case: Case) -> Judged:
    if case.again:
        return _stopped(case)
    return _tried(case)


def _tried(case: Case) -> Judged:
    """Try again on the same nodes; who pays depends on whose failure it is."""
    if case.failure.hung is not None and case.diagnosis.blame is Blame.UNKNOWN:
        return _after_hang(case)
    if case.diagnosis.blame.infrastructure:
        return _infrastructure(case)
    return _own(case)


def _own(case: Case) -> Judged:
    """Pay from the user's restarts."""
    used, limit, demand = case.state.ledgers.restarts, case.limit, case.state.demand
    if not limit or not covers(demand, _exit_code(case), case.seen):
        return _not_retried(case)
    if used >= limit:
        return Failed(reason=case.says(ReasonCode.RESTART_LIMIT, limit=limit))
    why = case.says(ReasonCode.RESTARTING, count=used + 1, limit=limit)
    return restarted(case, Ledger.RESTARTS, why)


def _exit_code(case: Case) -> int | None:
    first = case.diagnosis.first
    return next((w.exit_code for w in case.failure.workers if w.worker == first), None)


def _infrastructure(case: Case) -> Judged:
    """Pay from the ledger of the infrastructure, and stay on the nodes if none is to blame."""
    refused = _limited(case)
    if refused is not None:
        return refused
    why = case.says(ReasonCode.REPLACING)
    if case.silent and case.diagnosis.rule == LOST and case.state.eviction is None:
        return waited_out(case, case.says(ReasonCode.PAUSED))
    if case.diagnosis.nodes or case.diagnosis.action is Action.REQUEUE:
        return replaced(case, Ledger.INFRASTRUCTURE, why, case.diagnosis.nodes)
    count = recent(case.state, case.now) + 1
    why = case.says(ReasonCode.RESTARTING_FREE, count=count, limit=INFRASTRUCTURE_LIMIT)
    return restarted(case, Ledger.INFRASTRUCTURE, why)


def _limited(case: Case) -> Judged | None:
    if not case.limit and case.cause.source not in _PROVED:
        return _not_retried(case)
    count = recent(case.state, case.now)
    if count >= INFRASTRUCTURE_LIMIT:
        return Escalated(reason=reason(ReasonCode.INFRASTRUCTURE_LIMIT, count=count))
    return None


def _after_hang(case: Case) -> Judged:
    """Nothing moved and nothing shows why: twice, then a person, with the stacks."""
    if not case.limit:
        return _not_retried(case)
    used = case.state.ledgers.hangs
    if used >= HANG_LIMIT:
        return Escalated(reason=case.says(ReasonCode.HANG_LIMIT, limit=HANG_LIMIT))
    why = case.says(ReasonCode.RESTARTING_HUNG, count=used + 1, limit=HANG_LIMIT)
    placed = case.state.placed_on
    node = placed.get(case.failure.outlier or "")
    if node is not None:
        return replaced(case, Ledger.HANGS, why, (node,))
    return restarted(case, Ledger.HANGS, why)


def _requeued(case: Case) -> Judged:
    return left_as_ordered(case) if case.failure.order else _infrastructure(case)


def _ignored(case: Case) -> Judged:
    return left_as_ordered(case) if case.failure.order else _to_a_person(case)


_ACTIONS: dict[Action, Callable[[Case], Judged]] = {
    Action.STOP: _stopped,
    Action.RETRY_ONCE: _tried_once,
    Action.RETRY: _tried,
    Action.IN_PLACE: _tried,
    Action.EXCLUDE: _infrastructure,
    Action.CORDON: _infrastructure,
    Action.REQUEUE: _requeued,
    Action.HOLD: _to_a_person,
    Action.WATCH: _tried,
    Action.IGNORE: _ignored,
}
