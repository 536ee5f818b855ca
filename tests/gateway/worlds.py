"""A log in memory with lives on it, and a gateway over both, for this folder's tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa

from muster.bus import NobodyAnswers, Responder, Room, Trigger
from muster.bus.topology import Consumer
from muster.contracts.requests import Answer
from muster.domain.edges import Owner
from muster.domain.errors import Permanent, Temporary
from muster.domain.state import JobState
from muster.gateway.follow import Follow
from muster.gateway.handlers import Handlers
from muster.gateway.hub import Hub
from muster.gateway.readiness import Readiness
from muster.gateway.reading import Reading
from muster.gateway.service import MIGRATIONS
from muster.gateway.settings import GatewaySettings
from muster.log import Recorded
from muster.log.memory import Hooks, MemoryLog, Store
from muster.runtime.database import Database, migrate, open_engine
from tests.support.log_lives import START, TENANT, HandClock, Lives

__all__ = ["START", "TENANT", "HandClock"]


@dataclass
class QuietBus:
    """A bus that nobody consumes from. behind: what `waiting` says; None = no such consumer.

    answer_with: what every question gets; None = nobody answers.
    """

    behind: int | None = 0
    answer_with: bytes | Exception | None = None
    rooms: tuple[Room, ...] | None = ()
    asked: list[tuple[str, bytes]] = field(default_factory=list)

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

    async def room(self) -> tuple[Room, ...]:
        if self.rooms is None:
            raise Temporary("the server is away")
        return self.rooms

    async def serve(self, responder: Responder) -> None:
        raise TypeError("not here")

    async def ask(self, subject: str, body: bytes, timeout: float) -> bytes:
        self.asked.append((subject, body))
        answer = self.answer_with
        if answer is None:
            raise NobodyAnswers(subject, timeout)
        if isinstance(answer, Exception):
            raise answer
        return answer


class World(Lives):
    """A log in memory and everyone who writes to it."""

    def __init__(self, clock: HandClock | None = None, hooks: Hooks | None = None) -> None:
        clock = clock or HandClock()
        self.store = Store(clock.now)
        super().__init__(MemoryLog(self.store, hooks), clock)

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
def opened(url: str, *, threaded: bool = False) -> Iterator[Database]:
    """A migrated archive, in the caller's thread unless told otherwise."""
    engine = open_engine(url)
    migrate(engine, MIGRATIONS, Owner.GATEWAY.value)
    database = Database(engine, threaded=threaded)
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
