"""Against floods: the flap guard, reminders and silences, as values and in the service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from muster.domain import facts as f
from muster.notifier import silencing
from muster.notifier.core.damping import ROUNDS, WINDOW, Damping, Recent, damp
from muster.notifier.core.notice import Kind, Notice, Trigger
from muster.notifier.core.reminders import EVERY, MOST, reminder_after, somebody_acted
from muster.notifier.core.silences import Matter, Silence
from tests.notifier.lives import queued
from tests.notifier.stage import Stage, hear, look, senders, turn
from tests.notifier.test_cards import notice

NOW = datetime(2025, 3, 1, 8, 0, tzinfo=UTC)
T = Trigger


def nth(number: int, trigger: Trigger = T.JOB_QUEUED, seconds: float = 60) -> Notice:
    told = notice(trigger)
    at = NOW + timedelta(seconds=number * seconds)
    return replace(told, transition=f"{trigger.value}:{number}", version=number, at=at)


def as_recent(told: Notice, *, held: bool = False) -> Recent:
    return Recent(
        told.key, told.trigger, told.kind, told.transition, told.at, told.version, held=held
    )


def live(count: int, *, seconds: float = 60) -> list[Damping]:
    """What becomes of a job's queue entries, one after another."""
    recent: list[Recent] = []
    found = []
    for number in range(count):
        damping = damp(nth(number, seconds=seconds), recent)
        recent = [replace(r, held=r.held and r.key not in damping.damped) for r in recent]
        recent += [as_recent(each, held=each.due is not None) for each in damping.store]
        found.append(damping)
    return found


def test_a_job_may_come_back_three_times_and_the_fourth_is_flapping() -> None:
    found = live(ROUNDS + 3)
    assert [len(each.store) for each in found] == [1, 1, 1, 1, 2, 1]
    told, held = found[ROUNDS + 1].store
    assert (told.kind, told.due) == (Kind.FLAPPING, None)
    assert (held.kind, held.due) == (Kind.NEWS, held.at + WINDOW)
    assert found[ROUNDS + 2].damped == (held.key,), "the youngest stands for those before it"


def test_the_same_changes_over_a_longer_time_are_told_one_by_one() -> None:
    found = live(20, seconds=WINDOW.total_seconds() / ROUNDS)
    assert all(len(each.store) == 1 and each.store[0].due is None for each in found)


@pytest.mark.parametrize("trigger", [T.JOB_ABNORMAL, T.JOB_FAILED, T.JOB_SUCCEEDED])
def test_how_it_came_out_is_never_held_back_and_ends_what_was(trigger: Trigger) -> None:
    recent = [as_recent(nth(n), held=n > 4) for n in range(7)]
    damping = damp(nth(8, trigger), recent)
    assert damping.store == (nth(8, trigger),)
    assert set(damping.damped) == {nth(5).key, nth(6).key}


def test_a_repeat_of_an_event_ends_nothing_that_is_younger() -> None:
    recent = [as_recent(nth(n), held=n == 6) for n in range(7)]
    assert damp(nth(5), recent).damped == ()


def test_another_trigger_is_another_count() -> None:
    recent = [as_recent(nth(n)) for n in range(5)]
    assert damp(nth(5, T.JOB_RUNNING), recent).store == (nth(5, T.JOB_RUNNING),)


def test_a_reminder_follows_every_four_hours_six_times() -> None:
    told: Notice | None = notice(T.JOB_ABNORMAL)
    seen = []
    while told is not None:
        told = reminder_after(told, NOW)
        if told is not None:
            seen.append(told)
    assert len(seen) == MOST
    assert all(each.due == NOW + EVERY and each.kind is Kind.REMINDER for each in seen)
    assert len({each.key for each in seen}) == MOST


@pytest.mark.parametrize("trigger", [t for t in Trigger if t is not T.JOB_ABNORMAL])
def test_nothing_else_is_reminded_of(trigger: Trigger) -> None:
    assert reminder_after(nth(1, trigger), NOW) is None


def test_who_acts_is_a_person_and_not_the_job() -> None:
    parked = queued().then(f.QueueTimedOut(entry=1))
    assert not somebody_acted(*parked.steps[-1])
    parked.then(f.Resumed(by="bob", request="q1"))
    assert somebody_acted(*parked.steps[-1])


MATTER = Matter("acme", "j1", "r1", T.JOB_FAILED, "alice", (("team", "nlp"), ("x", "y")))
SILENCE = Silence("s1", "acme", NOW, NOW + timedelta(hours=1), "ops", "maintenance")


