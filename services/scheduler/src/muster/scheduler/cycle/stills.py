"""A snapshot as a file: what a plan was made from, to be asked again elsewhere and at any time.

The same questions get the same answers as on the day it was taken, by the same code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import BaseModel, ValidationError

from muster.domain.errors import Permanent
from muster.domain.model import Frozen, Instant
from muster.domain.nodes import NodeState
from muster.domain.pools import SpotQuotaMeasured, StabilityMeasured
from muster.domain.state import JobState
from muster.domain.stock import StockChanged
from muster.domain.tenants import TenantView
from muster.scheduler.core.snapshot import Eviction, JobKey, LastRound, Listed, Snapshot
from muster.scheduler.cycle.checkpoint import unpacked
from muster.scheduler.cycle.fold import PoolFold

FORMAT: Final = 1
KIND: Final = "muster-snapshot"


class NoSnapshot(Permanent):
    """The text is no snapshot, or one of another format."""


class _Head(BaseModel):
    kind: Literal["muster-snapshot"]
    format: int


class File(Frozen):
    """Everything of a snapshot; names as there. runtimes: as packed there."""

    kind: Literal["muster-snapshot"] = KIND
    format: Literal[1] = FORMAT
    pool: str
    now: Instant
    upto: int
    nodes: tuple[NodeState, ...]
    jobs: tuple[Listed, ...]
    last_round: LastRound | None = None
    cursor: JobKey | None = None
    set_aside: tuple[JobKey, ...] = ()
    runtimes: tuple[tuple[tuple[str, ...], tuple[tuple[int, int], ...]], ...] = ()
    tenants: Mapping[str, TenantView] = {}
    evictions: tuple[Eviction, ...] = ()
    stock: tuple[StockChanged, ...] = ()
    stability: StabilityMeasured | None = None
    spot_quota: SpotQuotaMeasured | None = None


def dump(snapshot: Snapshot) -> str:
    """Return the file of a snapshot."""
    found = File(
        pool=snapshot.pool,
        now=snapshot.now,
        upto=snapshot.upto,
        nodes=snapshot.nodes,
        jobs=tuple(sorted(snapshot.book, key=lambda job: job.key)),
        last_round=snapshot.last_round,
        cursor=snapshot.cursor,
        set_aside=tuple(sorted(snapshot.set_aside)),
        runtimes=tuple(snapshot.runtimes.packed()),
        tenants=snapshot.tenants,
        evictions=snapshot.evictions,
        stock=snapshot.stock,
        stability=snapshot.stability,
        spot_quota=snapshot.spot_quota,
    )
    return found.model_dump_json()


def load(text: str) -> Snapshot:
    """Read the file of a snapshot. Raises NoSnapshot."""
    try:
        head = _Head.model_validate_json(text)
        if head.format != FORMAT:
            raise NoSnapshot(f"it has format {head.format}; this version reads {FORMAT}")
        found = File.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise NoSnapshot(f"it is no snapshot of this version: {place} {first['msg']}") from error
    return Snapshot(
        pool=found.pool,
        now=found.now,
        upto=found.upto,
        nodes=found.nodes,
        jobs=found.jobs,
        last_round=found.last_round,
        cursor=found.cursor,
        set_aside=frozenset(found.set_aside),
        runtimes=unpacked(found.runtimes),
        tenants=dict(found.tenants),
        evictions=found.evictions,
        stock=found.stock,
        stability=found.stability,
        spot_quota=found.spot_quota,
    )


class Still:
    """A pool that stands still, as the answering side looks at one."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def pool(self, name: str) -> PoolFold:
        """See Source: epoch and round are not kept."""
        return PoolFold(name)

    def frozen(self, pool: PoolFold) -> Snapshot:
        """See Source."""
        return self._snapshot

    async def last(self, tenant: str, job: str, at_least: int) -> JobState | None:
        """See Source: jobs that neither queue nor hold anything are not kept."""
        return None

    async def ready(self) -> None:
        """See Source."""
