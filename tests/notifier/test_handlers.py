"""From an event to a person: the whole way, with a bot on the other end and faults in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
import sqlalchemy as sa
from pydantic import SecretStr
from sqlalchemy.engine import Connection

from muster.bus import Trigger as Wake
from muster.bus import topology
from muster.contracts.events import read_event
from muster.contracts.subjects import job_key
from muster.domain import facts as f
from muster.domain.edges import Owner
from muster.domain.errors import Temporary
from muster.domain.state import JobState
from muster.log.memory import MemoryLog, Store
from muster.notifier import store
from muster.notifier.allowlist import Allowlist
from muster.notifier.channels.feishu import FeishuChannel
from muster.notifier.channels.log import LogChannel
from muster.notifier.channels.port import Address, Channel
from muster.notifier.core.delivery import Delivery, Outcome
from muster.notifier.core.message import Message
from muster.notifier.core.notice import Trigger
from muster.notifier.receiver import HOOK, Receiver
from muster.notifier.rulebook import Rulebook
from muster.notifier.service import build
from muster.notifier.settings import NotifierSettings
from muster.runtime.database import Database, open_engine
from muster.runtime.service import Runtime, Service
from tests.notifier.lives import EVERY, START, Life, queued, rule

ORIGIN = "http://127.0.0.1:8099"
BOOK = Rulebook(
    EVERY, {"ops": Address(SecretStr(f"{ORIGIN}{HOOK}t1"), SecretStr("demo"), ("训练",))}
)
T = TypeVar("T")


@dataclass
class Clock:
    """A clock that the test moves."""

    at: datetime = START

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.at.timestamp()

    def moves(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


class FlakyDatabase(Database):
    """Loses the next `lost` transactions that come after `spared` good ones."""

    spared, lost = 0, 0

    async def run(self, work: Callable[[Connection], T]) -> T:
        if self.lost and self.spared == 0:
            self.lost -= 1
            raise Temporary("the database is away", delay=2.0)
        self.spared = max(0, self.spared - 1)
        return await super().run(work)


@dataclass
class World:
    """One bot, one database, and as many notifiers as a test wants."""

    path: Path
    clock: Clock = field(default_factory=Clock)
    services: list[Service] = field(default_factory=list)
    databases: list[FlakyDatabase] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bot = Receiver({"t1": "demo"}, clock=self.clock.monotonic)

    async def starts(
        self, book: Rulebook = BOOK, channels: dict[str, Channel] | None = None
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
        service = build(
            runtime, NotifierSettings(), book=book, channels=channels or self._channels()
        )
        self.services.append(service)
        await service.start()
        return service

    def _database(self, owner: Owner, url: str | None) -> Database:
        assert owner is Owner.NOTIFIER
        self.databases.append(FlakyDatabase(open_engine(f"sqlite:///{self.path / 'n.db'}")))
        return self.databases[-1]

    def _channels(self) -> dict[str, Channel]:
        transport = httpx.ASGITransport(self.bot)  # type: ignore[arg-type]
        feishu = FeishuChannel(Allowlist(frozenset({ORIGIN})), transport=transport)
        return {"feishu": feishu, "log": LogChannel()}

    @property
    def titles(self) -> list[str]:
        return [message.title.partition(" · ")[0] for message in self.bot.received]

    async def rows(self) -> list[tuple[str, str, int]]:
        def read(conn: Connection) -> list[tuple[str, str, int]]:
            table = store.deliveries.c
            query = sa.select(table.transition, table.state, table.attempts)
            return [tuple(row) for row in conn.execute(query.order_by(table.claimed_at))]

        return await self.databases[0].run(read)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    yield world
    for service in world.services:
        await service.stop()


def wake(event: str, state: JobState) -> Wake:
    """The trigger of one step of a life, as the bus would build it."""
    from muster.contracts.events import job_event

    facts: dict[str, f.Fact] = {
        "admitted": f.Admitted(),
        "started": f.Started(attempt=state.attempt),
        "queue_timed_out": f.QueueTimedOut(entry=state.queue_entry),
        "succeeded": f.Succeeded(attempt=state.attempt),
        "launching": f.Launching(attempt=state.attempt),
        "scheduled": f.Scheduled(placement=state.held),
    }
    built = job_event(state, facts[event], event_id="e1", source="muster/test", at=state.since)
    subject = job_key(state.tenant, state.job).subject(event)
    body = built.to_bytes()
    return Wake(subject, state.version, state.since, 1, body, event=read_event(subject, body))


async def tell(service: Service, event: str, state: JobState) -> float | None:
    """Deliver one message; returns the delay if the handler wants it again."""
    (subscription,) = service.subscriptions
    try:
        await subscription.handler(wake(event, state))
    except Temporary as error:
        return error.delay
    return None


async def live(service: Service, life: Life) -> None:
    for event, state in life.steps:
        if event != "submitted":
            assert await tell(service, event, state) is None


async def test_a_life_is_told_card_by_card(world: World) -> None:
    service = await world.starts()
    assert service.owner is Owner.NOTIFIER
    assert service.subscriptions[0].consumer is topology.NOTIFIER_JOBS
    await service.ready()
    await live(service, queued().runs().then(f.Succeeded(attempt=1)))
    assert world.titles == ["排队中", "运行中", "运行成功"]
    assert all("[Keywords] 训练" in message.text for message in world.bot.received)
    assert [row[1] for row in await world.rows()] == ["delivered"] * 3


async def test_redelivery_and_a_second_replica_tell_nobody_twice(world: World) -> None:
    one, two = await world.starts(), await world.starts()
    life = queued().runs()
    for _ in range(3):
        for service in (one, two):
            await live(service, life)
    assert world.titles == ["排队中", "运行中"]


async def test_two_replicas_at_the_same_time_send_once(world: World) -> None:
    services = [await world.starts() for _ in range(2)]
    event, state = queued().steps[-1]
    for _ in range(5):
        await asyncio.gather(*(tell(service, event, state) for service in services * 2))
    assert world.titles == ["排队中"]


async def test_a_rate_limit_comes_again_after_its_wait_and_is_told_once(world: World) -> None:
    service = await world.starts()
    world.bot.refuse_next.append((11232, "frequency limited"))
    event, state = queued().steps[-1]
    delay = await tell(service, event, state)
    assert delay is not None
    assert world.titles == []
    world.clock.moves(delay)
    assert await tell(service, event, state) is None
    assert world.titles == ["排队中"]
    assert await world.rows() == [("queued:1", "delivered", 2)]


async def test_what_comes_too_early_is_asked_to_wait_for_the_rest(world: World) -> None:
    service = await world.starts()
    world.bot.refuse_next.append((11232, "frequency limited"))
    event, state = queued().steps[-1]
    await tell(service, event, state)
    assert await tell(service, event, state) is not None
    assert world.titles == []


async def test_a_refusal_is_final_and_its_reason_is_kept(world: World) -> None:
    service = await world.starts()
    world.bot.refuse_next.append((19024, "Key Words Not Found"))
    event, state = queued().steps[-1]
    assert await tell(service, event, state) is None
    assert await tell(service, event, state) is None
    assert await world.rows() == [("queued:1", "failed", 1)]
    assert world.titles == []


async def test_a_crash_between_sending_and_settling_repeats_it_recognisably(world: World) -> None:
    service = await world.starts()
    event, state = queued().steps[-1]
    database = world.databases[0]
    database.spared, database.lost = 1, 1
    assert await tell(service, event, state) == 2.0
    world.clock.moves(2)
    wait = await tell(service, event, state)
    assert wait == 58.0
    world.clock.moves(wait)
    assert await tell(service, event, state) is None
    first, second = world.bot.received
    assert first.text.partition("通知编号")[2][:16] == second.text.partition("通知编号")[2][:16]
    assert "重复发送" not in first.text
    assert "重复发送" in second.text
    assert await tell(service, event, state) is None
    assert len(world.bot.received) == 2


async def test_a_crash_before_the_claim_loses_nothing(world: World) -> None:
    service = await world.starts()
    world.databases[0].lost = 1
    event, state = queued().steps[-1]
    assert await tell(service, event, state) == 2.0
    assert await tell(service, event, state) is None
    assert world.titles == ["排队中"]


async def test_old_news_is_written_down_and_not_sent(world: World) -> None:
    service = await world.starts()
    world.clock.moves(3600)
    event, state = queued().steps[-1]
    assert await tell(service, event, state) is None
    assert world.titles == []
    assert await world.rows() == [("queued:1", "failed", 1)]


async def test_a_retry_ends_when_the_news_is_old(world: World) -> None:
    service = await world.starts()
    world.bot.refuse_next.extend([(2200, "internal error")] * 1000)
    event, state = queued().steps[-1]
    turns = 0
    while (delay := await tell(service, event, state)) is not None:
        world.clock.moves(delay)
        turns += 1
        assert turns < 100
    assert world.clock.at - state.since < timedelta(minutes=32)
    assert turns > 20


@dataclass
class Scripted:
    """A channel that says what it is told to."""

    outcomes: list[Outcome]
    sent: list[str] = field(default_factory=list)

    async def send(self, address: Address | None, message: Message, at: datetime) -> Delivery:
        self.sent.append(message.id)
        return Delivery(self.outcomes.pop(0))

    async def close(self) -> None:
        return None


async def test_an_unknown_outcome_is_repeated_only_for_what_a_person_must_know(
    world: World,
) -> None:
    channel = Scripted([Outcome.UNKNOWN] * 3)
    service = await world.starts(channels={"feishu": channel})
    life = queued().then(f.QueueTimedOut(entry=1))
    (event, state), (ending, ended) = life.steps[-2:]
    assert await tell(service, event, state) is None
    assert await tell(service, ending, ended) == 30.0
    world.clock.moves(30)
    assert await tell(service, ending, ended) is None
    assert await tell(service, ending, ended) is None
    assert len(channel.sent) == 3
    assert channel.sent[1] == channel.sent[2]
    assert {row[1] for row in await world.rows()} == {"unknown"}


async def test_one_receiver_that_is_away_does_not_hold_up_the_others(world: World) -> None:
    two = [rule(Trigger.JOB_QUEUED, prefix=name) for name in ("a", "b")]
    channel = Scripted([Outcome.RETRY, Outcome.DELIVERED, Outcome.DELIVERED])
    service = await world.starts(Rulebook(tuple(two), BOOK.addresses), {"feishu": channel})
    event, state = queued().steps[-1]
    delay = await tell(service, event, state)
    assert delay is not None
    assert len(channel.sent) == 2
    world.clock.moves(delay)
    assert await tell(service, event, state) is None
    assert channel.sent[2] == channel.sent[0]


async def test_events_that_tell_nothing_touch_no_database(world: World) -> None:
    service = await world.starts()
    world.databases[0].lost = 1
    life = queued().runs()
    for event, state in life.steps[2:4]:
        assert await tell(service, event, state) is None


async def test_a_rule_that_begins_now_is_not_told_of_the_past(world: World) -> None:
    life = queued()
    world.clock.moves(120)
    service = await world.starts()
    await live(service, life)
    assert world.titles == []
    assert await world.rows() == []


async def test_the_log_channel_says_it_in_the_log(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    spoken = rule(Trigger.JOB_QUEUED, channel="log", address="", language="en")
    service = await world.starts(Rulebook((spoken,), {}))
    await live(service, queued())
    assert "queued · llama-sft" in caplog.text
    assert "n-" in caplog.text


async def test_nothing_secret_is_written_anywhere(
    world: World, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    service = await world.starts()
    world.bot.refuse_next.append((19001, f"bad {ORIGIN}{HOOK}t1"))
    await live(service, queued().runs())
    said = caplog.text + "".join(capsys.readouterr())
    stored = (world.path / "n.db").read_bytes() + (world.path / "n.db-wal").read_bytes()
    assert HOOK not in said
    assert HOOK.encode() not in stored
    assert "notice" in said
