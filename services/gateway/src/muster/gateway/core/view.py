"""The present as the log tells it: last state of every job, node, pool and item of spot stock.

A fold: deterministic, and told twice or late it changes nothing. Held in memory, thrown away at
will. Fed by `follow`; read by `reading` and the metrics.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from muster.domain.nodes import NodeState
from muster.domain.pools import (
    EpochTaken,
    PoolFact,
    PoolSummary,
    RoundDecided,
    SpotQuotaMeasured,
    StabilityMeasured,
)
from muster.domain.state import JobState
from muster.domain.stock import StockChanged, StockFact
from muster.domain.tenants import TenantFact, TenantView

JobName = tuple[str, str]
NodeName = tuple[str, str]


@dataclass(frozen=True, slots=True)
class SeenJob:
    """A job's last state and the sequence of the event that carried it."""

    state: JobState
    seq: int

    @property
    def name(self) -> JobName:
        """Tenant and job."""
        return self.state.tenant, self.state.job


@dataclass(frozen=True, slots=True)
class SeenNode:
    """A node's last state."""

    state: NodeState
    seq: int


@dataclass(frozen=True, slots=True)
class SeenPool:
    """What was last said about a pool; None = nothing yet."""

    pool: str
    epoch: EpochTaken | None = None
    decided: RoundDecided | None = None
    summary: PoolSummary | None = None
    stability: StabilityMeasured | None = None
    spot_quota: SpotQuotaMeasured | None = None


@dataclass(slots=True)
class View:
    """position: every event of the log up to here has been seen."""

    jobs: dict[JobName, SeenJob] = field(default_factory=dict)
    nodes: dict[NodeName, SeenNode] = field(default_factory=dict)
    pools: dict[str, SeenPool] = field(default_factory=dict)
    tenants: dict[str, TenantView] = field(default_factory=dict)
    stock: dict[str, StockChanged] = field(default_factory=dict)
    position: int = 0

    def see_job(self, state: JobState, seq: int) -> SeenJob | None:
        """Note a job's state; None when a newer one is known."""
        seen = SeenJob(state, seq)
        known = self.jobs.get(seen.name)
        if known is not None and known.seq >= seq:
            return None
        self.jobs[seen.name] = seen
        return seen

    def see_node(self, state: NodeState, seq: int) -> None:
        """Note a node's state."""
        name = (state.pool, state.node)
        known = self.nodes.get(name)
        if known is None or known.seq < seq:
            self.nodes[name] = SeenNode(state, seq)

    def see_pool(self, pool: str, fact: PoolFact) -> None:
        """Note what was said about a pool; facts come in the log's order."""
        known = self.pools.get(pool, SeenPool(pool))
        match fact:
            case EpochTaken():
                known = replace(known, epoch=fact)
            case RoundDecided():
                known = replace(known, decided=fact)
            case PoolSummary():
                known = replace(known, summary=fact)
            case StabilityMeasured():
                known = replace(known, stability=fact)
            case SpotQuotaMeasured():
                known = replace(known, spot_quota=fact)
        self.pools[pool] = known

    def see_stock(self, subject: str, fact: StockFact) -> None:
        """Note what was said about an item of spot stock; facts come in the log's order."""
        if isinstance(fact, StockChanged):
            self.stock[subject] = fact

    def see_tenant(self, tenant: str, fact: TenantFact) -> None:
        """Note what was said about a tenant; facts come in the log's order."""
        self.tenants[tenant] = self.tenants.get(tenant, TenantView()).after(fact)

    def forget_job(self, name: JobName, seq: int) -> None:
        """Drop a job that the archive answers for, unless something happened to it since."""
        known = self.jobs.get(name)
        if known is not None and known.seq == seq:
            del self.jobs[name]

    def clear(self) -> None:
        """Forget everything."""
        self.jobs.clear()
        self.nodes.clear()
        self.pools.clear()
        self.tenants.clear()
        self.stock.clear()
        self.position = 0

    def ended(self, *, archived: bool) -> Iterator[SeenJob]:
        """Yield the jobs that have ended for good and hold nothing."""
        for seen in self.jobs.values():
            state = seen.state
            if state.terminal and not state.held and state.archived is archived:
                yield seen
