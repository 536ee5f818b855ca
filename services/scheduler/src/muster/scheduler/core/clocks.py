"""Instants that matter to a round: when it must run again, and for when it counts as proof."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta

from muster.domain.state import DeadlineKind
from muster.scheduler.core.leaving import hopeless_at
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rank import shield
from muster.scheduler.core.rights import guards_end
from muster.scheduler.core.snapshot import JobKey, Listed, Snapshot, Waiter, is_hold
from muster.scheduler.core.stayers import protected_until
from muster.scheduler.core.verdicts import Plan, Waiting


def next_at(snapshot: Snapshot, policy: Policy, holders: datetime | None) -> datetime | None:
    """Return the first instant from now on at which the same log would give another plan.

    holders: the first at which something about those who hold nodes changes by itself.
    """
    now = snapshot.now
    guards = (at for at in guards_end(snapshot.evictions, policy) if at > now)
    others = (holders, snapshot.book.next_instant(now))
    return min([*guards, *(at for at in others if at)], default=None)


def instants(snapshot: Snapshot, policy: Policy) -> Iterator[datetime]:
    """Yield the instants at which others than the queue would give another plan by themselves."""
    for job in snapshot.holding:
        yield from instants_of(job, policy)
    yield from guards_end(snapshot.evictions, policy)


def earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    """Return the first of two instants, either of which may be missing."""
    return min((at for at in (one, other) if at is not None), default=None)


def instants_of(job: Listed, policy: Policy) -> Iterator[datetime]:
    """Yield the instants at which something about one that holds nodes changes by itself."""
    state = job.state
    plan = state.due(DeadlineKind.PLAN)
    if is_hold(state) and plan:
        yield plan
    yield from (at for at in (hopeless_at(state), protected_until(state, policy)) if at)
    if (kept := shield(job, policy)) and kept[0] >= 1:
        yield kept[1]


def owes_proof(made: Plan, cut: Collection[JobKey]) -> bool:
    """Tell whether a deadline waits for the record of this round, which dealt with the job (D2).

    cut: jobs that were decided about and will not be written.
    """
    last = made.snapshot.last_round
    return any(
        last is None or last.at < waiter.due or last.upto < waiter.seq
        for waiter in made.snapshot.book.overdue(made.snapshot.now)
        if waiter.due and not _missed(made, waiter, cut)
    )


def counts_for(made: Plan, cut: Collection[JobKey]) -> datetime:
    """Return the instant that the round may claim: none that an unreached job's deadline allows."""
    now = made.snapshot.now
    if not cut and not made.unreached:
        return now
    missed = [w.due for w in made.snapshot.book.overdue(now) if w.due and _missed(made, w, cut)]
    return min([now, *(deadline - timedelta(microseconds=1) for deadline in missed)])


def _missed(made: Plan, waiter: Waiter, cut: Collection[JobKey]) -> bool:
    if waiter.key in cut:
        return True
    verdict = made.verdicts.of(waiter)
    return verdict is not None and verdict.why is Waiting.NOT_REACHED
