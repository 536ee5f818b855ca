"""A log in memory with lives on it, and a gateway over both, for this folder's tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import sqlalchemy as sa

from muster.bus import Trigger
from muster.bus.topology import Consumer
from muster.contracts.requests import Answer
from muster.domain import facts as f
from muster.domain import nodes as n
from muster.domain.demand import ResourceClass
from muster.domain.edges import Owner
from muster.domain.errors import Permanent
from muster.domain.pools import RoundDecided
from muster.domain.spec import AutoQueueSpec, JobSpec, ResourceSpec
from muster.domain.state import JobState
from muster.gateway.follow import Follow
from muster.gateway.handlers import Handlers
from muster.gateway.hub import Hub
from muster.gateway.readiness import Readiness
from muster.gateway.reading import Reading
from muster.gateway.service import MIGRATIONS
from muster.gateway.settings import GatewaySettings
from muster.log import Basis, Recorded
from muster.log.memory import Hooks, MemoryLog, Store
from muster.runtime.database import Database, migrate, open_engine
from muster.runtime.journal import Journal

START = datetime(2031, 5, 1, 8, 0, tzinfo=UTC)
TENANT = "acme"


@dataclass
class HandClock:
    """A clock that goes on when it is told to."""

    instant: datetime = START
    ticks: float = 0.0

    def now(self) -> datetime:
        return self.instant

    def monotonic(self) -> float:
        return self.ticks

    def pass_by(self, **span: float) -> None:
        step = timedelta(**span)
        self.instant += step
        self.ticks += step.total_seconds()


@dataclass
class QuietBus:
    """A bus that nobody consumes from. behind: what `waiting` says; None = no such consumer."""

    behind: int | None = 0

    async def consume(self, subscription: object) -> None:
        raise TypeError("not here")

    async def answer(self, answer: Answer) -> None:
        raise TypeError("the gateway answers nothing")

    async def broadcast(self, subject: str, body: bytes) -> None:
        raise TypeError("the gateway broadcasts nothing")

    async def waiting(self, consumer: Consumer) -> int:
        if self.behind is None:
            raise Permanent(f"there is no consumer {consumer.durable}")
        return self.behind


@dataclass
class World:
    """The log and everyone who writes to it."""

    clock: HandClock = field(default_factory=HandClock)
    hooks: Hooks | None = None

    def __post_init__(self) -> None:
        self.store = Store(self.clock.now)
        self.log = MemoryLog(self.store, self.hooks)
        numbers = count(1)
        self._ids = lambda: f"id{next(numbers):06d}"

    def pen(self, owner: Owner) -> Journal:
        return Journal(owner, self.log, self.clock, self._ids)

    async def say(self, job: str, owner: Owner, fact: f.Fact, *, tenant: str = TENANT) -> Recorded:
        """Append a fact to a job's last one."""
        pen = self.pen(owner)
        before = await pen.job(tenant, job)
        self.clock.pass_by(seconds=1)
        return await pen.record(pen.about_job(before, fact))

    async def submitted(
        self,
        job: str,
        *,
        tenant: str = TENANT,
        user: str = "ann",
        pool: str = "default",
        labels: dict[str, str] | None = None,
        gpus: int = 8,
    ) -> Recorded:
        """A job that was just told of."""
        spec = JobSpec(
            name="train",
            image="registry/train:1",
            command=("python", "train.py"),
            resource=ResourceSpec(
                type=ResourceClass.SPOT, pool=pool, replicas=2, gpus_per_replica=gpus
            ),
            auto_queue=AutoQueueSpec(enabled=True, max_queue_hours=2, max_requeues=1),
            labels=labels or {},
        )
        fact = f.Submitted(
            tenant=tenant,
            job=job,
            user=user,
            pool=pool,
            request=f"request-{job}",
            digest="0" * 64,
            spec=spec,
            demand=spec.demand(),
        )
        return await self.say(job, Owner.ADMISSION, fact, tenant=tenant)

    async def queued(self, job: str, **how: object) -> Recorded:
        """A job that waits."""
        first = await self.submitted(job, **how)  # type: ignore[arg-type]
        return await self.say(job, Owner.ADMISSION, f.Admitted(), tenant=first.job.tenant)

    async def running(self, job: str, *nodes: str, **how: object) -> Recorded:
        """A job on its nodes."""
        first = await self.queued(job, **how)
        tenant = first.job.tenant
        at = nodes or ("n1", "n2")
        placement: dict[str, tuple[str, ...]] = {}
        for index, node in enumerate(at):
            placement[node] = (*placement.get(node, ()), f"worker-{index}")
        for owner, fact in (
            (Owner.SCHEDULER, f.Scheduled(placement=placement)),
            (Owner.EXECUTOR, f.Launching(attempt=1)),
            (Owner.EXECUTOR, f.Started(attempt=1)),
        ):
            await self.say(job, owner, fact, tenant=tenant)
        return await self.pen(Owner.EXECUTOR).job(tenant, job) or first

    async def ended(self, job: str, **how: object) -> Recorded:
        """A job whose training ended well and that holds nothing: 7 events."""
        first = await self.running(job, **how)
        tenant = first.job.tenant
        await self.say(job, Owner.EXECUTOR, f.Succeeded(attempt=1), tenant=tenant)
        return await self.say(job, Owner.EXECUTOR, f.Released(attempt=1), tenant=tenant)

    async def relabelled(self, job: str, labels: dict[str, str], by: str = "ann") -> Recorded:
        """Other labels, by request."""
        before = await self.pen(Owner.ADMISSION).job(TENANT, job)
        assert before is not None
        fact = f.Relabelled(
            by=by, request=f"relabel-{before.seq}", before=before.job.labels, labels=labels
        )
        return await self.say(job, Owner.ADMISSION, fact)

    async def joined(self, node: str, gpus: int = 8, pool: str = "default") -> Recorded:
        """A node that is there."""
        shape = n.NodeShape(gpus=gpus, gpu_model="A100", cpus=64, memory_mib=500_000, spot=True)
        fact = n.NodeJoined(pool=pool, node=node, cluster="c1", shape=shape)
        return await self._node(Owner.EXECUTOR, node, pool, fact)

    async def cordoned(self, node: str, pool: str = "default") -> Recorded:
        """A node that takes no new work."""
        return await self._node(Owner.ADMISSION, node, pool, n.NodeCordoned(by="ops"))

    async def left(self, node: str, pool: str = "default") -> Recorded:
        """A node that is no longer there."""
        return await self._node(Owner.EXECUTOR, node, pool, n.NodeLeft())

    async def _node(self, owner: Owner, node: str, pool: str, fact: n.NodeFact) -> Recorded:
        written = await self.pen(owner).advance_node(pool, node, lambda state, now: fact)
        assert written is not None
        return written

    async def decided(self, pool: str = "default", number: int = 1) -> Recorded:
        """A placement round."""
        from muster.contracts import subjects

        key = subjects.pool_key(pool, "decided")
        last = await self.log.last(key)
        pen = self.pen(Owner.SCHEDULER)
        fact = RoundDecided(
            epoch=1, round=number, upto=await self.log.end(), at=self.clock.now(), waiting=1
        )
        return await pen.record(pen.about_pool(pool, fact, Basis(key, last.seq if last else 0)))

    def triggers(self) -> Iterator[Trigger]:
        """Everything in the log, as the archive's consumer gets it."""
        for entry in self.store.entries:
            if entry.subject:
                yield Trigger(entry.subject, entry.seq, entry.at, 1, entry.body, event=entry.event)


