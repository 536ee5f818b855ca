"""The verdict on a failure: restart, replace, give up, or ask a person. Pure.

For now the evidence is the exit of the worker that ended first and the state of its node; the
ledgers are already the separate ones: a lost node never costs the user a restart.
"""

from __future__ import annotations

from datetime import datetime

from muster.domain.causes import EvictionCause
from muster.domain.deadlines import VERDICT_S, passed
from muster.domain.evolve import INFRASTRUCTURE_WINDOW
from muster.domain.facts import (
    Escalated,
    Fact,
    Failed,
    Hung,
    ReplacementOrdered,
    Restarted,
    WorkerFailure,
    WorkersFailed,
)
from muster.domain.phases import Phase
from muster.domain.reasons import ReasonCode, reason
from muster.domain.state import DeadlineKind, JobState

INFRASTRUCTURE_LIMIT = 20
"""Failures that are not the job's own, within 24 h, before a person must look."""


def verdict(state: JobState, evidence: Fact | None, now: datetime) -> Fact | None:
    """Decide about a faulted job; None when it is not faulted any more.

    evidence: the fact that made it faulted (WorkersFailed or Hung); None if it cannot be read,
    then a person must decide once the time for a verdict is over.
    """
    if state.phase is not Phase.FAULTED:
        return None
    match evidence:
        case WorkersFailed():
            return _on_failure(state, evidence, now)
        case Hung():
            return _on_budget(state, f"no progress for {evidence.seconds} s", retried=True)
        case _:
            return _undecided(state, now)


def _undecided(state: JobState, now: datetime) -> Fact | None:
    if not passed(state, DeadlineKind.VERDICT, now):
        return None
    return Escalated(reason=reason(ReasonCode.UNDECIDED, seconds=VERDICT_S))


def _on_failure(state: JobState, evidence: WorkersFailed, now: datetime) -> Fact:
    lost = tuple(sorted({x.node for x in evidence.failures if x.cause == "node_lost"}))
    if lost:
        return _on_lost_nodes(state, lost, now)
    first = evidence.failures[0]
    return _on_budget(state, _described(first), retried=_covered(state, first))


def _on_lost_nodes(state: JobState, lost: tuple[str, ...], now: datetime) -> Fact:
    recent = [t for t in state.ledgers.infrastructure if now - t < INFRASTRUCTURE_WINDOW]
    if len(recent) >= INFRASTRUCTURE_LIMIT:
        return Escalated(reason=reason(ReasonCode.INFRASTRUCTURE_LIMIT, count=len(recent)))
    why = f"node {', '.join(lost)} was lost"
    return ReplacementOrdered(
        cause=EvictionCause.NODE_LOST,
        reason=reason(ReasonCode.EVICTED, cause=why),
        infrastructure=True,
        avoid=lost,
    )


def _described(failure: WorkerFailure) -> str:
    how = failure.cause if failure.exit_code is None else f"exit code {failure.exit_code}"
    return f"{failure.worker} on {failure.node}: {how}"


def _covered(state: JobState, failure: WorkerFailure) -> bool:
    """Tell whether the user's strategy restarts after this exit. No ranges = after any."""
    ranges = state.demand.restart_exit_codes
    if not ranges:
        return True
    code = failure.exit_code
    return code is not None and any(low <= code <= high for low, high in ranges)


def _on_budget(state: JobState, why: str, *, retried: bool) -> Fact:
    limit, used = state.demand.max_restarts, state.ledgers.restarts
    if not limit or not retried:
        return Failed(reason=reason(ReasonCode.NOT_RETRIED, why=why))
    if used >= limit:
        return Failed(reason=reason(ReasonCode.RESTART_LIMIT, limit=limit, why=why))
    again = reason(ReasonCode.RESTARTING, count=used + 1, limit=limit, why=why)
    if state.eviction is not None:
        # the nodes were about to be taken away anyway: the next attempt runs elsewhere
        return ReplacementOrdered(cause=EvictionCause.FAULT, reason=again, restart=True)
    return Restarted(reason=again)
