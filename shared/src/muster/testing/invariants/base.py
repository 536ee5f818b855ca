"""What an invariant is: it hears every change once, in the log's order, and raises Violation.

A `Fold` reads the log of a world incrementally and tells its invariants; each keeps only what its
own question needs. None asks a service what it thinks: the log and the cluster's truth suffice.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar

from muster.contracts import subjects
from muster.contracts.events import Event
from muster.domain.facts import Fact
from muster.domain.nodes import NodeCondition, NodeFact, NodeState
from muster.domain.pools import EpochTaken, PoolFact, RoundDecided
from muster.domain.shelf import Place
from muster.domain.state import JobState
from muster.domain.stock import StockChanged
from muster.domain.tenants import TenantView
from muster.log.memory import StoredEntry
from muster.testing.cluster import SimCluster
from muster.testing.violation import Violation
from muster.testing.world import World


@dataclass(frozen=True, slots=True)
class JobChange:
    """One event of a job. seq: in the log; before: the state carried by the event before."""

    before: JobState | None
    after: JobState
    fact: Fact
    at: datetime
    seq: int
    event: Event


@dataclass(frozen=True, slots=True)
class NodeChange:
    """One event of a node."""

    before: NodeState | None
    after: NodeState
    fact: NodeFact
    seq: int


@dataclass(frozen=True, slots=True)
class PoolChange:
    """One event of a pool ("pool") or a cluster ("cluster")."""

    kind: str
    name: str
    fact: PoolFact
    seq: int


@dataclass(slots=True)
class Known:
    """What the log says so far. past: node -> (sequence, state) at each change."""

    cluster: SimCluster
    jobs: dict[str, JobState] = field(default_factory=dict)
    nodes: dict[str, NodeState] = field(default_factory=dict)
    past: dict[str, list[tuple[int, NodeState]]] = field(default_factory=lambda: defaultdict(list))
    rounds: dict[str, list[tuple[int, RoundDecided]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    epochs: dict[tuple[str, str], EpochTaken] = field(default_factory=dict)
    tenants: dict[str, list[tuple[int, TenantView]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    stock: dict[Place, list[tuple[int, StockChanged]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def stock_at(self, place: Place, upto: int) -> StockChanged | None:
        """Return what was said of an item of spot stock up to a sequence."""
        known = [offer for seq, offer in self.stock.get(place, ()) if seq <= upto]
        return known[-1] if known else None

    def tenant_at(self, tenant: str, upto: int) -> TenantView:
        """Return what was recorded of a tenant up to a sequence."""
        known = [view for seq, view in self.tenants.get(tenant, ()) if seq <= upto]
        return known[-1] if known else TenantView()

    def has_shares(self, pool: str) -> bool:
        """Tell whether any tenant has, or had, a share of a pool."""
        views = (view for past in self.tenants.values() for _, view in past)
        return any(view.shares_of(pool) for view in views)

    def node_in_round(self, node: str, pool: str) -> NodeState | None:
        """Return a node as the pool's last round knew it."""
        rounds = self.rounds[pool]
        upto = rounds[-1][1].upto if rounds else 0
        index = bisect_right(self.past[node], upto, key=_sequence)
        return self.past[node][index - 1][1] if index else None


def goes(node: NodeState | None) -> bool:
    """Tell whether a node is capacity that is taken back."""
    if node is None:
        return False
    if node.condition is NodeCondition.RECLAIMING:
        return True
    return node.shape.spot and node.condition is not NodeCondition.READY


def _sequence(entry: tuple[int, NodeState]) -> int:
    return entry[0]


class Invariant:
    """Base of all. number and text: as in docs/reference/invariants.md."""

    number: ClassVar[str]
    text: ClassVar[str]

    def __init__(self, known: Known) -> None:
        self.known = known

    def on_job(self, change: JobChange) -> None:
        """A job has changed; `known` does not have the change yet."""

    def on_node(self, change: NodeChange) -> None:
        """A node has changed; `known` does not have the change yet."""

    def on_pool(self, change: PoolChange) -> None:
        """A round was decided or an epoch taken; `known` does not have it yet."""

    def on_tenant(self, tenant: str) -> None:
        """Something was recorded of a tenant; `known` has it already."""

    def on_step(self, world: World) -> None:
        """Something has changed, in the log or in the cluster; `known` is up to date."""

    def at_end(self, world: World) -> None:
        """Faults have stopped, time has passed, and nothing more happens."""

    def broken(self, text: str, subject: str = "") -> Violation:
        """Return the error to raise."""
        return Violation(self.number, text, subject)


class Fold:
    """A watcher that reads the log once and tells every invariant."""

    def __init__(self, known: Known, invariants: Sequence[Invariant]) -> None:
        self.known, self.invariants = known, list(invariants)
        self._read = 0
        self._seen = -1

    def look(self, world: World) -> None:
        """Read what is new; ask every invariant when anything has changed."""
        entries = world.store.entries
        changed = self._read < len(entries) or self._seen != self.known.cluster.version
        while self._read < len(entries):
            entry = entries[self._read]
            self._read += 1
            if entry.event is not None:
                self._tell(entry, entry.event)
        if changed:
            self._seen = self.known.cluster.version
            for invariant in self.invariants:
                invariant.on_step(world)

    def finish(self, world: World) -> None:
        """Ask every invariant once more at the end of a run."""
        self.look(world)
        for invariant in self.invariants:
            invariant.at_end(world)

    def _tell(self, entry: StoredEntry, event: Event) -> None:
        address = subjects.parse(entry.subject)
        match address.kind:
            case "job":
                self._tell_job(entry, event)
            case "node":
                self._tell_node(entry, event)
            case "tenant":
                past = self.known.tenants[address.names[0]]
                before = past[-1][1] if past else TenantView()
                past.append((entry.seq, before.after(event.data.detail)))
                for invariant in self.invariants:
                    invariant.on_tenant(address.names[0])
            case "stock":
                offer: StockChanged = event.data.detail
                place = offer.pool, offer.zone, offer.gpu_model
                self.known.stock[place].append((entry.seq, offer))
            case "pool" | "cluster":
                self._tell_pool(address, entry, event)

    def _tell_job(self, entry: StoredEntry, event: Event) -> None:
        after: JobState = event.data.job
        before = self.known.jobs.get(after.job)
        change = JobChange(before, after, event.data.detail, event.time, entry.seq, event)
        for invariant in self.invariants:
            invariant.on_job(change)
        self.known.jobs[after.job] = after

    def _tell_node(self, entry: StoredEntry, event: Event) -> None:
        after: NodeState = event.data.node
        before = self.known.nodes.get(after.node)
        change = NodeChange(before, after, event.data.detail, entry.seq)
        for invariant in self.invariants:
            invariant.on_node(change)
        self.known.nodes[after.node] = after
        self.known.past[after.node].append((entry.seq, after))

    def _tell_pool(self, address: subjects.Address, entry: StoredEntry, event: Event) -> None:
        fact: PoolFact = event.data.detail
        change = PoolChange(address.kind, address.names[0], fact, entry.seq)
        for invariant in self.invariants:
            invariant.on_pool(change)
        if isinstance(fact, EpochTaken):
            self.known.epochs[address.kind, change.name] = fact
        elif isinstance(fact, RoundDecided):
            self.known.rounds[change.name].append((entry.seq, fact))
