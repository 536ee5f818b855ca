"""What the notifier does with a message: it stores what is to be told, and holds nothing up."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muster.bus import topology
from muster.domain import facts as f
from muster.domain.edges import Owner
from muster.domain.errors import Temporary
from muster.notifier.channels.port import Address
from muster.notifier.core.delivery import Fault
from muster.notifier.core.notice import Trigger
from muster.notifier.rulebook import Rulebook
from muster.notifier.sandbox import HOOK
from tests.notifier.lives import queued, rule
from tests.notifier.stage import BOOK, ORIGIN, Scripted, Stage, hear, live, senders, turn
from tests.support.leaks import TOKEN


@pytest.fixture
async def stage(tmp_path: Path, database_url: str) -> AsyncIterator[Stage]:
    stage = Stage(tmp_path, database_url)
    yield stage
    for service in stage.services:
        await service.stop()


async def test_a_life_is_told_card_by_card(stage: Stage) -> None:
    service = await stage.starts()
    assert service.owner is Owner.NOTIFIER
    assert service.subscriptions[0].consumer is topology.NOTIFIER_JOBS
    await service.ready()
    await live(service, queued().runs().then(f.Succeeded(attempt=1)))
    assert stage.titles == ["排队中", "运行中", "运行成功"]
    assert all("[Keywords] 训练" in message.text for message in stage.bot.received)
    assert [row[1] for row in await stage.rows()] == ["delivered"] * 3


@pytest.mark.case("BUS-19")
async def test_a_message_is_done_before_anybody_is_told(stage: Stage) -> None:
    channel = Scripted([Fault.RATE] * 9)
    service = await stage.starts(channels={"feishu": channel})
    for event, state in queued().runs().steps[1:2]:
        await hear(service, event, state)
    assert channel.sent == []
    assert await stage.rows() == [("queued:1", "pending", 0)]


async def test_a_bot_that_is_away_keeps_no_message(stage: Stage) -> None:
    channel = Scripted([Fault.RATE] * 99)
    service = await stage.starts(channels={"feishu": channel})
    for number in range(20):
        life = queued(job=f"j{number}")
        for _ in range(2):
            await hear(service, *life.steps[-1])
            await turn(senders(service))
    assert len(await stage.rows()) == 20


async def test_what_comes_again_is_stored_and_told_once(stage: Stage) -> None:
    one, two = await stage.starts(), await stage.starts()
    life = queued().runs()
    for _ in range(3):
        for service in (one, two):
            await live(service, life)
    assert stage.titles == ["排队中", "运行中"]
    assert len(await stage.rows()) == 2


async def test_all_rules_of_an_event_are_stored_together_or_not_at_all(stage: Stage) -> None:
    two = [rule(Trigger.JOB_QUEUED, prefix=name) for name in ("a", "b")]
    service = await stage.starts(Rulebook(tuple(two), BOOK.addresses))
    used = stage.databases[0].used
    await hear(service, *queued().steps[-1])
    assert stage.databases[0].used == used + 1
    assert len(await stage.rows()) == 2


async def test_a_message_waits_for_a_database_that_is_away(stage: Stage) -> None:
    service = await stage.starts()
    stage.databases[0].lost = 1
    with pytest.raises(Temporary):
        await hear(service, *queued().steps[-1])
    await live(service, queued())
    assert stage.titles == ["排队中"]


async def test_events_that_tell_nothing_touch_no_database(stage: Stage) -> None:
    service = await stage.starts()
    used = stage.databases[0].used
    for event, state in queued().runs().steps[2:4]:
        await hear(service, event, state)
    await turn(senders(service))
    assert stage.databases[0].used == used


async def test_a_rule_that_begins_now_is_not_told_of_the_past(stage: Stage) -> None:
    life = queued()
    stage.clock.moves(120)
    service = await stage.starts()
    await live(service, life)
    assert stage.titles == []
    assert await stage.rows() == []


async def test_the_log_channel_says_it_in_the_log(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    spoken = rule(Trigger.JOB_QUEUED, channel="log", address="", language="en")
    service = await stage.starts(Rulebook((spoken,), {}))
    await live(service, queued())
    assert "queued · llama-sft" in caplog.text
    assert "n-" in caplog.text


async def test_nothing_secret_is_written_anywhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    stage = Stage(tmp_path, f"sqlite:///{tmp_path / 'n.db'}")
    service = await stage.starts()
    stage.bot.refuse_next.append((19001, f"bad {ORIGIN}{HOOK}{TOKEN}"))
    life = queued().runs()
    await hear(service, *life.steps[1])
    waiting = (tmp_path / "n.db-wal").read_bytes()
    await live(service, life)
    said = caplog.text + "".join(capsys.readouterr())
    stored = waiting + (tmp_path / "n.db").read_bytes() + (tmp_path / "n.db-wal").read_bytes()
    await service.stop()
    (address,) = BOOK.addresses.values()
    for secret in _secrets(address):
        assert secret not in said
        assert secret.encode() not in stored
    assert b"llama-sft" in waiting, "the card's inputs are there"
    assert "notice" in said


def _secrets(address: Address) -> tuple[str, ...]:
    assert address.secret is not None
    return HOOK, address.url.get_secret_value(), f'"{address.secret.get_secret_value()}"'
