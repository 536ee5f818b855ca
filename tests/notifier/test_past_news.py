"""What comes late or again: told with its own time and in order, or not at all, and counted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muster.contracts import notices as n
from muster.domain import facts as f
from muster.notifier.rulebook import Rulebook
from tests.notifier.asking import Locked, add, ask, request
from tests.notifier.lives import queued
from tests.notifier.stage import Stage, hear, live, look, loop, senders, turn


@pytest.fixture
async def stage(tmp_path: Path, database_url: str) -> AsyncIterator[Stage]:
    stage = Stage(tmp_path, database_url)
    yield stage
    for service in stage.services:
        await service.stop()


@pytest.mark.case("NTF-15")
@pytest.mark.parametrize(("minutes", "told"), [(29, ["运行中", "运行成功"]), (31, ["运行成功"])])
async def test_old_news_keeps_its_order_or_is_dropped_at_its_age(
    stage: Stage, minutes: int, told: list[str]
) -> None:
    service = await stage.starts()
    life = queued().runs().then(f.Succeeded(attempt=1))
    stage.clock.at = life.steps[-2][1].since
    stage.clock.moves(60 * minutes)
    for step in reversed(life.steps[-2:]):  # the younger one is heard first
        await hear(service, *step)
    await turn([loop(service, "ledger")])
    for _ in range(3):
        await turn(senders(service))
    assert stage.titles == told
    states = {row[0]: row[1] for row in await stage.rows()}
    assert states["running:1"] == ("delivered" if len(told) == 2 else "stale")
    if len(told) == 2:
        assert "2025-03-01 08:04" in stage.bot.received[0].text, "its own time"


@pytest.mark.case("NTF-15")
async def test_what_is_published_again_tells_nothing_new(stage: Stage) -> None:
    service = await stage.starts()
    life = queued().runs()
    await live(service, life)
    stage.clock.moves(3600)
    await live(service, life)
    await look(service)
    assert stage.titles == ["排队中", "运行中"]


@pytest.mark.case("NTF-15")
async def test_a_rule_that_is_made_after_an_event_is_not_told_of_it(stage: Stage) -> None:
    service = await stage.starts(Rulebook(), vault=Locked())
    life = queued().runs()
    stage.clock.at = life.at
    await add(service, trigger="job_running", id="on-time")
    stage.clock.moves(1)
    await add(service, trigger="job_running", id="late", user="bob")
    await live(service, life)
    found = await ask(service, n.AskDeliveries(), n.DeliveryViews)
    assert [each.rule for each in found.deliveries] == ["on-time"]


@pytest.mark.case("NTF-15")
async def test_a_rule_that_is_paused_while_its_notice_waits_sends_it_no_more(stage: Stage) -> None:
    service = await stage.starts(Rulebook(), vault=Locked())
    await add(service, id="mine")
    await hear(service, *queued().steps[-1])
    done = await ask(service, n.PauseRule(**request(rule="mine")), n.Done)
    assert done.count == 1
    await ask(service, n.ResumeRule(**request(rule="mine")), n.Done)
    await hear(service, *queued().steps[-1])
    await look(service)
    assert stage.titles == []
    assert await stage.rows() == [("queued:1", "withdrawn", 0)]
