"""Notifiers and a bot that keeps its limits as documented, in virtual time."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from benchmarks.notices import burst, evicted
from benchmarks.notices_bot import read
from benchmarks.notices_figures import figures
from benchmarks.notices_jobs import EVERY, EVICTIONS, LASTING, Told, rules
from benchmarks.notices_virtual import START, Stage, staged
from muster.notifier.core.notice import Trigger
from muster.notifier.settings import NotifierSettings

GROUPED = NotifierSettings(senders=3)
SINGLY = NotifierSettings(senders=3, grouped=False)


def check(stage: Stage, told: list[Told], triggers: tuple[Trigger, ...]) -> int:
    """Nothing is lost, told twice, out of order or refused; returns how many messages it took."""
    found = figures(told, triggers, read(stage.bot.received))
    assert (found.lost, found.twice, found.disordered, found.repeats) == (0, 0, 0, 0)
    assert stage.bot.refused == 0
    return found.messages


@pytest.mark.case("NTF-04")
@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize(("settings", "triggers"), [(GROUPED, EVERY), (SINGLY, LASTING)])
async def test_a_burst_is_told_once_in_order_and_within_the_bots_limits(
    database_url: str, replicas: int, settings: NotifierSettings, triggers: tuple[Trigger, ...]
) -> None:
    told = burst(240, triggers)
    async with staged(database_url, rules(triggers, "ops"), settings, replicas) as stage:
        await stage.plays(told)
        messages = check(stage, told, triggers)
        assert messages == 240 if settings is SINGLY else messages < 20
        assert (await stage.states())["delivered"] == 240


async def test_many_jobs_that_are_evicted_at_once_are_a_few_messages(database_url: str) -> None:
    told = evicted(300)
    async with staged(database_url, rules(EVICTIONS, "ops"), GROUPED) as stage:
        await stage.plays(told)
        assert check(stage, told, EVICTIONS) <= 12


@pytest.mark.case("NTF-04")
async def test_a_burst_over_a_full_hour_waits_for_the_rush_to_pass(database_url: str) -> None:
    hour = START.replace(minute=0) + timedelta(hours=1)
    told = burst(30, EVERY, hour - timedelta(seconds=15))
    async with staged(database_url, rules(EVERY, "ops"), GROUPED) as stage:
        stage.clock.at = hour - timedelta(seconds=20)
        await stage.plays(told)
        check(stage, told, EVERY)
        assert all(each.at - hour.timestamp() >= 20 for each in stage.bot.received)


@dataclass
class Busy:
    """Refuses whatever one address sends until a time."""

    stage: Stage
    until: float
    asked: list[float] = field(default_factory=list)

    def take(self, token: str, body: bytes, peer: str = "") -> tuple[int, str]:
        if token == "slow" and self.stage.clock.monotonic() < self.until:
            self.asked.append(self.stage.clock.monotonic())
            return 11232, "frequency limited"
        return type(self.stage.bot).take(self.stage.bot, token, body, peer)


@pytest.mark.case("NTF-04")
async def test_an_address_that_is_limited_slows_no_other(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = burst(60, EVERY)
    async with staged(database_url, rules(EVERY, "ops", "slow"), GROUPED) as stage:
        busy = Busy(stage, stage.clock.monotonic() + 300)
        monkeypatch.setattr(stage.bot, "take", busy.take)
        await stage.plays(told)
        for name in ("ops", "slow"):
            mine = [each for each in stage.bot.received if each.token == name]
            found = figures(told, EVERY, read(mine))
            assert (found.lost, found.twice, found.disordered) == (0, 0, 0)
            late = max(found.late)
            assert late < 90 if name == "ops" else late > 200
        assert 5 <= len(busy.asked) < 60, "it is left alone for longer and longer"
