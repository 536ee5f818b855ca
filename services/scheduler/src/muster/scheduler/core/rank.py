"""Who comes first, and what a job weighs against others. `rights` says who may take whose place.

The place in line is a constant of a queue entry: a job stands as if it had come `age_s` earlier for
each point of its priority. So nobody's place changes by the mere passing of time, and of a job of
priority p none that came more than (99 - p) * age_s after it stands before it, unless it has a
guarantee or a share left, or is of a higher tier. Of jobs of one line the longest in the queue
comes first: a round only compares the heads of lines.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from functools import cache, lru_cache

from muster.domain.demand import Demand
from muster.domain.phases import Phase
from muster.domain.spec import MAX_RUNTIME_S
from muster.domain.state import JobState
from muster.scheduler.core.amounts import CARD
from muster.scheduler.core.jobs import Listed
from muster.scheduler.core.policy import Order, Policy

Level = tuple[int, int]
"""(tier, priority): a job may only evict one of a lower level."""

IDLE_TIER = 0

Rank = tuple[bool, int, bool, datetime, int, str, str]


def level(state: JobState) -> Level:
    """Return what decides about eviction. Idle jobs have no priority: the lowest."""
    demand = state.demand
    return _level(demand.tier, demand.priority or 0)


@cache
def _level(tier: int, priority: int) -> Level:
    """Return the one pair of these two: there are a few hundred, and jobs by the thousand."""
    return tier, priority


def rank(state: JobState, policy: Policy, *, borrows: bool = False) -> Rank:
    """Return the place in the queue: guarantee, tier, share, then waiting and priority, id.

    borrows: its tenant would take more than its share with it (`quota.Owners`). In the plain
    orders: who came first, or who says that it will be done first.
    """
    match policy.order:
        case Order.FIFO | Order.FIFO_SKIP:
            return False, 0, False, entered(state), 0, state.job, state.tenant
        case Order.SJF:
            limit = state.demand.max_runtime_s or MAX_RUNTIME_S + 1
            return False, limit, False, entered(state), 0, state.job, state.tenant
    tier, priority = level(state)
    stands = entered(state) - timedelta(seconds=policy.age_s * priority)
    return not state.demand.guarantee, -tier, borrows, stands, -priority, state.job, state.tenant


def entered(state: JobState) -> datetime:
    """Return when the queue entry began: each queueing waits anew, a refused start does not."""
    return state.entered_at or state.since


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


def lost_work(state: JobState, now: datetime) -> float:
    """Return GPU seconds since the start of the attempt, or since its last checkpoint heard of."""
    return work_until(now, lost_since(state), weight(state.demand))


def lost_since(state: JobState) -> datetime | None:
    """Return since when its work would be lost, None if it has none to lose."""
    since = state.started_at
    if state.phase is not Phase.RUNNING or since is None:
        return None
    if state.progress is not None and state.progress.checkpointed_at is not None:
        since = max(since, state.progress.checkpointed_at)
    return since


def work_until(now: datetime, since: datetime | None, gpus: float) -> float:
    """Return the GPU seconds of so many GPUs since an instant."""
    return max(0.0, (now - since).total_seconds()) * gpus if since is not None else 0.0


def weight(demand: Demand) -> float:
    """Return the GPUs that a job's work counts for: parts of shared cards as parts; without any, as
    one."""
    milli = CARD * demand.gpus + demand.gpu_milli
    return milli / CARD if milli else 1.0


def lot(state: JobState) -> str:
    """Return a last key that is stable, and favours no user and no name."""
    return _lot(state.job, state.attempt)


@lru_cache(maxsize=65_536)
def _lot(job: str, attempt: int) -> str:
    return hashlib.blake2b(f"{job}/{attempt}".encode(), digest_size=8).hexdigest()
