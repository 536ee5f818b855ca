"""Who comes first, and who may take whose place. Both from the same few properties of a job."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta

from muster.domain.causes import EvictionCause
from muster.domain.demand import ResourceClass
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.scheduler.core.policy import Policy

Level = tuple[int, int]
"""(tier, priority): a job may only evict one of a lower level."""

Rank = tuple[bool, int, int, datetime, str, str]


def level(state: JobState) -> Level:
    """Return what decides about eviction. Idle jobs have no priority: the lowest."""
    return state.demand.tier, state.demand.priority or 0


def rank(state: JobState) -> Rank:
    """Return the place in the queue: guarantee, tier, priority, waiting time, id."""
    tier, priority = level(state)
    since = state.entered_at or state.since
    return not state.demand.guarantee, -tier, -priority, since, state.tenant, state.job


def may_evict(beneficiary: JobState, victim: JobState) -> bool:
    """Tell whether one job outranks another enough to take its nodes. Equals never do."""
    if victim.demand.guarantee or beneficiary.demand.resource_class is ResourceClass.IDLE:
        return False
    return level(victim) < level(beneficiary)


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
