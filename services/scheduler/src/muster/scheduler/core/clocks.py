"""Instants that matter to a round: when it must run again, and for when it counts as proof."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta

from muster.domain.phases import Phase
from muster.domain.state import DeadlineKind
from muster.scheduler.core.leaving import hopeless_at
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rank import protected_until, shield
from muster.scheduler.core.snapshot import JobKey, Listed, Snapshot, is_hold


def next_at(snapshot: Snapshot, policy: Policy) -> datetime | None:
    """Return the first instant from now on at which the same log would give another plan."""
    return min(
        (at for job in snapshot.jobs for at in _instants(job, policy) if at > snapshot.now),
        default=None,
    )


def _instants(job: Listed, policy: Policy) -> Iterator[datetime]:
    state = job.state
    if state.phase is Phase.QUEUED:
        yield from (at for at in (state.not_before, state.due(DeadlineKind.QUEUE)) if at)
        return
    plan = state.due(DeadlineKind.PLAN)
    if is_hold(state) and plan:
        yield plan
    yield from (at for at in (hopeless_at(state), protected_until(state, policy)) if at)
    if state.held and (kept := shield(job, policy)) and kept[0] >= 1:
        yield kept[1]


def overdue(job: Listed, now: datetime) -> datetime | None:
    """Return the queue deadline of a job when it is over, else None."""
    if job.state.phase is not Phase.QUEUED:
        return None
    deadline = job.state.due(DeadlineKind.QUEUE)
    return deadline if deadline is not None and deadline <= now else None


def owes_proof(snapshot: Snapshot, unreached: Collection[JobKey]) -> bool:
    """Tell whether a deadline waits for the record of this round, which dealt with the job (D2)."""
    last = snapshot.last_round
    return any(
        last is None or last.at < deadline or last.upto < job.seq
        for job in snapshot.queued
        if job.key not in unreached and (deadline := overdue(job, snapshot.now))
    )


def counts_for(snapshot: Snapshot, unreached: Collection[JobKey]) -> datetime:
    """Return the instant that the round may claim: none that an unreached job's deadline allows."""
    missed = [
        deadline
        for job in snapshot.queued
        if job.key in unreached and (deadline := overdue(job, snapshot.now))
    ]
    return min([snapshot.now, *(deadline - timedelta(microseconds=1) for deadline in missed)])
