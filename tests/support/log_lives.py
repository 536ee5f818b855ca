"""Lives of jobs and nodes, told to a log as the services tell them: what a log under test holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from muster.contracts import subjects
from muster.domain import facts as f
from muster.domain import nodes as n
from muster.domain.auto_queue import AutoQueueSpec
from muster.domain.demand import ResourceClass
from muster.domain.edges import Owner
from muster.domain.pools import PoolFact, PoolSummary, RoundDecided
from muster.domain.spec import JobSpec, MetricsSpec, ResourceSpec
from muster.domain.stock import StockChanged, item_name
from muster.domain.tenants import BlocklistSet, SpotSet
from muster.log import Basis, EventLog, Recorded
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

    def on_server(self, instant: datetime) -> datetime:
        return instant

    def of_server(self, instant: datetime) -> datetime:
        return instant

    def pass_by(self, **span: float) -> None:
        step = timedelta(**span)
        self.instant += step
        self.ticks += step.total_seconds()


class Lives:
    """Everyone who writes to a log. Time goes on by a second with each fact about a job."""

    def __init__(self, log: EventLog, clock: HandClock | None = None) -> None:
        self.log, self.clock = log, clock or HandClock()
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
        resource: ResourceSpec | None = None,
        metrics: MetricsSpec | None = None,
    ) -> Recorded:
        """A job that was just told of."""
        spec = JobSpec(
            name="train",
            image="registry/train:1",
            command=("python", "train.py"),
            resource=resource
            or ResourceSpec(type=ResourceClass.SPOT, pool=pool, replicas=2, gpus_per_replica=gpus),
            auto_queue=AutoQueueSpec(enabled=True, max_queue_hours=2, max_requeues=1),
            labels=labels or {},
            metrics=metrics,
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

    async def occupied(self, node: str, gpus: int, pool: str = "default") -> Recorded:
        """A node of which others take something."""
        fact = n.NodeOccupied(foreign=n.ForeignUse(gpus=gpus) if gpus else None)
        return await self._node(Owner.EXECUTOR, node, pool, fact)

    async def blocked(self, *nodes: str, tenant: str = TENANT, user: str | None = None) -> None:
        """A block list of a tenant, or of one of its users."""
        pools = {"default": nodes}
        fact = BlocklistSet(
            by="ops",
            request="r",
            nodes={} if user else pools,
            users={user: pools} if user else {},
        )
        key, pen = subjects.tenant_key(tenant, fact.event), self.pen(Owner.ADMISSION)
        await pen.record(pen.about_tenant(tenant, await self.log.last(key), fact))

    async def denied_spot(self, tenant: str = TENANT) -> None:
        """A tenant that may use no spot capacity."""
        fact = SpotSet(by="ops", request="r", enabled=False)
        key, pen = subjects.tenant_key(tenant, fact.event), self.pen(Owner.ADMISSION)
        await pen.record(pen.about_tenant(tenant, await self.log.last(key), fact))

    async def stocked(self, model: str, gpus: int | None, **more: Any) -> None:
        """What is offered of a GPU model in the zone of the nodes here."""
        fact = StockChanged(pool="default", zone="default", gpu_model=model, gpus=gpus, **more)
        pen, item = self.pen(Owner.ADMISSION), item_name(fact.zone, model)
        await pen.advance_stock(fact.pool, item, lambda last, now: fact)

    async def sharing(self, job: str, node: str, milli: int, card: int) -> Recorded:
        """A job of one worker that shares a card and was just placed."""
        resource = ResourceSpec(type=ResourceClass.SPOT, gpu_milli_per_replica=milli)
        await self.submitted(job, resource=resource)
        await self.say(job, Owner.ADMISSION, f.Admitted())
        fact = f.Scheduled(placement={node: ("worker-0",)}, cards={"worker-0": card})
        return await self.say(job, Owner.SCHEDULER, fact)

    async def lost(self, node: str, pool: str = "default") -> Recorded:
        """A node that nothing is heard of."""
        return await self._node(Owner.EXECUTOR, node, pool, n.NodeLost())

    async def left(self, node: str, pool: str = "default") -> Recorded:
        """A node that is no longer there."""
        return await self._node(Owner.EXECUTOR, node, pool, n.NodeLeft())

    async def _node(self, owner: Owner, node: str, pool: str, fact: n.NodeFact) -> Recorded:
        written = await self.pen(owner).advance_node(pool, node, lambda state, now: fact)
        assert written is not None
        return written

    async def decided(self, pool: str = "default", number: int = 1) -> Recorded:
        """A placement round."""
        fact = RoundDecided(
            epoch=1, round=number, upto=await self.log.end(), at=self.clock.now(), waiting=1
        )
        return await self.told(fact, pool)

    async def told(self, fact: PoolFact, pool: str = "default") -> Recorded:
        """What the scheduler says of a pool."""
        key = subjects.pool_key(pool, fact.event)
        last = await self.log.last(key)
        pen = self.pen(Owner.SCHEDULER)
        return await pen.record(pen.about_pool(pool, fact, Basis(key, last.seq if last else 0)))

    async def summed_up(self, pool: str = "default") -> Recorded:
        """A pool at a glance."""
        return await self.told(PoolSummary(nodes=2, gpus=16, gpus_free=4, waiting=1), pool)