@pytest.mark.parametrize(
    ("values", "covers"),
    [
        ({}, True),
        ({"tenant": "other"}, False),
        ({"subject": "j1"}, True),
        ({"subject": "j2"}, False),
        ({"rule": "r1", "owner": "alice"}, True),
        ({"rule": "r1", "owner": "bob"}, False),
        ({"triggers": (T.JOB_FAILED, T.JOB_QUEUED)}, True),
        ({"triggers": (T.JOB_QUEUED,)}, False),
        ({"labels": (("team", "nlp"),)}, True),
        ({"labels": (("team", "nlp"), ("x", "z"))}, False),
    ],
)
def test_what_a_silence_covers(values: dict[str, Any], covers: bool) -> None:
    assert replace(SILENCE, **values).covers(MATTER, NOW) is covers


@pytest.mark.parametrize(
    ("seconds", "covers"), [(-1, False), (0, True), (3599, True), (3600, False)]
)
def test_a_silence_has_a_beginning_and_an_end(seconds: int, covers: bool) -> None:
    assert SILENCE.covers(MATTER, NOW + timedelta(seconds=seconds)) is covers


@pytest.fixture
async def stage(tmp_path: Path, database_url: str) -> AsyncIterator[Stage]:
    stage = Stage(tmp_path, database_url)
    yield stage
    for service in stage.services:
        await service.stop()


async def states(stage: Stage) -> dict[str, str]:
    return {transition: state for transition, state, _ in await stage.rows()}


@pytest.mark.case("NTF-09")
@pytest.mark.parametrize("restarts", [False, True], ids=["one life", "a restart in between"])
async def test_a_job_that_flaps_is_damped_and_its_end_is_told(stage: Stage, restarts: bool) -> None:
    service = await stage.starts()
    life = queued().runs()
    for number in range(7):
        life.evicted().requeued(counted=False).runs()
        if restarts and number == 3:
            service = await stage.starts()
    for event, state in life.steps[1:]:
        if event in {"admitted", "requeued", "started"}:
            await hear(service, event, at_once(state))
            await turn(senders(service))
    flapping = stage.titles.count("频繁驱逐")
    assert flapping == 2, "once for each of the two rules"
    assert len(stage.titles) <= 2 * (ROUNDS + 1) + 2
    assert "damped" in (await states(stage)).values()


def at_once(state: Any) -> Any:
    """The same state, as if everything had happened within a few minutes."""
    at = NOW + timedelta(seconds=60 + state.version)
    return state.model_copy(update={"since": at, "entered_at": at})


@pytest.mark.sibling_of("NTF-09")
async def test_what_is_held_back_is_told_once_it_is_calm(stage: Stage) -> None:
    service = await stage.starts()
    life = queued().runs()
    for _ in range(7):
        life.evicted().requeued(counted=False).runs()
    for event, state in life.steps[1:]:
        if event in {"admitted", "requeued", "started"}:
            await hear(service, event, at_once(state))
            await turn(senders(service))
    before = len(stage.titles)
    stage.clock.at = NOW + WINDOW + timedelta(minutes=5)
    await look(service)
    assert stage.titles[before:] == ["运行中"], "the state that it is in, and no older one"


async def test_a_silence_is_kept_and_what_it_swallows_is_counted(stage: Stage) -> None:
    service = await stage.starts()
    silence = replace(SILENCE, triggers=(T.JOB_QUEUED,), end=NOW + timedelta(minutes=10))
    await stage.databases[-1].run(partial(silencing.put, silence=silence))
    await hear(service, *queued().steps[-1])
    await look(service)
    assert stage.titles == []
    assert await states(stage) == {"queued:1": "silenced"}
    stage.clock.moves(600)
    await hear(service, *queued(job="j2").steps[-1])
    await look(service)
    assert stage.titles == ["排队中"]


async def test_a_parked_job_is_reminded_of_until_a_person_acts(stage: Stage) -> None:
    service = await stage.starts()
    life = queued().then(f.QueueTimedOut(entry=1))
    await hear(service, *life.steps[-1])
    await look(service)
    for _ in range(2):
        stage.clock.moves(EVERY.total_seconds())
        await look(service)
    assert stage.titles == ["异常", "提醒", "提醒"]
    life.at = stage.clock.at
    await hear(service, *life.then(f.Resumed(by="bob", request="q1")).steps[-1])
    await look(service)
    stage.clock.moves(EVERY.total_seconds())
    await look(service)
    assert stage.titles[3:] == ["排队中"]
    left = await states(stage)
    assert left["abnormal:3:reminder:3"] == "acted"
    assert "pending" not in left.values()
