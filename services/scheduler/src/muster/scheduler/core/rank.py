"""Who comes first, and who may take whose place. Both from the same few properties of a job.

The place in line is a constant of a queue entry: a job stands as if it had come `age_s` earlier for
each point of its priority. So nobody's place changes by the mere passing of time, and of a job of
priority p none that came more than (99 - p) * age_s after it stands before it, unless it has a
guarantee or is of a higher tier. Of jobs of one line the longest in the queue comes first: a round
only compares the heads of lines.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta

from muster.domain.causes import EvictionCause
from muster.domain.demand import ResourceClass
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.scheduler.core.jobs import Listed
from muster.scheduler.core.policy import Policy

Level = tuple[int, int]
"""(tier, priority): a job may only evict one of a lower level."""

Rank = tuple[bool, int, datetime, int, str, str]


def level(state: JobState) -> Level:
    """Return what decides about eviction. Idle jobs have no priority: the lowest."""
    return state.demand.tier, state.demand.priority or 0


def rank(state: JobState, policy: Policy) -> Rank:
    """Return the place in the queue: guarantee, tier, then waiting and priority together, id."""
    tier, priority = level(state)
    stands = entered(state) - timedelta(seconds=policy.age_s * priority)
    return not state.demand.guarantee, -tier, stands, -priority, state.job, state.tenant


def entered(state: JobState) -> datetime:
    """Return when the queue entry began: each queueing waits anew, a refused start does not."""
    return state.entered_at or state.since


def may_evict(beneficiary: JobState, victim: JobState) -> bool:
    """Tell whether one job outranks another enough to take its nodes. Equals never do."""
    if victim.demand.guarantee or beneficiary.demand.resource_class is ResourceClass.IDLE:
        return False
    return level(victim) < level(beneficiary)


def shield(victim: Listed, policy: Policy) -> tuple[float, datetime] | None:
    """Return what the wait of a placed job is worth in points of priority, and until when.

    Its wait let it pass higher jobs; it would be for nothing if these could evict it at once. So
    for as long as it waited, the points that it waited for count for it. Not after a restart in
    place: when that stay began is not known.
    """
    state = victim.state
    placed = state.since if state.phase is Phase.STARTING else state.started_at
    if placed is None or state.attempt != victim.stay or not policy.age_s:
        return None
    waited = placed - entered(state)
    return waited.total_seconds() / policy.age_s, placed + waited


def shielded(victim: Listed, beneficiary: JobState, policy: Policy, now: datetime) -> bool:
    """Tell whether a job that waited long keeps its place against a higher one of its tier."""
    if beneficiary.demand.guarantee or beneficiary.demand.tier != victim.state.demand.tier:
        return False
    found = shield(victim, policy)
    if found is None or now >= found[1]:
        return False
    return level(beneficiary)[1] < level(victim.state)[1] + found[0]


def protected_until(victim: JobState, policy: Policy) -> datetime | None:
    """Return until when a running job is spared, None if it is not."""
    if victim.phase is not Phase.RUNNING or victim.started_at is None:
        return None
    if victim.demand.resource_class is ResourceClass.IDLE:
        return None
    again = victim.ledgers.requeues > 0
    seconds = max(policy.min_run_s, policy.cool_down_s if again else 0)
    return victim.started_at + timedelta(seconds=seconds)


def cause_for(victim: JobState) -> EvictionCause:
    """Return why a job leaves for a higher one."""
    idle = victim.demand.resource_class is ResourceClass.IDLE
    return EvictionCause.IDLE_RECLAIM if idle else EvictionCause.PRIORITY


def lost_work(state: JobState, now: datetime) -> float:
    """Return GPU seconds since the start of the attempt; nothing is known of checkpoints here."""
    if state.phase is not Phase.RUNNING or state.started_at is None:
        return 0.0
    return max(0.0, (now - state.started_at).total_seconds()) * max(1, state.demand.gpus)


def lot(state: JobState) -> str:
    """Return a last key that is stable, and favours no user and no name."""
    return hashlib.blake2b(f"{state.job}/{state.attempt}".encode(), digest_size=8).hexdigest()
