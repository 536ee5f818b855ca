"""The log of a replay: facts go in through the services' own pens, and everybody hears of them.

Every state is made by `evolve`, checked against the table of edges with the writer's name on it,
and read by the scheduler's own fold. Nothing is kept of a job that has ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count

from muster.cli.simulation.replay.intake import POOL
from muster.contracts.subjects import pool_key
from muster.domain.edges import Owner
from muster.domain.facts import Fact
from muster.domain.nodes import NodeFact, NodeState
from muster.domain.pools import PoolFact
from muster.domain.state import JobState
from muster.log import Append, Recorded, nothing
from muster.log.memory import MemoryLog, Store
from muster.runtime.journal import Journal
from muster.scheduler.core.snapshot import JobKey, key_of
from muster.scheduler.cycle.fold import PoolFold
from muster.scheduler.cycle.kept import Shelf
from muster.testing.virtual_time import START


@dataclass(slots=True)
class VirtualClock:
    """Time as the engine sets it."""

    at: datetime = START

    def now(self) -> datetime:
        """See Clock."""
        return self.at

    def monotonic(self) -> float:
        """See Clock."""
        return (self.at - START).total_seconds()

    def on_server(self, instant: datetime) -> datetime:
        """See Clock."""
        return instant

    def of_server(self, instant: datetime) -> datetime:
        """See Clock."""
        return instant


@dataclass(frozen=True, slots=True)
class Change:
    """One fact about a job, with the states before and after it."""

    before: JobState | None
    after: JobState
    fact: Fact
    at: datetime
    recorded: Recorded


@dataclass(frozen=True, slots=True)
class NodeChange:
    """One fact about a node."""

    before: NodeState | None
    after: NodeState
    fact: NodeFact
    at: datetime


class AllAtHand(Shelf):
    """Keeps every waiting job as it is: a replay has the room, and asks for all of them often."""

    def tidy(self) -> None:
        """Pack nothing."""


@dataclass(slots=True)
class Book:
    """jobs: last fact of each job that is not over. events: how many facts there were."""

    clock: VirtualClock = field(default_factory=VirtualClock)
    fold: PoolFold = field(default_factory=lambda: PoolFold(POOL, shelf=AllAtHand()))
    jobs: dict[JobKey, Recorded] = field(default_factory=dict)
    hear_job: list[Callable[[Change], None]] = field(default_factory=list)
    hear_node: list[Callable[[NodeChange], None]] = field(default_factory=list)
    events: int = 0
    _pens: dict[Owner, Journal] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ids = count(1)
        log = MemoryLog(Store(self.clock.now))  # the pens build what is written; nothing is stored
        for owner in Owner:
            self._pens[owner] = Journal(owner, log, self.clock, lambda: f"{next(ids):032x}")

    def pen(self, owner: Owner) -> Journal:
        """Return a service's pen."""
        return self._pens[owner]

    def state(self, key: JobKey) -> JobState | None:
        """Return a job as it stands, None when it is over."""
        last = self.jobs.get(key)
        return last.job if last else None

    def open(self, fact: Fact) -> JobState:
        """Write the first fact of a job."""
        return self.take(self._pens[Owner.ADMISSION].about_job(None, fact))

    def write(self, owner: Owner, key: JobKey, fact: Fact) -> JobState:
        """Write a fact about a job. Raises IllegalEdge when the owner may not."""
        return self.take(self._pens[owner].about_job(self.jobs[key], fact))

    def take(self, append: Append) -> JobState:
        """Enter what a pen has made."""
        recorded = self._recorded(append)
        state = recorded.job
        key = key_of(state)
        before = self.jobs.pop(key, None)
        if not state.terminal or state.held:
            self.jobs[key] = recorded
        self.fold.note_job(recorded)
        change = Change(
            before.job if before else None,
            state,
            recorded.event.data.detail,
            recorded.at,
            recorded,
        )
        for hear in self.hear_job:
            hear(change)
        return state

    def write_node(self, owner: Owner, node: str, fact: NodeFact) -> NodeState:
        """Write a fact about a node."""
        before = self.fold.nodes.get(node)
        recorded = self._recorded(self._pens[owner].about_node(before, fact))
        self.fold.note_node(recorded)
        change = NodeChange(before.node if before else None, recorded.node, fact, recorded.at)
        for hear in self.hear_node:
            hear(change)
        return recorded.node

    def say(self, fact: PoolFact) -> None:
        """Enter what the scheduler says of the pool: the record of a round, for one."""
        pen = self._pens[Owner.SCHEDULER]
        basis = nothing(pool_key(POOL, fact.event))
        self.fold.note_fact(self._recorded(pen.about_pool(POOL, fact, basis)))

    def _recorded(self, append: Append) -> Recorded:
        self.events += 1
        return Recorded(append.event, self.events, append.event.time, self.events)
