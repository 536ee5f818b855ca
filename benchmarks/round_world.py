"""Pools for the benchmark of rounds: folds of events as a follower reads them, made from bytes.

Every state comes from `evolve`. Equal jobs are one event whose names and instants are replaced, so
that a hundred thousand of them are made in seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from muster.contracts.events import job_event, node_event, read_event
from muster.domain import facts as f
from muster.domain.demand import Demand, JobType, QueueLimits, ResourceClass, Role
from muster.domain.edges import Owner
from muster.domain.evolve import evolve
from muster.domain.nodes import NodeFact, NodeJoined, NodeShape, evolve_node
from muster.domain.state import JobState
from muster.log import Append, Recorded
from muster.log.memory import MemoryLog, Store
from muster.runtime.journal import Journal
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.verdicts import Plan
from muster.scheduler.cycle.batch import MAX_MESSAGES, Batch, build
from muster.scheduler.cycle.fold import Fold, PoolFold

POOL = "default"
START = datetime(2030, 1, 1, tzinfo=UTC)


@dataclass
class Hand:
    """A clock that stands still until it is moved."""

    elapsed: float = 0.0

    def now(self) -> datetime:
        """See Clock."""
        return START + timedelta(seconds=self.elapsed)

    def monotonic(self) -> float:
        """See Clock."""
        return self.elapsed

    def on_server(self, instant: datetime) -> datetime:
        """See Clock."""
        return instant

    def of_server(self, instant: datetime) -> datetime:
        """See Clock."""
        return instant


def demand(
    workers: int,
    gpus: int,
    model: str | None = None,
    kind: ResourceClass = ResourceClass.ON_DEMAND,
    priority: int = 50,
    **more: Any,
) -> Demand:
    """Make a demand of equal workers."""
    role = Role(
        name="worker",
        replicas=workers,
        gpus=gpus,
        gpu_model=model,
        cpus=max(1, gpus) * 8,
        memory_mib=max(1, gpus) * 65_536,
    )
    idle = kind is ResourceClass.IDLE
    return Demand(
        type=JobType.PYTORCH,
        resource_class=kind,
        roles=(role,),
        priority=None if idle else priority,
        queue=QueueLimits(max_queue_hours=12, max_requeues=3),
        **more,
    )


@dataclass
class World:
    """One pool and its scheduler's fold. Its log is only a count."""

    clock: Hand = field(default_factory=Hand)
    fold: Fold = field(default_factory=Fold)
    seq: int = 0

    def __post_init__(self) -> None:
        self._ids = count(1)
        log = MemoryLog(Store(self.clock.now))
        self._journal = Journal(Owner.SCHEDULER, log, self.clock, self.new_id)
        self._templates: dict[Demand, tuple[bytes, str]] = {}

    def new_id(self) -> str:
        """Return an identifier of the usual length."""
        return f"01JZ{next(self._ids):022d}"

    @property
    def pool(self) -> PoolFold:
        """Return the fold of the pool."""
        return self.fold.pools[POOL]

    # --- what happens --------------------------------------------------------------------------

    def _take(self, subject: str, body: bytes, at: datetime) -> Recorded:
        self.seq += 1
        item = Recorded(read_event(subject, body), self.seq, at, self.seq)
        self.fold.take(item)
        return item

    def about_node(self, node: str, fact: NodeFact, owner: Owner = Owner.EXECUTOR) -> None:
        """Let something happen to a node."""
        known = self.fold.pools[POOL].nodes.get(node) if POOL in self.fold.pools else None
        after = evolve_node(known.node if known else None, fact, self.clock.now(), owner)
        event = node_event(
            after, fact, event_id=self.new_id(), source=f"muster/{owner}", at=self.clock.now()
        )
        self._take(event.subject, event.to_bytes(), self.clock.now())

    def join(self, node: str, gpus: int, model: str, cpus: int = 128) -> None:
        """Let a node join."""
        shape = NodeShape(gpus=gpus, gpu_model=model, cpus=cpus, memory_mib=gpus * 98_304)
        self.about_node(node, NodeJoined(pool=POOL, node=node, cluster="c", shape=shape))

    def _state(self, wanted: Demand, job: str, tenant: str, at: datetime) -> JobState:
        submitted = JobState(
            tenant=tenant,
            job=job,
            user="user-of-" + tenant,
            name="train",
            pool=POOL,
            demand=wanted,
            submitted_at=at,
            since=at,
        )
        return evolve(submitted, f.Admitted(), at)

    def enqueue(self, wanted: Demand, entered: float, tenant: str = "acme") -> str:
        """Let a job enter the queue so many seconds from the start."""
        job, at = self.new_id(), START + timedelta(seconds=entered)
        state = self._state(wanted, job, tenant, at)
        event = job_event(
            state, f.Admitted(), event_id=self.new_id(), source="muster/admission", at=at
        )
        self._take(event.subject, event.to_bytes(), at)
        return job

    def run(
        self,
        wanted: Demand,
        placement: Mapping[str, Iterable[str]],
        since: float,
        tenant: str = "acme",
    ) -> str:
        """Let a job run on nodes since so many seconds from the start."""
        job, at = self.new_id(), START + timedelta(seconds=since)
        state = self._state(wanted, job, tenant, at)
        where = {node: tuple(workers) for node, workers in placement.items()}
        fact = f.Started(attempt=1)
        for step in (f.Scheduled(placement=where), f.Launching(attempt=1), fact):
            state = evolve(state, step, at)
        event = job_event(state, fact, event_id=self.new_id(), source="muster/executor", at=at)
        self._take(event.subject, event.to_bytes(), at)
        return job

    def tidy(self) -> None:
        """Pack the events of the queue, as every snapshot does."""
        self.pool.shelf.tidy()

    @property
    def lines(self) -> int:
        """Return in how many lines the queued jobs stand."""
        return len(self.pool.register.book().lines)

    # --- a round -------------------------------------------------------------------------------

    def round(self, policy: Policy) -> tuple[Plan, Batch | None]:
        """Snapshot, plan, batch: what a leader does in one turn, but for the writing."""
        snapshot = self.pool.snapshot(self.clock.now(), self.seq, None, frozenset())
        made = plan(snapshot, policy)
        return made, build(made, self.pool, self._journal, 1, MAX_MESSAGES)

    def carry_out(self, appends: Iterable[Append]) -> None:
        """Let the events of a batch be read from the log."""
        for append in appends:
            self._take(append.event.subject, append.event.to_bytes(), append.event.time)
