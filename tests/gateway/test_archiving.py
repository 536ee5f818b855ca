"""Every event is kept once, a whole history ends with `archived`, and losses are made good."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from muster.bus import Trigger
from muster.domain import facts as f
from muster.domain.edges import Owner
from muster.domain.errors import Permanent, Temporary
from muster.domain.phases import Phase
from muster.gateway.settings import GatewaySettings
from muster.gateway.store import export
from muster.gateway.store.tables import events, jobs
from muster.gateway.store.writing import AnotherLog
from muster.runtime.database import Database
from tests.gateway.worlds import START, TENANT, Gateway, World, opened, rows, sqlite_url


async def last_event(world: World, job: str) -> str:
    last = await world.pen(Owner.GATEWAY).job(TENANT, job)
    assert last is not None
    return str(last.event.data.detail.event)


async def test_every_event_is_kept_byte_for_byte(
    gateway: Gateway, world: World, database: Database
) -> None:
    await world.joined("n1")
    await world.running("j1")
    await gateway.feed()
    kept = {row["seq"]: row for row in rows(database, events)}
    assert {seq: row["body"].encode() for seq, row in kept.items()} == {
        entry.seq: entry.body for entry in world.store.entries
    }
    assert kept[1]["job"] is None
    assert (kept[2]["job"], kept[2]["version"]) == ("j1", 1)


async def test_a_job_that_ended_is_archived_once(gateway: Gateway, world: World) -> None:
    await world.ended("j1")
    await gateway.feed()
    last = await world.pen(Owner.GATEWAY).job(TENANT, "j1")
    assert last is not None
    assert last.event.data.detail == f.Archived(phase=Phase.SUCCEEDED)
    assert last.job.archived
    assert last.job.version == 8
    for trigger in list(world.triggers()):
        await gateway.handlers.on_event(trigger)
    assert await world.log.end() == 8


@pytest.mark.parametrize("seed", range(10))
async def test_any_order_and_doubles_give_the_same_archive(
    gateway: Gateway, world: World, database: Database, seed: int
) -> None:
    await world.ended("j1", labels={"team": "vision"})
    await world.queued("j2")
    told = [*world.triggers(), *world.triggers()]
    random.Random(seed).shuffle(told)
    for trigger in told:
        await gateway.handlers.on_event(trigger)
    await gateway.feed()
    assert await last_event(world, "j1") == "archived"
    assert await last_event(world, "j2") == "admitted"
    with database.engine.connect() as connection:
        assert list(export.check(connection)) == []
        assert export.gaps(connection) == []


async def test_a_job_that_still_holds_nodes_is_not_archived(gateway: Gateway, world: World) -> None:
    await world.running("j1")
    await world.say("j1", Owner.EXECUTOR, f.Succeeded(attempt=1))
    await gateway.feed()
    assert await last_event(world, "j1") == "succeeded"
    await world.say("j1", Owner.EXECUTOR, f.Released(attempt=1))
    await gateway.feed()
    assert await last_event(world, "j1") == "archived"


async def test_labels_after_the_end_are_kept_too(
    gateway: Gateway, world: World, database: Database
) -> None:
    await world.ended("j1")
    await gateway.feed()
    await world.relabelled("j1", {"kept": "yes"})
    await gateway.feed()
    (row,) = rows(database, jobs)
    assert row["version"] == 9
    assert '"kept":"yes"' in row["state"]


async def test_a_lost_trigger_is_found_by_the_sweep(gateway: Gateway, world: World) -> None:
    await world.ended("j1")
    for trigger in list(world.triggers()):
        if not trigger.subject.endswith("released"):
            await gateway.handlers.on_event(trigger)
    await gateway.follow.step()
    await gateway.handlers.sweep()
    assert await last_event(world, "j1") == "released", "the consumer is given a little time"
    world.clock.pass_by(seconds=10)
    await gateway.handlers.sweep()
    assert await last_event(world, "j1") == "archived"


async def test_an_emptied_archive_is_filled_from_the_log(
    gateway: Gateway, world: World, database: Database
) -> None:
    await world.ended("j1")
    await gateway.feed()
    with database.engine.begin() as connection:
        connection.execute(sa.delete(events))
        connection.execute(sa.delete(jobs))
    await gateway.follow.step()
    await gateway.handlers.hand_over()
    assert [row["version"] for row in rows(database, events)] == list(range(1, 9))
    assert gateway.view.jobs == {}


async def test_a_job_whose_history_is_lost_stays_in_the_view(
    gateway: Gateway, world: World, database: Database
) -> None:
    last = await world.ended("j1")
    await gateway.feed()
    world.store.forget("jobs.acme.j1.>", last.seq)
    with database.engine.begin() as connection:
        connection.execute(sa.delete(events))
    await gateway.follow.step()
    for _ in range(3):
        await gateway.handlers.hand_over()
    assert (TENANT, "j1") in gateway.view.jobs


async def test_an_archived_job_is_left_to_the_archive(gateway: Gateway, world: World) -> None:
    await world.ended("j1")
    await world.queued("j2")
    await gateway.settle()
    assert list(gateway.view.jobs) == [(TENANT, "j2")]


async def test_a_sequence_with_another_event_means_another_log(
    gateway: Gateway, world: World, database: Database
) -> None:
    await world.queued("j1")
    await gateway.feed()
    other = World(world.clock)
    await other.queued("other")
    trigger = next(other.triggers())
    assert trigger.event is not None
    fresh = trigger.event.model_copy(update={"id": "somebody-else"})
    with pytest.raises(AnotherLog, match="sequence 1"):
        await gateway.handlers.on_event(
            Trigger(trigger.subject, 1, START, 1, fresh.to_bytes(), event=fresh)
        )
    assert len(rows(database, events)) == 2


async def test_what_is_no_event_is_for_a_person(gateway: Gateway) -> None:
    with pytest.raises(Permanent):
        await gateway.handlers.on_event(Trigger("jobs.a.b.c", 1, START, 1, b"{"))


async def test_what_waits_at_once_is_kept_together_and_each_sees_to_its_own(
    world: World, tmp_path: Path
) -> None:
    for number in range(10):
        await world.ended(f"j{number}")
    with opened(sqlite_url(tmp_path), threaded=True) as database:
        gateway = Gateway(world, database, GatewaySettings())
        triggers = list(world.triggers())
        await asyncio.gather(*(gateway.handlers.on_event(trigger) for trigger in triggers))
        assert len(rows(database, events)) == len(triggers)
        await gateway.feed()
        assert [await last_event(world, f"j{n}") for n in range(10)] == ["archived"] * 10


async def test_a_helper_that_fails_takes_nobody_elses_event_along(
    gateway: Gateway, world: World, database: Database
) -> None:
    """Both wait; the first one's transaction fails with the second one's event in it."""
    await world.queued("j1")
    first, second = world.triggers()
    failing = 2

    def put(work: Callable[[sa.Connection], object]) -> object:
        nonlocal failing
        with database.engine.begin() as connection:
            result = work(connection)
            failing -= 1
            if failing >= 0:
                connection.rollback()
                raise Temporary("the commit failed")
            return result

    async def run(work: Callable[[sa.Connection], object]) -> object:
        await asyncio.sleep(0)
        return put(work)

    database.run = run  # type: ignore[assignment, method-assign]
    told = await asyncio.gather(
        *(gateway.handlers.on_event(trigger) for trigger in (first, second)),
        return_exceptions=True,
    )
    assert [type(result) for result in told] == [Temporary, Temporary]
    assert rows(database, events) == []
    for trigger in (first, second):
        await gateway.handlers.on_event(replace(trigger, delivered=2))
    assert [row["seq"] for row in rows(database, events)] == [1, 2]
