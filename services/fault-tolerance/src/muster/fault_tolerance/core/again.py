"""The facts that give a job another attempt, and when that begins. Pure.

A wait of at most five minutes keeps the nodes; a longer one gives them back to others.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from muster.domain.causes import EvictionCause
from muster.domain.diagnosis import Action
from muster.domain.facts import Judged, ReplacementOrdered, Restarted
from muster.domain.reasons import Reason, ReasonCode
from muster.fault_tolerance.core.backoff import KEEPS_NODES, after_pause, wait
from muster.fault_tolerance.core.case import Case
from muster.fault_tolerance.core.cause import LOST, RECLAIMED
from muster.fault_tolerance.core.ledger import Ledger

_LOST = frozenset({LOST, RECLAIMED})


def restarted(case: Case, ledger: Ledger, why: Reason) -> Judged:
    """Return the next attempt on the same nodes, unless they are to be left or the wait is long."""
    delay = wait(case.diagnosis.blame, case.again, case.key)
    if case.state.eviction is not None:
        # the nodes were about to be taken away anyway: the next attempt runs elsewhere
        return _elsewhere(EvictionCause.FAULT, ledger, why)
    if delay > KEEPS_NODES:
        return _elsewhere(EvictionCause.BACKOFF, ledger, why, not_before=case.now + delay)
    return Restarted(
        reason=why,
        infrastructure=ledger is Ledger.INFRASTRUCTURE,
        hang=ledger is Ledger.HANGS,
        not_before=case.now + delay if delay else None,
    )


def replaced(case: Case, ledger: Ledger, why: Reason, nodes: tuple[str, ...]) -> Judged:
    """Return the next attempt on other nodes, after a wait: what is down there is down here, too.

    A node that is gone or is being emptied tells nothing of the others: the first time is at once.
    """
    gone = case.diagnosis.rule in _LOST
    cause = EvictionCause.NODE_LOST if gone else EvictionCause.FAULT
    at_once = not case.again and (gone or case.diagnosis.action is Action.REQUEUE)
    delay = timedelta() if at_once else wait(case.diagnosis.blame, case.again, case.key)
    begin = case.now + delay if delay else None
    return _elsewhere(cause, ledger, why, avoid=nodes, not_before=begin)


def waited_out(case: Case, why: Reason) -> Judged:
    """Return the longest wait that keeps the nodes: too many are silent for any to be dead."""
    until = case.now + KEEPS_NODES
    return Restarted(reason=why, infrastructure=True, not_before=until)


def delayed(fact: Judged, seconds: float, now: datetime) -> Judged:
    """Return the same, not to begin before its turn among all that restart."""
    if not isinstance(fact, Restarted | ReplacementOrdered) or seconds <= 0:
        return fact
    begin = max(fact.not_before or now, now + timedelta(seconds=seconds))
    if isinstance(fact, ReplacementOrdered) or begin - now <= KEEPS_NODES:
        return fact.model_copy(update={"not_before": begin})
    return ReplacementOrdered(
        cause=EvictionCause.BACKOFF,
        reason=fact.reason,
        diagnosis=fact.diagnosis,
        infrastructure=fact.infrastructure,
        restart=not (fact.infrastructure or fact.hang),
        hang=fact.hang,
        not_before=begin,
    )


def paused(case: Case) -> Judged:
    """Return the wait for the end of an incident; nothing is paid for it."""
    until = case.now + after_pause(case.key)
    why = case.says(ReasonCode.PAUSED)
    return _elsewhere(EvictionCause.BACKOFF, Ledger.NONE, why, not_before=until)


def left_as_ordered(case: Case) -> Judged:
    """Return what an order to leave asked for; the failure is none."""
    eviction = case.state.eviction
    cause = eviction.cause if eviction else EvictionCause.BACKOFF
    return _elsewhere(cause, Ledger.NONE, case.says(ReasonCode.REPLACING))


def _elsewhere(
    cause: EvictionCause,
    ledger: Ledger,
    why: Reason,
    *,
    avoid: tuple[str, ...] = (),
    not_before: datetime | None = None,
) -> ReplacementOrdered:
    return ReplacementOrdered(
        cause=cause,
        reason=why,
        infrastructure=ledger is Ledger.INFRASTRUCTURE,
        restart=ledger is Ledger.RESTARTS,
        hang=ledger is Ledger.HANGS,
        avoid=avoid,
        not_before=not_before,
    )