class Gateway:
    """The gateway's parts over a world, and the turns of its loops as methods."""

    def __init__(self, world: World, database: Database, settings: GatewaySettings) -> None:
        self.world, self.database, self.settings = world, database, settings
        self.hub = Hub(settings.stream_replay)
        self.bus = QuietBus()
        self.follow = Follow(world.log, self.hub, wait=0.0)
        self.view = self.follow.view
        self.handlers = Handlers(world.pen(Owner.GATEWAY), database, self.view, settings)
        self.reading = Reading(world.log, database, self.view)
        self.readiness = Readiness(
            world.log, self.bus, database, self.follow, world.clock, settings.lag_s
        )
        self._fed = 0

    async def feed(self) -> None:
        """Deliver what the archive's consumer has not delivered yet, in order, to its end."""
        while new := [t for t in self.world.triggers() if t.seq > self._fed]:
            for trigger in new:
                await self.handlers.on_event(trigger)
                self._fed = trigger.seq

    async def settle(self) -> None:
        """Feed the archive and let the view catch up and hand over."""
        await self.feed()
        await self.follow.step()
        await self.handlers.hand_over()


@contextmanager
def opened(url: str) -> Iterator[Database]:
    """A migrated archive, in the caller's thread."""
    engine = open_engine(url)
    migrate(engine, MIGRATIONS, Owner.GATEWAY.value)
    database = Database(engine, threaded=False)
    try:
        yield database
    finally:
        database.close()


def sqlite_url(folder: Path) -> str:
    return f"sqlite:///{folder / 'gateway.db'}"


def rows(database: Database, table: sa.Table) -> list[sa.RowMapping]:
    """Everything of a table."""
    with database.engine.connect() as connection:
        return list(connection.execute(sa.select(table)).mappings())


def state_of(recorded: Recorded) -> JobState:
    return recorded.job
