"""Runs services in this process: one or all of them, on the same code path.

Each service has a connection of its own, as if it were alone: in production it is, and least rights
are per service. `muster up` gives every builder, a Deployment gives one.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import structlog
from nats.aio.client import Client

from muster.bus.faststream import FastStreamBus
from muster.bus.provision import provision
from muster.domain.edges import Owner
from muster.domain.errors import Temporary
from muster.log.jetstream import JetStreamLog
from muster.runtime.clock import ServerClock
from muster.runtime.collector import calm_collector
from muster.runtime.connection import NatsSettings, connect
from muster.runtime.database import Database, open_engine
from muster.runtime.health import HealthServer
from muster.runtime.ids import new_id
from muster.runtime.loops import LoopRunner
from muster.runtime.service import Loop, Runtime, Service
from muster.runtime.settings import HostSettings
from muster.runtime.together import at_most

CLOCK_S = 10.0
AT_A_TIME = 64
"""Pieces of the same work that a service has under way, as deadlines that end together."""
START_WAITS_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)

Builder = Callable[[Runtime], Service]
T = TypeVar("T")


def _nothing() -> None: ...


@dataclass(slots=True)
class _Running:
    """One service with what belongs to it."""

    service: Service
    connection: Client
    bus: FastStreamBus
    loops: list[LoopRunner] = field(default_factory=list)


class Host:
    """Start and stop of some services. builders: owner -> `build` of the service."""

    def __init__(self, settings: HostSettings, builders: Sequence[tuple[Owner, Builder]]) -> None:
        self._settings, self._builders = settings, builders
        self._running: list[_Running] = []
        self._health: HealthServer | None = None
        self._stopping = False
        self.http_port: int | None = None

    async def start(self, *, provisioned: bool = False) -> None:
        """Start every service. provisioned: somebody else makes streams and consumers.

        Raises what a service's start raises, after stopping those that had started.
        """
        self._settings.state_dir.mkdir(parents=True, exist_ok=True)
        try:
            if not provisioned:
                await self._provision()
            for owner, build in self._builders:
                self._running.append(await self._start(owner, build))
            await self._open_health()
        except BaseException:
            await self.stop()
            raise
        calm_collector()

    async def _connect(self, name: str, on_closed: Callable[[], None] = _nothing) -> Client:
        settings = self._settings
        return await connect(
            NatsSettings(
                servers=settings.nats_url.get_secret_value(),
                name=f"muster-{name}",
                inbox=f"_INBOX_{name}",
                credentials=settings.nats_credentials,
            ),
            on_closed,
        )

    async def _provision(self) -> None:
        connection = await self._connect("provisioner")
        try:
            for change in await provision(connection, replicas=self._settings.replicas):
                structlog.get_logger().info("provisioned", change=str(change))
        finally:
            await connection.close()

    async def _start(self, owner: Owner, build: Builder) -> _Running:
        connection = await self._connect(owner.value, self._on_closed)
        # Every configuration of ours syncs each write to disk, and a batch is one sync.
        log = JetStreamLog(connection, group_commit=True)
        clock = ServerClock(log, owner)
        await clock.synchronise()
        bus = FastStreamBus(connection)
        runtime = Runtime(
            log=log,
            bus=bus,
            clock=clock,
            ids=new_id,
            state_dir=self._settings.state_dir,
            database=partial(_open_database, self._settings),
            aside=_in_a_thread,
            together=at_most(AT_A_TIME),
        )
        service = build(runtime)
        running = _Running(service, connection, bus)
        await _patiently(service)
        for subscription in service.subscriptions:
            await bus.consume(subscription)
        for responder in service.responders:
            await bus.serve(responder)
        kept = Service(owner=owner, loops=(Loop("clock", clock.synchronise, CLOCK_S),))
        running.loops = [LoopRunner(service), LoopRunner(kept)]
        for loops in running.loops:
            loops.start()
        return running

    def _on_closed(self) -> None:
        if not self._stopping:
            _give_up()

    async def _open_health(self) -> None:
        if self._settings.http_port is None:
            return
        checks = {r.service.owner.value: partial(_check, r) for r in self._running}
        pages = {path: page for r in self._running for path, page in r.service.pages.items()}
        self._health = HealthServer(checks, pages)
        self.http_port = await self._health.start(
            self._settings.http_host, self._settings.http_port
        )

    async def stop(self) -> None:
        """Let handlers in flight finish, stop loops, close connections; the last started first."""
        self._stopping = True
        if self._health is not None:
            await self._health.stop()
        while self._running:
            await self._stop(self._running.pop())

    async def _stop(self, running: _Running) -> None:
        try:
            async with asyncio.timeout(self._settings.stop_s):
                await running.bus.close()
                for loops in running.loops:
                    await loops.stop()
                await running.service.stop()
        except TimeoutError:
            structlog.get_logger().warning(
                "stopped the hard way", service=running.service.owner.value
            )
        finally:
            await running.connection.close()


async def _in_a_thread(work: Callable[[], T]) -> T:
    return await asyncio.to_thread(work)


async def _patiently(service: Service) -> None:
    """Start a service; what it needs may come up a little later than it does."""
    for wait in (*START_WAITS_S, None):
        try:
            await service.start()
        except Temporary as error:
            if wait is None:
                raise
            structlog.get_logger().warning(
                "start waits", service=service.owner.value, why=str(error)
            )
            await asyncio.sleep(wait)
        else:
            return


async def _check(running: _Running) -> None:
    await running.bus.ready()
    await running.service.ready()


def _open_database(settings: HostSettings, owner: Owner, url: str | None) -> Database:
    if url is None and settings.database_url is not None:
        url = settings.database_url.get_secret_value()
    if url is None:
        url = f"sqlite:///{settings.state_dir.absolute() / f'{owner.value}.db'}"
    return Database(open_engine(url))


def _give_up() -> None:
    # a connection that is closed for good cannot be mended here; whoever runs us starts us again
    structlog.get_logger().critical("the connection to NATS was closed for good")
    os._exit(3)
