"""A stage for the notifier: one bot, one database, a clock that stands, any number of replicas.

Loops are turned by hand: nothing here waits, and a replica that is not turned does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import httpx
import sqlalchemy as sa
from pydantic import SecretStr
from sqlalchemy.engine import Connection

from muster.bus import Trigger as Wake
from muster.contracts.events import job_event, read_event
from muster.contracts.subjects import job_key
from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.edges import Owner
from muster.domain.errors import Temporary
from muster.domain.state import JobState
from muster.log.memory import MemoryLog, Store
from muster.notifier import store
from muster.notifier.addresses import Sealer
from muster.notifier.allowlist import Allowlist
from muster.notifier.channels.kinds import Means, kinds
from muster.notifier.channels.port import Address, Channel
from muster.notifier.core.delivery import Delivery, Fault, Form
from muster.notifier.core.limits import Limits
from muster.notifier.core.message import Message
from muster.notifier.rulebook import Rulebook
from muster.notifier.sandbox import HOOK, Receiver
from muster.notifier.service import build
from muster.notifier.settings import NotifierSettings
from muster.runtime.database import Database, open_engine
from muster.runtime.service import Loop, Runtime, Service
from tests.notifier.lives import EVERY, START, Life
from tests.support.leaks import KEY, TOKEN

ORIGIN = "http://127.0.0.1:8099"
BOOK = Rulebook(
    EVERY, {"ops": Address(SecretStr(f"{ORIGIN}{HOOK}{TOKEN}"), SecretStr(KEY), ("训练",))}
)
T = TypeVar("T")


@dataclass
class Clock:
    """A clock that the test moves. ahead: by how much the server's shows more."""

    at: datetime = START
    ahead: float = 0.0

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.at.timestamp()

    def on_server(self, instant: datetime) -> datetime:
        return instant + timedelta(seconds=self.ahead)

    def of_server(self, instant: datetime) -> datetime:
        return instant - timedelta(seconds=self.ahead)

    def moves(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


class FlakyDatabase(Database):
    """Loses the next `lost` transactions that come after `spared` good ones."""

    spared, lost, used, busy = 0, 0, 0, 0
    took: Callable[[], None] | None = None

    async def run(self, work: Callable[[Connection], T]) -> T:
        self.used += 1
        if self.lost and self.spared == 0:
            self.lost -= 1
            raise Temporary("the database is away", delay=2.0)
        self.spared = max(0, self.spared - 1)
        if self.took is not None:
            self.took()
        self.busy += 1
        try:
            return await super().run(work)
        finally:
            self.busy -= 1


@dataclass
class Scripted:
    """A channel that says what it is told to, and `delivered` after that."""

    faults: list[Fault] = field(default_factory=list)
    sent: list[Message] = field(default_factory=list)
    signed: list[datetime] = field(default_factory=list)

    limits: Limits | None = None

    async def send(
        self, address: Address | None, message: Message, at: datetime, form: Form
    ) -> Delivery:
        self.sent.append(message)
        self.signed.append(at)
        return Delivery(self.faults.pop(0) if self.faults else Fault.NONE)

    async def close(self) -> None:
        return None


@dataclass
class Breaks(Scripted):
    """A channel that raises what it should have said, and names where it was sending to."""

    async def send(
        self, address: Address | None, message: Message, at: datetime, form: Form
    ) -> Delivery:
        await super().send(address, message, at, form)
        raise OverflowError("http://secret.example/token")


@dataclass
class Stage:
    """See the module. url: of the database that the replicas share.

    limited: the bot's limits are kept, for which the clock has to move.
    """

    path: Path
    url: str
    clock: Clock = field(default_factory=Clock)
    services: list[Service] = field(default_factory=list)
    databases: list[FlakyDatabase] = field(default_factory=list)
    settings: NotifierSettings | None = None
    limited: bool = False

    def __post_init__(self) -> None:
        self.bot = Receiver({TOKEN: KEY}, clock=self.clock.monotonic)

    async def starts(
        self,
        book: Rulebook = BOOK,
        channels: dict[str, Channel] | None = None,
        vault: Sealer | None = None,
    ) -> Service:
        bus: Any = None
        runtime = Runtime(
            log=MemoryLog(Store(self.clock.now)),
            bus=bus,
            clock=self.clock,
            ids=lambda: "id",
            state_dir=self.path,
            database=self._database,
        )
        settings = self.settings or NotifierSettings(
            grouped=False, quiet_half_hours=False, senders=2, extra_addresses=(ORIGIN,)
        )
        service = build(
            runtime,
            settings,
            book=book,
            channels=channels or self._channels(),
            vault=vault,
        )
        self.services.append(service)
        await service.start()
        return service

    def _database(self, owner: Owner, url: str | None) -> Database:
        assert owner is Owner.NOTIFIER
        self.databases.append(FlakyDatabase(open_engine(self.url)))
        return self.databases[-1]

    def _channels(self) -> dict[str, Channel]:
        transport = httpx.ASGITransport(self.bot)  # type: ignore[arg-type]
        means = Means(Allowlist(frozenset({ORIGIN})), transport=transport)
        channels = {name: kind.build(means) for name, kind in kinds().items()}
        if not self.limited:
            channels["feishu"].limits = None  # type: ignore[misc]
        return channels

    @property
    def titles(self) -> list[str]:
        return [message.title.partition(" · ")[0] for message in self.bot.received]

    async def rows(self) -> list[tuple[str, str, int]]:
        """Transition, state and attempts of every row."""

        def read(conn: Connection) -> list[tuple[str, str, int]]:
            table = store.deliveries.c
            query = sa.select(table.transition, table.state, table.attempts)
            return [tuple(row) for row in conn.execute(query.order_by(table.happened_at))]

        return await self.databases[-1].run(read)

    async def next_attempt(self) -> float | None:
        """Seconds until the first pending row may be tried again; None if there is none."""
        next_at = store.deliveries.c.next_attempt_at
        query = sa.select(sa.func.min(next_at)).where(store.deliveries.c.settled_at.is_(None))
        at = await self.databases[-1].run(lambda conn: conn.execute(query).scalar())
        return None if at is None else (at - self.clock.at).total_seconds()


def wake(event: str, state: JobState) -> Wake:
    """The trigger of one step of a life, as the bus would build it."""
    facts: dict[str, f.Fact] = {
        "admitted": f.Admitted(),
        "started": f.Started(attempt=state.attempt),
        "requeued": f.Requeued(cause=EvictionCause.SPOT_RECLAIM, counted=False),
        "resumed": f.Resumed(by="bob", request="q1"),
        "queue_timed_out": f.QueueTimedOut(entry=state.queue_entry),
        "succeeded": f.Succeeded(attempt=state.attempt),
        "launching": f.Launching(attempt=state.attempt),
        "scheduled": f.Scheduled(placement=state.held),
    }
    built = job_event(state, facts[event], event_id="e1", source="muster/test", at=state.since)
    subject = job_key(state.tenant, state.job).subject(event)
    body = built.to_bytes()
    return Wake(subject, state.version, state.since, 1, body, event=read_event(subject, body))


async def hear(service: Service, event: str, state: JobState) -> None:
    """Deliver one message; raises what the handler raises."""
    (subscription,) = service.subscriptions
    await subscription.handler(wake(event, state))


async def live(service: Service, life: Life) -> None:
    """Deliver every message of a life, and let the service tell each before the next."""
    for event, state in life.steps:
        if event != "submitted":
            await hear(service, event, state)
            await turn(senders(service))


def senders(service: Service) -> tuple[Loop, ...]:
    return tuple(loop for loop in service.loops if loop.name.startswith("sender-"))


def loop(service: Service, name: str) -> Loop:
    (found,) = (loop for loop in service.loops if loop.name == name)
    return found


async def turn(loops: Iterable[Loop]) -> None:
    for each in loops:
        await each.step()


async def look(service: Service) -> None:
    """What happens without a new message: look for what is due, and send it."""
    await turn((loop(service, "deliveries"), *senders(service)))
