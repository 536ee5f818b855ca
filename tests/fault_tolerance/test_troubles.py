"""Incidents in time: one for many jobs, whoever sees it; silence that freezes and thaws."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from muster.contracts import subjects
from muster.domain import nodes as n
from muster.domain.diagnosis import Blame
from muster.domain.edges import Owner
from muster.domain.incidents import Incident, IncidentClosed, IncidentKind, incident_id
from muster.fault_tolerance.core.attributed import Attributed, Machine, Mark, Shared
from muster.fault_tolerance.core.freeze import silence_id
from tests.fault_tolerance.fleets import failed
from tests.fault_tolerance.stage import Stage

STORAGE = incident_id(IncidentKind.STORAGE, "nfs-1")
REGISTRY = incident_id(IncidentKind.REGISTRY, "r.example")
SILENCE = silence_id("default")


async def consider(stage: Stage, number: int, failure: Attributed) -> Incident | None:
    """Either replica judges a failure."""
    now = replace(failure, at=stage.at)
    return await stage.replicas[number % 2].troubles.consider(now)


async def test_thirty_jobs_on_one_storage_are_one_incident() -> None:
    stage = Stage()
    explained = []
    for number in range(30):
        stage.later(seconds=1)
        found = await consider(stage, number, failed(f"j{number}", f"u{number % 4}"))
        explained.append(found is not None)
    assert explained == [False] * 2 + [True] * 28
    events = await stage.events(subjects.incident_key(STORAGE))
    assert events[0] == "opened"
    assert events.count("opened") == 1
    assert set(events[1:]) == {"updated"}
    incident = await stage.incident(STORAGE)
    assert incident is not None
    assert (incident.jobs, incident.users, incident.number) == (30, 4, 1)


async def test_an_incident_is_over_when_nothing_fails_any_more() -> None:
    stage = Stage()
    for number in range(3):
        await consider(stage, number, failed(f"j{number}", f"u{number}"))
    stage.later(seconds=1199)
    await stage.sweep()
    assert await stage.events(subjects.incident_key(STORAGE)) == ["opened"]
    stage.later(seconds=1)
    await stage.sweep()
    assert await stage.events(subjects.incident_key(STORAGE)) == ["opened", "closed"]
    assert await consider(stage, 0, failed("k1")) is None


async def test_a_registry_that_answers_503_is_one_incident_and_not_one_for_each_image() -> None:
    stage = Stage()
    for number in range(6):
        marks = (
            Mark(Shared.REGISTRY, "r.example"),
            Mark(Shared.IMAGE, f"r.example/train:{number % 2}"),
        )
        bad = failed(f"j{number}", f"u{number}", blame=Blame.PLATFORM, marks=marks)
        await consider(stage, number, bad)
    assert (await stage.incident(REGISTRY)) is not None
    images = [incident_id(IncidentKind.IMAGE, f"r.example/train:{number}") for number in range(2)]
    assert [await stage.incident(name) for name in images] == [None, None]


async def test_no_machine_is_to_blame_for_what_all_of_them_share() -> None:
    stage = Stage()
    await stage.pool_of(20)
    for number in range(6):
        bad = failed(f"j{number}", f"u{number}", machines=(Machine("n3"),), nodes=("n3",))
        await consider(stage, number, bad)
    for number in range(2):
        own = failed(f"k{number}", f"u{number}", machines=(Machine("n3"),), marks=())
        await consider(stage, number, own)
    await stage.sweep()
    (found,) = await stage.replicas[0].around.records("default", ["n3"], ("t", "other"))
    assert (found.jobs, found.users) == (2, 2)
    assert await stage.node_events("n3") == ["joined"]


@pytest.mark.parametrize("blame", [Blame.USER, Blame.DATA, Blame.UNKNOWN])
async def test_peoples_own_mistakes_are_no_incident(blame: Blame) -> None:
    stage = Stage()
    for number in range(30):
        await consider(stage, number, failed(f"j{number}", f"u{number}", blame=blame))
    assert await stage.incident(STORAGE) is None


async def test_a_person_closes_an_incident_and_only_new_failures_open_it_again() -> None:
    stage = Stage()
    for number in range(4):
        await consider(stage, number, failed(f"j{number}", f"u{number}"))
    await closes(stage, STORAGE)
    await stage.sweep()
    assert await consider(stage, 0, failed("j0")) is None
    stage.later(seconds=1)
    for number in range(3):
        await consider(stage, number, failed(f"k{number}", f"u{number}"))
    again = await stage.incident(STORAGE)
    assert again is not None
    assert (again.open, again.number) == (True, 2)


async def closes(stage: Stage, name: str) -> None:
    known = await stage.incident(name)
    assert known is not None
    over = known.model_copy(update={"closed_at": stage.at, "closed_by": "op"})
    journal = stage.journal(Owner.ADMISSION)
    await journal.advance_incident(name, lambda before, now: IncidentClosed(incident=over))


async def silent(stage: Stage, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        await stage.say(f"n{number}", n.NodeLost())


def frozen(stage: Stage) -> list[bool]:
    return [replica.around.frozen("default") is not None for replica in stage.replicas]


@pytest.mark.parametrize(("count", "expected"), [(4, False), (5, True)])
async def test_five_silent_nodes_freeze_a_pool(count: int, expected: bool) -> None:
    stage = Stage()
    await stage.pool_of(40)
    for number in range(count):
        await silent(stage, 1, number)
        stage.later(seconds=15)
    await stage.sweep()
    assert frozen(stage) == [expected] * 2
    assert (await stage.incident(SILENCE) is not None) is expected


@pytest.mark.parametrize(("gap", "expected"), [(15.0, True), (15.1, False)])
async def test_within_a_minute(gap: float, expected: bool) -> None:
    stage = Stage()
    await stage.pool_of(40)
    for number in range(5):
        await silent(stage, 1, number)
        stage.later(seconds=gap)
    await stage.sweep()
    assert frozen(stage) == [expected] * 2


async def test_a_pool_that_is_heard_of_again_thaws() -> None:
    stage = Stage()
    await stage.pool_of(40)
    await silent(stage, 6)
    await stage.sweep()
    assert frozen(stage) == [True, True]
    await stage.join("n0")
    await stage.sweep()
    assert frozen(stage) == [True, True]
    await stage.join("n1")
    await stage.sweep()
    assert frozen(stage) == [False, False]
    events = await stage.events(subjects.incident_key(SILENCE))
    assert events == ["opened", "updated", "closed"]


async def test_a_person_says_that_silent_nodes_are_dead() -> None:
    stage = Stage()
    await stage.pool_of(40)
    await silent(stage, 5)
    await stage.sweep()
    stage.later(minutes=3)
    await closes(stage, SILENCE)
    await stage.sweep()
    assert frozen(stage) == [False, False]
    stage.later(minutes=3)
    await silent(stage, 5, first=10)
    await stage.sweep()
    assert frozen(stage) == [True, True]
    again = await stage.incident(SILENCE)
    assert again is not None
    assert again.number == 2


async def test_a_closed_storage_incident_does_not_thaw_a_pool() -> None:
    stage = Stage()
    await stage.pool_of(40)
    await silent(stage, 5)
    for number in range(3):
        await consider(stage, number, failed(f"j{number}", f"u{number}"))
    stage.at += timedelta(minutes=21)
    await stage.sweep()
    storage = await stage.incident(STORAGE)
    assert storage is not None
    assert not storage.open
    assert frozen(stage) == [True, True]
