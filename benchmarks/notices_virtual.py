"""Notifiers, their database and a bot in virtual time: what happens is real, the waits are not.

The clock stands while anybody works, moves by what the network takes at each request, and jumps to
what is due next when nobody has anything to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import httpx
import sqlalchemy as sa
from pydantic import SecretStr

from benchmarks.notices_bot import LimitedBot
from benchmarks.notices_jobs import Told
from muster.bus import Trigger as Wake
from muster.contracts.events import read_event
from muster.log.memory import MemoryLog, Store
from muster.notifier import store
from muster.notifier.allowlist import Allowlist
from muster.notifier.channels.kinds import Means, kinds
from muster.notifier.channels.port import Address
from muster.notifier.core.rules import Rule
from muster.notifier.deliveries import Deliveries
from muster.notifier.rulebook import Rulebook
from muster.notifier.sandbox import HOOK
from muster.notifier.service import LOOK_S, build
from muster.notifier.settings import NotifierSettings
from muster.runtime.database import Database, open_engine
from muster.runtime.service import Runtime, Service

START = datetime(2025, 3, 1, 8, 3, tzinfo=UTC)
ORIGIN = "http://127.0.0.1:8099"
_NETWORK_S = (0.005, 0.150)
_IDLE = timedelta(seconds=LOOK_S)


@dataclass
class Clock:
    """Virtual time, shared by everybody."""

    at: datetime = START

    def now(self) -> datetime:
        """Return the present instant."""
        return self.at

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start."""
        return self.at.timestamp()

    def on_server(self, instant: datetime) -> datetime:
        """Return the same: the server is right."""
        return instant

    def of_server(self, instant: datetime) -> datetime:
        """Return the same: the server is right."""
        return instant

    def moves(self, seconds: float) -> None:
        """Let time pass."""
        self.at += timedelta(seconds=seconds)


@dataclass
class Stage:
    """See the module. replicas share the database and the bot."""

    url: str
    rules: Sequence[Rule]
    settings: NotifierSettings
    replicas: int = 1
    clock: Clock = field(default_factory=Clock)
    services: list[Service] = field(default_factory=list)
    databases: list[Database] = field(default_factory=list)
    looked_at: datetime = START
    dice: Random = field(default_factory=lambda: Random(7))

    def __post_init__(self) -> None:
        bots = {rule.address: "demo" for rule in self.rules}
        self.bot = LimitedBot(
            bots, self.clock.monotonic, arriving=self._network, answering=self._network
        )
        self.book = Rulebook(tuple(self.rules), {name: _address(name) for name in bots})

    def _network(self) -> None:
        self.clock.moves(self.dice.uniform(*_NETWORK_S))

    async def start(self) -> None:
        """Start every replica."""
        for _ in range(self.replicas):
            transport = httpx.ASGITransport(self.bot)  # type: ignore[arg-type]
            means = Means(Allowlist(frozenset({ORIGIN})), transport=transport)
            channels = {name: kind.build(means) for name, kind in kinds().items()}
            service = build(self._runtime(), self.settings, book=self.book, channels=channels)
            self.services.append(service)
            await service.start()

    def _runtime(self) -> Runtime:
        bus: Any = None
        return Runtime(
            log=MemoryLog(Store(self.clock.now)),
            bus=bus,
            clock=self.clock,
            ids=lambda: "id",
            state_dir=Path(),
            database=lambda owner, url: self._database(),
        )

    def _database(self) -> Database:
        self.databases.append(Database(open_engine(self.url)))
        return self.databases[-1]

    async def stop(self) -> None:
        """Stop every replica."""
        for service in self.services:
            await service.stop()

    async def plays(self, told: Sequence[Told], within: float = 2 * 86_400) -> None:
        """Let everything happen at its time, and end when nothing waits any more."""
        left, end = (
            sorted(told, key=lambda each: each.at),
            self.clock.at + timedelta(seconds=within),
        )
        number = 0
        while left[number:] or await self.waiting():
            if self.clock.at > end:
                raise SystemExit("something waits for ever")
            while left[number:] and left[number].at <= self.clock.at:
                await self._hear(self.services[number % self.replicas], left[number])
                number += 1
            await self._turn()
            self._jump(left[number].at if left[number:] else None)

    async def _hear(self, service: Service, told: Told) -> None:
        body = told.event.to_bytes()
        event = read_event(told.event.subject, body)
        wake = Wake(told.event.subject, 1, told.at, 1, body, event=event)
        await service.subscriptions[0].handler(wake)

    async def _turn(self) -> None:
        looks = self.clock.at >= self.looked_at + _IDLE
        if looks:
            self.looked_at = self.clock.at
        await asyncio.gather(*(_turn(service, looks=looks) for service in self.services))

    def _jump(self, next_event: datetime | None) -> None:
        times = [at for service in self.services for at in _deliveries(service)._due.values()]
        times += [] if next_event is None else [next_event]
        self.clock.at = max(self.clock.at, min([*times, self.looked_at + _IDLE]))

    async def waiting(self) -> int:
        """Return how many notices wait to be sent now; those that are due later do not count."""
        table = store.deliveries.c
        due = sa.or_(table.due_at.is_(None), table.due_at <= self.clock.at)
        query = sa.select(sa.func.count()).where(table.settled_at.is_(None), due)
        found = await self.databases[0].run(lambda conn: conn.execute(query).scalar())
        return int(found or 0)

    async def states(self) -> dict[str, int]:
        """Return how many rows ended how."""
        table = store.deliveries.c
        query = sa.select(table.state, sa.func.count()).group_by(table.state)
        return await self.databases[0].run(
            lambda conn: {str(state): int(count) for state, count in conn.execute(query)}
        )


@asynccontextmanager
async def staged(
    url: str, rules: Sequence[Rule], settings: NotifierSettings, replicas: int = 1
) -> AsyncIterator[Stage]:
    """A stage whose replicas have started."""
    stage = Stage(url, rules, settings, replicas)
    await stage.start()
    try:
        yield stage
    finally:
        await stage.stop()


def _address(name: str) -> Address:
    return Address(SecretStr(f"{ORIGIN}{HOOK}{name}"), SecretStr("demo"))


def _deliveries(service: Service) -> Deliveries:
    (look,) = (loop.step for loop in service.loops if loop.name == "deliveries")
    deliveries = look.__self__  # type: ignore[attr-defined]
    assert isinstance(deliveries, Deliveries)
    return deliveries


async def _turn(service: Service, *, looks: bool) -> None:
    for loop in service.loops:
        if loop.name.startswith("sender") or (looks and loop.name == "deliveries"):
            await loop.step()
