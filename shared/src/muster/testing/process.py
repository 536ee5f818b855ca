"""One replica of a service in a world: built from its own `build`, killed and built again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, Engine

from muster.bus import Subscription
from muster.domain.edges import Owner
from muster.domain.errors import Temporary
from muster.log.memory import LogFault, MemoryLog, Store
from muster.runtime.database import Database
from muster.runtime.ids import Ids
from muster.runtime.service import Loop, Runtime, Service
from muster.testing.gates import Mood, ProcessHooks, Task
from muster.testing.memory_bus import MemoryBus, ProcessBus
from muster.testing.virtual_time import ProcessClock, VirtualTime

T = TypeVar("T")

Build = Callable[[Runtime, ProcessHooks], Service]
"""Makes a service over a runtime; adapters that a world gives it pass the hooks' gates."""


@dataclass(frozen=True, slots=True)
class ServicePlan:
    """What runs in a world. engine: makes the service's empty database, shared by its replicas."""

    name: str
    build: Build
    replicas: int = 1
    engine: Callable[[], Engine] | None = None


class GatedDatabase(Database):
    """A service's database behind gates: it may be away, and a crash may come before or after."""

    def __init__(self, engine: Engine, hooks: ProcessHooks) -> None:
        super().__init__(engine, threaded=False)
        self._hooks = hooks

    async def run(self, work: Callable[[Connection], T]) -> T:
        """See Database."""
        if await self._hooks.before("database") is LogFault.LOST:
            raise Temporary("the database is away", delay=2.0)
        result = self._run(work)
        await self._hooks.after("database")
        return result


class Life(StrEnum):
    """down: killed, or not started. starting: `start` runs. up: it consumes and its loops turn."""

    DOWN = "down"
    STARTING = "starting"
    UP = "up"


@dataclass(slots=True, eq=False)
class Turning:
    """A loop of a process. due, turned_at: true seconds. seen: the activity at that turn."""

    loop: Loop
    due: float
    busy: bool = False
    turned_at: float = 0.0
    seen: int = -1


@dataclass(slots=True)
class Site:
    """What a process finds in its world."""

    store: Store
    time: VirtualTime
    bus: MemoryBus
    ids: Ids
    state_dir: Path
    mood: Mood = field(default_factory=Mood)
    engines: dict[str, Engine] = field(default_factory=dict)


class Process:
    """A replica; `world` decides when it starts, what it handles, and when it dies."""

    def __init__(self, plan: ServicePlan, number: int, site: Site) -> None:
        self.plan, self.name = plan, f"{plan.name}-{number}"
        self._site = site
        self.life = Life.DOWN
        self.tasks: list[Task] = []
        self.turning: list[Turning] = []
        self.subscriptions: dict[str, Subscription] = {}
        self.paused_until = 0.0
        self.restart_at = 0.0
        self.lives = 0
        self._hooks = ProcessHooks(site.mood)
        self._clock = ProcessClock(site.time, site.store)

    @property
    def clock(self) -> ProcessClock:
        """The clock of its present life."""
        return self._clock

    def boot(self) -> Service:
        """Build the service afresh: nothing of an earlier life is left in memory."""
        self.lives += 1
        self._hooks = hooks = ProcessHooks(self._site.mood)
        self._clock = ProcessClock(self._site.time, self._site.store)
        service = self.plan.build(self._runtime(hooks), hooks)
        self.life = Life.STARTING
        self.turning = [Turning(loop, self._site.time.elapsed) for loop in service.loops]
        self.subscriptions = {s.consumer.durable: s for s in service.subscriptions}
        for subscription in service.subscriptions:
            self._site.bus.open(subscription.consumer)
        for responder in service.responders:
            self._site.bus.serve(responder, hooks)
        return service

    def _runtime(self, hooks: ProcessHooks) -> Runtime:
        site = self._site
        return Runtime(
            log=MemoryLog(site.store, hooks),
            bus=ProcessBus(site.bus, hooks),
            clock=self._clock,
            ids=site.ids,
            state_dir=site.state_dir,
            database=partial(self._database, hooks),
        )

    def _database(self, hooks: ProcessHooks, owner: Owner, url: str | None = None) -> Database:
        engines = self._site.engines
        if owner not in engines:
            if self.plan.engine is None:
                raise KeyError(f"{self.plan.name} has no database in this world")
            engines[owner] = self.plan.engine()
        return GatedDatabase(engines[owner], hooks)

    def die(self) -> None:
        """Lose everything that was in memory, at once."""
        self._hooks.dead = True
        for task in self.tasks:
            task.kill()
        self.tasks.clear()
        self.turning.clear()
        self.subscriptions = {}
        self.life = Life.DOWN
