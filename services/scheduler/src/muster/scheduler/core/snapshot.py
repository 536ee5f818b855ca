"""What a round looks at: one pool, frozen at one sequence of the log and one instant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from muster.domain.causes import EvictionCause
from muster.domain.demand import ResourceClass
from muster.domain.nodes import NodeState
from muster.domain.phases import Phase
from muster.domain.pools import SpotQuotaMeasured, StabilityMeasured
from muster.domain.state import DeadlineKind, JobState
from muster.domain.stock import StockChanged
from muster.domain.tenants import TenantView, spot_is_for
from muster.scheduler.core.book import Book
from muster.scheduler.core.jobs import JobKey, Listed, Waiter, key_of
from muster.scheduler.core.runtimes import UNTAUGHT, Runtimes

if TYPE_CHECKING:
    from muster.scheduler.core.memory import Memory

__all__ = [
    "Book",
    "Eviction",
    "JobKey",
    "LastRound",
    "Listed",
    "Snapshot",
    "Waiter",
    "is_hold",
    "key_of",
]


@dataclass(frozen=True, slots=True)
class LastRound:
    """The last recorded round: the instant it was for, and what it knew of the log."""

    at: datetime
    upto: int


@dataclass(frozen=True, slots=True)
class Eviction:
    """A job was told to leave for another one. by: the id of the job that benefits.

    void: somebody has changed the order of the two since, and it says nothing of it any more.
    spot_models: of a spot job, the GPU models that it had on ordinary nodes.
    """

    at: datetime
    victim: JobKey
    by: str
    cause: EvictionCause
    void: bool = False
    spot_models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """upto: the last sequence known. jobs: a book, or any jobs to make one of; read them from
    `book`. cursor: the first in line where a sweep that was cut goes on.

    runtimes: how long jobs ran that have succeeded.
    memory: what rounds on snapshots like this one remember, if there were some.
    set_aside: jobs about which a decision could not be written: counted, and left alone.
    tenants: what is recorded of their shares and block lists. evictions: for the sake of others,
    in this pool, the newest last; how far back, the fold decides.
    stability: what was told last of how long idle jobs keep their places.
    spot_quota: how much spot jobs may hold on ordinary nodes, as it was measured last.
    """

    pool: str
    now: datetime
    upto: int
    nodes: tuple[NodeState, ...]
    jobs: Iterable[Listed]
    last_round: LastRound | None = None
    cursor: JobKey | None = None
    set_aside: frozenset[JobKey] = frozenset()
    runtimes: Runtimes = UNTAUGHT
    tenants: Mapping[str, TenantView] = field(default_factory=dict)
    evictions: tuple[Eviction, ...] = ()
    stock: tuple[StockChanged, ...] = ()
    stability: StabilityMeasured | None = None
    spot_quota: SpotQuotaMeasured | None = None

    memory: Memory | None = field(default=None, compare=False, repr=False)
    book: Book = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Make the book."""
        book = self.jobs if isinstance(self.jobs, Book) else Book.of(self.jobs, self.tenants)
        object.__setattr__(self, "book", book)
        object.__setattr__(self, "jobs", book)

    @property
    def queued(self) -> Iterator[Listed]:
        """Yield the jobs that wait for a placement: reads the whole queue, in no order."""
        return (waiter.read() for waiter in self.book.waiters())

    @property
    def holding(self) -> Iterator[Listed]:
        """Yield the jobs that hold something, in whatever phase."""
        return iter(self.book.holding.values())

    def blocked(self, state: JobState) -> frozenset[str]:
        """Return the nodes that block lists keep a job off, or that are spot and not for it."""
        listed, spot = self.listed(state), self._not_for(state)
        return listed | spot if spot else listed

    def listed(self, state: JobState) -> frozenset[str]:
        """Return the nodes that block lists keep a job off."""
        view = self.tenants.get(state.tenant)
        return view.blocked(self.pool, state.user) if view else frozenset()

    def _not_for(self, state: JobState) -> frozenset[str]:
        """Return the spot nodes, for an idle job whose tenant may use none."""
        idle = state.demand.resource_class is ResourceClass.IDLE
        if not idle or spot_is_for(self.tenants, state.tenant, self.pool):
            return frozenset()
        return frozenset(node.node for node in self.nodes if node.shape.spot)

    def denied_spot(self, state: JobState) -> bool:
        """Tell whether a job asks for spot capacity that its tenant may not use."""
        spot = state.demand.resource_class is ResourceClass.SPOT
        return spot and not spot_is_for(self.tenants, state.tenant, self.pool)

    def job(self, key: JobKey) -> Listed | None:
        """Return one job."""
        held = self.book.holding.get(key)
        waiter = None if held else self.book.find(key)
        return waiter.read() if waiter else held


def is_hold(state: JobState) -> bool:
    """Tell whether the job has nodes on paper only: placed, nothing of this stay was launched.

    A restart in place is no hold: the processes of its last attempt may still be there.
    """
    return (
        state.phase is Phase.STARTING
        and not state.launched
        and state.due(DeadlineKind.PLAN) is not None
    )
