"""Those who may be told to leave, as a search for victims sees them: each in one small piece.

A search asks about every one of them, and there may be tens of thousands: what it asks is gathered
once, when the job changes, and not from the dozens of values of a state each time. Kept by
`Holders`; nothing here depends on the instant.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import NamedTuple

from muster.domain.demand import ResourceClass
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.scheduler.core.jobs import JobKey, Listed
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rank import Level, level, lost_since, lot, shield, weight
from muster.scheduler.core.snapshot import is_hold

JITTER = 4
"""A cool-down is longer by up to a fourth of it, by lot: so that not all are fair game at once."""


class Stayer(NamedTuple):
    """See the module. runs: it has processes, it is not on paper only.

    since, weight: what its work is counted from, and by how many GPUs; None: it loses none.
    spared_until: it may not be sent off before. shield: see `rank`, None where it keeps nobody off.
    """

    key: JobKey
    job: Listed
    nodes: tuple[str, ...]
    level: Level
    guarantee: bool
    runs: bool
    since: datetime | None
    weight: float
    lot: str
    spared_until: datetime | None
    shield: tuple[float, datetime] | None


def stayer_of(job: Listed, policy: Policy) -> Stayer:
    """Gather what is asked of a job that holds something."""
    state = job.state
    kept = shield(job, policy)
    return Stayer(
        key=job.key,
        job=job,
        nodes=nodes_of(state),
        level=level(state),
        guarantee=state.demand.guarantee,
        runs=not is_hold(state),
        since=lost_since(state),
        weight=weight(state.demand),
        lot=lot(state),
        spared_until=protected_until(state, policy),
        shield=kept if kept and kept[0] > 0 else None,
    )


def nodes_of(state: JobState) -> tuple[str, ...]:
    """Return the nodes on which a job holds something."""
    return tuple(sorted(state.held))


def protected_until(victim: JobState, policy: Policy) -> datetime | None:
    """Return until when a running job is spared, None if it is not."""
    if victim.phase is not Phase.RUNNING or victim.started_at is None:
        return None
    if victim.demand.resource_class is ResourceClass.IDLE:
        return None
    seconds = float(policy.min_run_s)
    if victim.ledgers.requeues > 0:
        seconds = max(seconds, policy.cool_down_s + _jitter(victim, policy.cool_down_s))
    return victim.started_at + timedelta(seconds=seconds) if seconds else victim.started_at


def _jitter(victim: JobState, seconds: int) -> float:
    digest = hashlib.blake2b(f"{victim.job}/{victim.attempt}".encode(), digest_size=2).digest()
    return seconds * int.from_bytes(digest) / (65536 * JITTER)
