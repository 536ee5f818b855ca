"""The log forgets what the archive holds, not before its time, and never the last event."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from muster.bus.topology import STREAMS, Stream
from muster.domain import facts as f
from muster.domain.edges import Owner
from muster.domain.phases import Phase
from muster.gateway.settings import GatewaySettings
from muster.gateway.store.tables import events, jobs
from muster.runtime.database import Database
from tests.gateway.worlds import TENANT, Gateway, World, rows


def left(world: World, job: str) -> list[str]:
    """The events of a job that the log still has."""
    return [t.subject.rpartition(".")[2] for t in world.triggers() if f".{job}." in t.subject]


async def test_a_day_after_its_end_only_the_last_event_stays(
    gateway: Gateway, world: World
) -> None:
    await world.ended("j1")
    await gateway.settle()
    world.clock.pass_by(hours=23)
    await gateway.handlers.trim()
    assert len(left(world, "j1")) == 8
    world.clock.pass_by(hours=2)
    await gateway.handlers.trim()
    assert left(world, "j1") == ["archived"]


async def test_the_timeline_is_still_whole_after_that(gateway: Gateway, world: World) -> None:
    await world.ended("j1")
    await gateway.settle()
    world.clock.pass_by(hours=25)
    await gateway.handlers.trim()
    life = await gateway.reading.life(TENANT, "j1")
    assert life is not None
    assert [told.event.data.job.version for told in life.timeline] == list(range(1, 9))
    assert life.missing == ()


async def test_a_job_that_runs_or_is_not_archived_is_never_trimmed(
    gateway: Gateway, world: World
) -> None:
    await world.running("j1")
    await world.ended("j2")
    for trigger in list(world.triggers())[:-1]:
        await gateway.handlers.on_event(trigger)
    world.clock.pass_by(hours=48)
    await gateway.handlers.trim()
    assert len(left(world, "j1")) == 5
    assert len(left(world, "j2")) == 7


@pytest.mark.case("SCL-10")
async def test_age_alone_takes_nothing_away(gateway: Gateway, world: World) -> None:
    """Forty days later what runs and what waits for a person is all there; what has ended goes."""
    limits = f.QueueTimedOut(entry=1)
    await world.running("v")
    await world.queued("q")
    await world.say("q", Owner.REQUEUE, limits)
    await world.ended("e")
    await gateway.settle()
    world.clock.pass_by(days=40)
    await gateway.handlers.trim()
    await gateway.settle()
    assert left(world, "e") == ["archived"]
    assert len(left(world, "v")) == 5
    assert len(left(world, "q")) == 3
    there = {job: seen.state.phase for (_, job), seen in gateway.view.jobs.items()}
    assert there == {"v": Phase.RUNNING, "q": Phase.ABNORMAL}
    assert [spec.max_age for spec in STREAMS if spec.name is Stream.EVENTS] == [0]


@pytest.mark.sibling_of("SCL-10")
async def test_what_ended_goes_by_its_end_not_by_its_beginning(
    gateway: Gateway, world: World
) -> None:
    await world.running("old")
    world.clock.pass_by(days=40)
    await world.say("old", Owner.EXECUTOR, f.Succeeded(attempt=1))
    await world.say("old", Owner.EXECUTOR, f.Released(attempt=1))
    await gateway.settle()
    await gateway.handlers.trim()
    assert len(left(world, "old")) == 8


async def test_what_happened_since_is_archived_before_anything_is_forgotten(
    gateway: Gateway, world: World
) -> None:
    await world.ended("j1")
    await gateway.settle()
    world.clock.pass_by(hours=25)
    await world.relabelled("j1", {"a": "b"})
    await gateway.handlers.trim()
    assert len(left(world, "j1")) == 9
    await gateway.settle()
    await gateway.handlers.trim()
    assert left(world, "j1") == ["relabelled"]


async def test_nothing_is_forgotten_while_the_archive_has_a_gap(
    gateway: Gateway, world: World, database: Database
) -> None:
    await world.ended("j1")
    await gateway.settle()
    with database.engine.begin() as connection:
        connection.execute(sa.delete(events).where(events.c.version == 3))
    world.clock.pass_by(hours=25)
    await gateway.handlers.trim()
    assert {row["version"] for row in rows(database, events)} == set(range(1, 9))
    assert left(world, "j1") == ["archived"]


async def test_a_turn_is_bounded_and_turns_do_not_repeat_themselves(
    world: World, database: Database
) -> None:
    gateway = Gateway(world, database, GatewaySettings(trim_jobs=2))
    for number in range(5):
        await world.ended(f"j{number}")
    await gateway.settle()
    world.clock.pass_by(hours=25)
    done = []
    for _ in range(4):
        await gateway.handlers.trim()
        done.append(sum(row["trimmed"] for row in rows(database, jobs)))
    assert done == [2, 4, 5, 5]


async def test_zero_hours_means_never(world: World, database: Database) -> None:
    gateway = Gateway(world, database, GatewaySettings(hot_hours=0))
    await world.ended("j1")
    await gateway.settle()
    world.clock.pass_by(hours=1000)
    await gateway.handlers.trim()
    assert len(left(world, "j1")) == 8


async def test_a_request_after_trimming_still_meets_the_last_state(
    gateway: Gateway, world: World
) -> None:
    await world.ended("j1")
    await gateway.settle()
    world.clock.pass_by(hours=25)
    await gateway.handlers.trim()
    last = await world.relabelled("j1", {"late": "yes"})
    assert last.job.version == 9
    await gateway.settle()
    life = await gateway.reading.life(TENANT, "j1")
    assert life is not None
    assert life.missing == ()
    assert await world.pen(Owner.GATEWAY).job(TENANT, "j1") == last


@pytest.mark.parametrize("restarts", [1, 3])
async def test_a_gateway_that_starts_on_a_trimmed_log_knows_the_same(
    gateway: Gateway, world: World, database: Database, restarts: int
) -> None:
    await world.ended("j1")
    await world.running("j2")
    await gateway.settle()
    world.clock.pass_by(hours=25)
    await gateway.handlers.trim()
    for _ in range(restarts):
        again = Gateway(world, database, gateway.settings)
        await again.settle()
        assert list(again.view.jobs) == [(TENANT, "j2")]
