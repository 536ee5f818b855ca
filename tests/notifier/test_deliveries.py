"""From the ledger to a person: retries, leases, replicas, and addresses that know no other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from prometheus_client import REGISTRY
from pydantic import SecretStr

from muster.domain import facts as f
from muster.domain.errors import Temporary
from muster.notifier import deliveries
from muster.notifier import service as service_module
from muster.notifier.channels.port import Address
from muster.notifier.core import cards
from muster.notifier.core.delivery import Delivery, Fault, Form
from muster.notifier.core.limits import Limits
from muster.notifier.core.message import Message
from muster.notifier.core.notice import Notice, Trigger
from muster.notifier.core.wording import Look
from muster.notifier.metrics import OUTCOMES
from muster.notifier.rulebook import Rulebook
from muster.notifier.sandbox import HOOK, Bot
from muster.notifier.settings import MARGIN_S
from muster.runtime.loops import LoopRunner
from muster.runtime.service import Service
from tests.notifier.lives import queued, rule
from tests.notifier.stage import (
    ORIGIN,
    Breaks,
    Scripted,
    Stage,
    hear,
    live,
    look,
    loop,
    senders,
    turn,
)
from tests.support.eventually import eventually
from tests.support.leaks import TOKEN

LEASE_S = 60.0
QUEUED = queued().steps[-1]


@pytest.fixture
async def stage(tmp_path: Path, database_url: str) -> AsyncIterator[Stage]:
    stage = Stage(tmp_path, database_url)
    yield stage
    for service in stage.services:
        await service.stop()


@pytest.mark.case("NTF-07")
async def test_two_replicas_at_the_same_time_send_once(stage: Stage) -> None:
    services = [await stage.starts() for _ in range(2)]
    for number in range(5):
        event, state = queued(job=f"j{number}").steps[-1]
        await asyncio.gather(*(hear(service, event, state) for service in services * 2))
        await asyncio.gather(*(look(service) for service in services))
    assert stage.titles == ["排队中"] * 5


async def test_what_is_sent_is_signed_by_the_worlds_clock(stage: Stage) -> None:
    stage.clock.ahead = 3600.0  # the server's clock was set right, Muster's time gives way slowly
    scripted = Scripted()
    service = await stage.starts(channels={"feishu": scripted})
    await hear(service, *QUEUED)
    await look(service)
    assert scripted.signed == [stage.clock.at + timedelta(hours=1)]


async def test_a_rate_limit_comes_again_after_its_wait_and_is_told_once(stage: Stage) -> None:
    service = await stage.starts()
    stage.bot.refuse_next.append((11232, "frequency limited"))
    await hear(service, *QUEUED)
    await turn(senders(service))
    wait = await stage.next_attempt()
    assert wait is not None
    assert 0 < wait <= 1
    await look(service)
    assert stage.titles == [], "not before its time"
    stage.clock.moves(wait)
    await look(service)
    await look(service)
    assert stage.titles == ["排队中"]
    assert await stage.rows() == [("queued:1", "delivered", 2)]
    assert "重复发送" not in stage.bot.received[0].text, "the first was refused: nobody has seen it"


async def test_a_refusal_is_final_and_its_reason_is_kept(stage: Stage) -> None:
    service = await stage.starts()
    stage.bot.refuse_next.append((19002, "param invalid: msg_type"))
    for _ in range(2):
        await hear(service, *QUEUED)
        await look(service)
    assert await stage.rows() == [("queued:1", "dead", 1)]
    assert stage.titles == []


@pytest.mark.case("NTF-07")
async def test_a_crash_between_sending_and_settling_repeats_it_once_and_recognisably(
    stage: Stage,
) -> None:
    await hear(dying := await stage.starts(), *QUEUED)
    stage.databases[0].spared, stage.databases[0].lost = 1, 99
    with pytest.raises(Temporary):
        await turn(senders(dying))
    successor = await stage.starts()
    stage.clock.moves(LEASE_S - 1)
    await look(successor)
    assert len(stage.bot.received) == 1, "the lease protects who may still be sending"
    stage.clock.moves(1)
    for _ in range(3):
        await look(successor)
        stage.clock.moves(LEASE_S)
    first, second = stage.bot.received
    assert first.text.partition("通知编号")[2][:16] == second.text.partition("通知编号")[2][:16]
    assert "重复发送" not in first.text
    assert "重复发送" in second.text


async def test_a_crash_before_sending_loses_nothing(stage: Stage) -> None:
    await hear(dying := await stage.starts(), *QUEUED)
    stage.databases[0].lost = 99
    with pytest.raises(Temporary):
        await turn(senders(dying))
    await look(await stage.starts())
    assert stage.titles == ["排队中"]


async def test_a_database_that_is_away_while_settling_repeats_nothing(stage: Stage) -> None:
    service = await stage.starts()
    await hear(service, *QUEUED)
    stage.databases[0].spared, stage.databases[0].lost = 1, 3
    for _ in range(3):
        with pytest.raises(Temporary):
            await turn(senders(service))
    stage.clock.moves(3 * LEASE_S)
    await turn(senders(service))
    await look(service)
    assert stage.titles == ["排队中"]
    assert await stage.rows() == [("queued:1", "delivered", 1)]


@pytest.mark.case("NTF-07")
async def test_a_claim_that_took_too_long_is_not_used(stage: Stage) -> None:
    service = await stage.starts()
    await hear(service, *QUEUED)
    stage.databases[0].took = lambda: stage.clock.moves(MARGIN_S + 1)
    await turn(senders(service))
    stage.databases[0].took = None
    assert stage.titles == []
    stage.clock.moves(LEASE_S)
    await look(service)
    assert stage.titles == ["排队中"]


async def test_a_restart_sends_what_is_pending_without_a_new_message(stage: Stage) -> None:
    before = await stage.starts()
    for number in range(3):
        await hear(before, *queued(job=f"j{number}").steps[-1])
    await look(await stage.starts())
    assert stage.titles == ["排队中"] * 3


async def test_old_news_is_written_down_and_not_sent(stage: Stage) -> None:
    service = await stage.starts()
    stage.clock.moves(3600)
    await hear(service, *QUEUED)
    await look(service)
    await turn([loop(service, "ledger")])
    assert stage.titles == []
    assert await stage.rows() == [("queued:1", "stale", 0)]


async def test_a_retry_ends_when_the_news_is_old(stage: Stage) -> None:
    service = await stage.starts()
    stage.bot.refuse_next.extend([(2200, "internal error")] * 1000)
    await hear(service, *QUEUED)
    await look(service)
    turns = 0
    while (wait := await stage.next_attempt()) is not None:
        stage.clock.moves(max(wait, 1))
        await look(service)
        await turn([loop(service, "ledger")])
        turns += 1
        assert turns < 200
    assert stage.clock.at - QUEUED[1].since < timedelta(minutes=33)
    assert len(stage.bot.refuse_next) < 980
    assert (await stage.rows())[0][1] == "stale"


async def test_one_sweep_ends_a_whole_backlog_and_forgets_what_is_old(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "_A_SWEEP", 2)
    service = await stage.starts()
    for number in range(5):
        await hear(service, *queued(job=f"k{number}").steps[-1])
    stage.clock.moves(3600)
    await turn([loop(service, "ledger")])
    assert [row[1] for row in await stage.rows()] == ["stale"] * 5
    stage.clock.moves(91 * 86_400)
    await turn([loop(service, "ledger")])
    assert len(await stage.rows()) == 3, "a few at a time"


async def test_an_unknown_outcome_is_repeated_only_for_what_a_person_must_know(
    stage: Stage,
) -> None:
    channel = Scripted([Fault.NO_REPLY] * 3)
    service = await stage.starts(channels={"feishu": channel})
    await live(service, queued().then(f.QueueTimedOut(entry=1)))
    stage.clock.moves(1)  # an address that does not answer is left alone for a moment
    await look(service)
    assert await stage.next_attempt() == 30.0
    for _ in range(3):
        stage.clock.moves(30)
        await look(service)
    assert len(channel.sent) == 3
    assert channel.sent[1].id == channel.sent[2].id
    assert "重复发送" not in channel.sent[1].text
    assert "重复发送" in channel.sent[2].text
    assert {row[1] for row in await stage.rows()} == {"unknown"}


@pytest.mark.case("NTF-12")
async def test_what_a_rule_that_is_gone_would_have_told_is_withdrawn(stage: Stage) -> None:
    await hear(await stage.starts(), *QUEUED)
    service = await stage.starts(Rulebook())
    await look(service)
    assert stage.titles == []
    assert await stage.rows() == [("queued:1", "withdrawn", 0)]


async def test_an_address_that_fails_keeps_its_order_when_it_is_back(stage: Stage) -> None:
    service = await stage.starts()
    stage.bot.refuse_next.extend([(2200, "internal error")] * 4)
    await live(service, queued().runs().then(f.Succeeded(attempt=1)))
    assert stage.titles == []
    for _ in range(20):
        stage.clock.moves(2)
        await look(service)
    assert stage.titles == ["排队中", "运行中", "运行成功"]


async def test_what_cannot_be_worded_is_a_dead_letter_and_holds_up_nobody(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def words(notices: Sequence[Notice], look: Look, parcel: str) -> Message:
        if notices[0].subject == "j0":
            raise KeyError(notices[0].subject)
        return cards.message(notices, look, parcel)

    monkeypatch.setattr(service_module, "message", words)
    service = await stage.starts()
    for number in range(2):
        await hear(service, *queued(job=f"j{number}").steps[-1])
    await look(service)
    assert [state for _, state, _ in await stage.rows()] == ["dead", "delivered"]


async def test_a_channel_that_breaks_holds_up_nobody_and_tells_nothing(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Breaks()
    service = await stage.starts(channels={"feishu": broken})
    for number in range(2):
        await hear(service, *queued(job=f"j{number}").steps[-1])
    await look(service)
    stage.clock.moves(90)
    await look(service)
    assert len(broken.sent) == 2
    assert [state for _, state, _ in await stage.rows()] == ["unknown", "unknown"]
    assert "secret.example" not in caplog.text


TWO = Rulebook(
    (
        rule(Trigger.JOB_QUEUED, prefix="a", address="dead"),
        rule(Trigger.JOB_QUEUED, prefix="b", address="good"),
    ),
    {
        "dead": Address(SecretStr(f"{ORIGIN}{HOOK}dead")),
        "good": Address(SecretStr(f"{ORIGIN}{HOOK}{TOKEN}")),
    },
)


@dataclass
class OneHangs:
    """A channel on which one address never answers within the test, and the other does at once."""

    released: asyncio.Event = field(default_factory=asyncio.Event)
    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    good: list[str] = field(default_factory=list)
    asked: int = 0

    limits: Limits | None = None

    async def send(
        self, address: Address | None, message: Message, at: datetime, form: Form
    ) -> Delivery:
        assert address is not None
        if address is TWO.addresses["dead"]:
            self.asked += 1
            self.hanging.set()
            await self.released.wait()
            return Delivery(Fault.NO_REPLY, "no_reply")
        self.good.append(message.id)
        return Delivery(Fault.NONE)

    async def close(self) -> None:
        return None


@pytest.mark.case("NTF-12")
@pytest.mark.sibling_of("BUS-19")
async def test_an_address_that_hangs_delays_no_other(stage: Stage) -> None:
    channel = OneHangs()
    service = await stage.starts(TWO, {"feishu": channel})
    first, second = senders(service)
    await hear(service, *QUEUED)
    hangs = asyncio.ensure_future(first.step())
    await channel.hanging.wait()
    for number in range(5):
        await second.step()
        assert len(channel.good) == number + 1
        await hear(service, *queued(job=f"k{number}").steps[-1])
    assert channel.asked == 1, "one notice in flight for an address"
    channel.released.set()
    await hangs


@pytest.mark.case("NTF-12")
async def test_an_address_that_fails_delays_no_other(stage: Stage) -> None:
    service = await stage.starts(TWO)
    stage.bot.bots = {TOKEN: Bot()}
    for number in range(5):
        await hear(service, *queued(job=f"k{number}").steps[-1])
        await turn(senders(service))
        assert len(stage.bot.received) == number + 1
    states = {row[1] for row in await stage.rows()}
    assert states == {"dead", "pending", "delivered"}, "the circuit is open"


async def _rest(stage: Stage) -> bool:
    told = await stage.rows() == [("queued:1", "delivered", 1)]
    return told and not stage.databases[0].busy


async def test_a_new_notice_is_sent_by_the_running_loops_without_a_look(stage: Stage) -> None:
    service = await stage.starts()
    without_look = Service(owner=service.owner, loops=senders(service))
    runner = LoopRunner(without_look)
    runner.start()
    try:
        await hear(service, *QUEUED)
        await eventually(partial(_rest, stage))
    finally:
        await runner.stop()
    assert all(each.every <= 0.1 for each in senders(service))


def counted(outcome: str) -> float:
    labels = {"channel": "feishu", "trigger": "job_queued", "outcome": outcome}
    return REGISTRY.get_sample_value("muster_notices_total", labels) or 0.0


def waiting(channel: str) -> float | None:
    return REGISTRY.get_sample_value("muster_notices_pending", {"channel": channel})


async def test_what_becomes_of_notices_is_counted(stage: Stage) -> None:
    channel = Scripted([Fault.RATE, Fault.REFUSED])
    names = ("retry", "dead", "delivered", "stale", "withdrawn")
    before = {name: counted(name) for name in names}
    service = await stage.starts(channels={"feishu": channel})
    ledger = loop(service, "ledger")
    await hear(service, *QUEUED)
    await turn(senders(service))
    await turn([ledger])
    assert waiting("feishu") == 1
    stage.clock.moves(60)
    await hear(service, *queued(job="k1").steps[-1])
    await look(service)
    await turn([ledger])
    assert waiting("feishu") == 0
    await hear(service, *queued(job="k2").steps[-1])
    stage.clock.moves(3600)
    await turn([ledger])
    await hear(service, *queued(job="k3").steps[-1])
    await stage.starts(Rulebook())
    after = {name: counted(name) - before[name] for name in names}
    assert after == dict.fromkeys(names, 1)


@dataclass
class Overtaken(Scripted):
    """A channel on which the attempt takes so long that another replica has told it."""

    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def send(
        self, address: Address | None, message: Message, at: datetime, form: Form
    ) -> Delivery:
        if self.meanwhile is not None:
            await self.meanwhile()
        return await Scripted.send(self, address, message, at, form)


async def test_an_attempt_that_was_overtaken_is_not_counted(stage: Stage) -> None:
    channel = Overtaken()
    slow, other = await stage.starts(channels={"feishu": channel}), await stage.starts()

    async def meanwhile() -> None:
        stage.clock.moves(LEASE_S)
        await look(other)

    channel.meanwhile = meanwhile
    before = counted("delivered")
    await hear(slow, *QUEUED)
    await turn(senders(slow))
    assert len(stage.bot.received) == len(channel.sent) == 1
    assert counted("delivered") == before + 1


async def test_stopping_waits_for_a_transaction_that_a_loop_left_behind(stage: Stage) -> None:
    service = await stage.starts()
    engine = stage.databases[0].engine
    left_behind = engine.connect()
    stopping = asyncio.create_task(_stop(service))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not stopping.done()
    left_behind.close()
    await stopping
    stage.services.clear()


async def _stop(service: Service) -> None:
    await service.stop()


async def test_a_series_is_there_before_anything_was_counted(stage: Stage) -> None:
    await stage.starts()
    for outcome in OUTCOMES:
        labels = {"channel": "log", "trigger": "incident", "outcome": outcome}
        assert REGISTRY.get_sample_value("muster_notices_total", labels) is not None
    assert waiting("log") == 0
