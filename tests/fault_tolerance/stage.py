"""Two replicas of fault tolerance's word on nodes and incidents, over one log and one database."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from muster.contracts import subjects
from muster.domain import nodes as n
from muster.domain.edges import Owner
from muster.domain.incidents import Incident
from muster.domain.state import JobState
from muster.domain.tenants import QuotaSet, Share
from muster.fault_tolerance import store
from muster.fault_tolerance.core.attributed import Attributed, Machine
from muster.fault_tolerance.desk import Desk
from muster.fault_tolerance.lives import Lives
from muster.fault_tolerance.nodes import Nodes
from muster.fault_tolerance.service import MIGRATIONS
from muster.fault_tolerance.settings import FaultToleranceSettings
from muster.fault_tolerance.surroundings import Surroundings
from muster.fault_tolerance.troubles import Troubles
from muster.log import Recorded
from muster.log.memory import MemoryLog, Store
from muster.runtime.database import Database, migrate
from muster.runtime.journal import Journal
from muster.runtime.known import WITH_INCIDENTS, Known
from muster.testing.databases import in_memory
from tests.fault_tolerance.fleets import NOW

SHAPE = n.NodeShape(gpus=8, gpu_model="H100", cpus=64, memory_mib=1024)


class Replica:
    """One process of fault tolerance, as far as it watches nodes."""

    def __init__(self, stage: Stage, settings: FaultToleranceSettings) -> None:
        journal = stage.journal(Owner.FAULT_TOLERANCE)
        known = Known(stage.log, WITH_INCIDENTS)
        self.around = Surroundings(known, stage.database, stage, settings)
        self.troubles = Troubles(journal, stage.database, self.around, settings)
        self.nodes = Nodes(journal, stage.database, self.around, self.troubles, settings)
        self.desk = Desk(self.around, stage.database, stage)
        self.lives = Lives(known, stage.database)


class Stage:
    """A clock that stands until it is moved, a log, a database, and two replicas."""

    def __init__(self, **settings: Any) -> None:
        self.at = NOW
        self.count = 0
        self.log = MemoryLog(Store(self.now))
        engine = in_memory()
        migrate(engine, MIGRATIONS, "fault-tolerance")
        self.database = Database(engine, threaded=False)
        chosen = FaultToleranceSettings(**settings)
        self.replicas = (Replica(self, chosen), Replica(self, chosen))

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return 0.0

    def on_server(self, instant: datetime) -> datetime:
        return instant

    def of_server(self, instant: datetime) -> datetime:
        return instant

    def _id(self) -> str:
        self.count += 1
        return f"id{self.count}"

    def journal(self, owner: Owner) -> Journal:
        return Journal(owner, self.log, self, self._id)

    def later(self, **span: float) -> None:
        self.at += timedelta(**span)

    async def say(self, name: str, fact: n.NodeFact, pool: str = "default") -> None:
        """A fact about a node, from whoever may write it."""
        owner = n.NODE_OWNERS[fact.event][0]
        await self.journal(owner).advance_node(pool, name, lambda state, now: fact)

    async def pool_of(self, count: int, **shape: Any) -> None:
        """Nodes n0, n1, ... join."""
        for number in range(count):
            await self.join(f"n{number}", **shape)

    async def join(self, name: str, pool: str = "default", **shape: Any) -> None:
        made = SHAPE.model_copy(update=shape)
        fact = n.NodeJoined(pool=pool, node=name, cluster="c", shape=made)
        await self.say(name, fact, pool)

    async def guarantee(self, gpus: int) -> None:
        share = Share(pool="default", gpu_model="H100", guaranteed=gpus)
        quota = QuotaSet(by="op", request="q", shares=(share,))
        await self.journal(Owner.ADMISSION).advance_tenant("t", QuotaSet, lambda last: quota)

    async def wants(self, job: JobState) -> None:
        await self.database.run(partial(store.wanted, job=job, at=self.at))

    async def fails(self, node: str, job: str, user: str, **values: Any) -> None:
        """A failure that is attributed to a node, and an attempt that was launched there."""
        machine = Machine(node, values.pop("serial", None))
        made = Attributed(
            tenant="t",
            job=job,
            attempt=1,
            user=user,
            pool="default",
            at=self.at,
            rule="cuda.error",
            nodes=(node,),
            machines=(machine,),
        )
        await self.database.run(partial(store.record, failure=replace(made, **values)))
        stay = partial(store.launched, attempt=("t", job, 1), pool="default", at=self.at)
        await self.database.run(partial(stay, machines=[machine]))

    async def works(self, node: str, count: int) -> None:
        """Attempts that were launched on a node and came to no harm."""
        for number in range(count):
            stay = partial(store.launched, attempt=("t", f"good-{node}-{number}", 1), at=self.at)
            await self.database.run(partial(stay, pool="default", machines=[Machine(node)]))

    async def three_fail(self, node: str, prefix: str = "j", **values: Any) -> None:
        """Jobs of three users fail by this node."""
        for user in ("ann", "bob", "eve"):
            await self.fails(node, f"{prefix}-{node}-{user}", user, **values)

    async def sweep(self) -> None:
        """A turn of each loop, in each replica."""
        for replica in self.replicas:
            await replica.troubles.sweep()
            await replica.nodes.sweep()

    async def node(self, name: str, pool: str = "default") -> n.NodeState:
        found = await self.log.last(subjects.node_key(pool, name))
        assert found is not None
        return found.node

    async def events(self, key: subjects.Key) -> list[str]:
        """Return the names of a key's events."""
        history = await self.log.history(key)
        return [item.event.data.detail.event for item in history if isinstance(item, Recorded)]

    async def node_events(self, name: str) -> list[str]:
        return await self.events(subjects.node_key("default", name))

    async def incident(self, name: str) -> Incident | None:
        found = await self.log.last(subjects.incident_key(name))
        incident: Incident | None = found.event.data.detail.incident if found else None
        return incident
