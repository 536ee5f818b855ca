"""The stream of changes: present state first, then every change; resumed without loss; bounded."""

from __future__ import annotations

import pytest

from muster.gateway.settings import GatewaySettings
from muster.runtime.database import Database
from tests.gateway.web import Connection, application, client, stream
from tests.gateway.worlds import Gateway, World
from tests.support.eventually import eventually


@pytest.fixture
async def ready(gateway: Gateway, world: World) -> Gateway:
    """j1 waits, j2 runs."""
    await world.queued("j1")
    await world.running("j2", tenant="zoo")
    await gateway.follow.step()
    return gateway


async def told(connection: Connection, count: int) -> list[tuple[str, str]]:
    events = [await connection.next("status") for _ in range(count)]
    return [(event.data["job"], event.data["phase"]) for event in events]


async def test_it_begins_with_the_present_and_goes_on_with_every_change(
    ready: Gateway, world: World
) -> None:
    async with stream(application(ready)) as connection:
        assert await told(connection, 2) == [("j1", "queued"), ("j2", "running")]
        await world.ended("j3")
        await ready.follow.step()
        assert [phase for _, phase in await told(connection, 3)] == [
            "submitted",
            "queued",
            "starting",
        ]
    assert ready.hub.listeners == 0


async def test_ids_are_the_logs_sequences_and_data_is_the_row_of_the_listing(
    ready: Gateway,
) -> None:
    app = application(ready)
    async with stream(app, "?lang=zh") as connection, client(app) as http:
        event = await connection.next()
        listed = (await http.get("/api/v1/jobs/acme/j1?lang=zh")).json()["job"]
    assert event.name == "status"
    assert event.id == event.data["seq"] == 2
    assert event.data == listed


async def test_a_stream_tells_of_the_tenant_and_job_it_was_asked_for(
    ready: Gateway, world: World
) -> None:
    app = application(ready)
    async with stream(app, "?tenant=acme") as acme, stream(app, "?tenant=zoo&job=j9") as one:
        await acme.beat()
        await one.beat()
        await world.queued("j8", tenant="zoo")
        await world.queued("j9", tenant="zoo")
        await world.queued("j9", tenant="acme")
        await ready.follow.step()
        assert await told(acme, 2) == [("j1", "queued"), ("j9", "submitted")]
        assert await told(one, 2) == [("j9", "submitted"), ("j9", "queued")]


async def test_without_a_snapshot_only_changes_are_told(ready: Gateway, world: World) -> None:
    async with stream(application(ready), "?snapshot=false") as connection:
        await connection.beat()
        await world.queued("j3")
        await ready.follow.step()
        assert await told(connection, 2) == [("j3", "submitted"), ("j3", "queued")]


async def test_an_idle_stream_shows_that_it_lives(ready: Gateway) -> None:
    async with stream(application(ready), "?snapshot=false") as connection:
        await connection.beat()
        await connection.beat()
        assert connection.status == 200


@pytest.mark.parametrize("how", ["header", "parameter"])
async def test_who_comes_back_hears_every_change_since(
    ready: Gateway, world: World, how: str
) -> None:
    app = application(ready)
    async with stream(app) as connection:
        await told(connection, 1)
        seen = (await connection.next("status")).id
    await world.queued("j3")
    await ready.follow.step()
    headers = {"Last-Event-ID": str(seen)} if how == "header" else {}
    query = "" if how == "header" else f"?after={seen}"
    async with stream(app, query, headers) as connection:
        assert await told(connection, 2) == [("j3", "submitted"), ("j3", "queued")]
        await world.queued("j4")
        await ready.follow.step()
        assert await told(connection, 1) == [("j4", "submitted")]


async def test_who_was_away_for_long_hears_where_each_job_stands_now(
    ready: Gateway, world: World
) -> None:
    """Also of the jobs that only the archive knows by now."""
    app = application(ready)
    await world.ended("j3")
    await world.running("j4")
    await ready.settle()
    await ready.follow.step()
    assert ("acme", "j3") not in ready.view.jobs
    async with stream(app, "", {"Last-Event-ID": "7"}) as connection:
        gap = await connection.next()
        assert (gap.name, gap.data["code"]) == ("gap", "E_RESUME_GAP")
        first, second = await connection.next("status"), await connection.next("status")
        assert [first.data["job"], second.data["job"]] == ["j4", "j3"]
        assert first.id is not None
        assert second.id is not None
        assert first.id < second.id
        assert second.data["phase"] == "succeeded"


async def test_a_replica_that_is_behind_its_client_repeats_nothing(
    ready: Gateway, world: World
) -> None:
    await world.queued("j3")
    ahead = await world.log.end() - 1
    async with stream(application(ready), f"?after={ahead}") as connection:
        await connection.beat()
        await ready.follow.step()
        event = await connection.next("status")
    assert (event.id, event.data["phase"]) == (ahead + 1, "queued")


async def test_a_slow_client_is_dropped_with_a_word_and_may_come_back(
    ready: Gateway, world: World
) -> None:
    app = application(ready)
    async with stream(app, "?snapshot=false&tenant=acme") as slow, stream(app) as quick:
        await slow.beat()
        slow.block()
        await told(quick, 2)
        for number in range(10):
            await world.submitted(f"s{number}")
            await ready.follow.step()
            assert await told(quick, 1) == [(f"s{number}", "submitted")]
        slow.unblock()
        first = await slow.next("status", "dropped")
        event, last = first, first
        while event.name != "dropped":
            last, event = event, await slow.next("status", "dropped")
        assert event.data["code"] == "E_SLOW"
        assert "connect again" in event.data["en"]
        assert "重新连接" in event.data["zh"]
        await eventually(lambda: slow.over)
        assert ready.hub.listeners == 1
    after = last.id if last.id is not None else 7
    async with stream(app, f"?tenant=acme&after={after}") as again:
        expected = await world.log.end()
        while (await again.next("status")).id != expected:
            pass


async def test_what_waits_for_a_client_is_bounded(ready: Gateway, world: World) -> None:
    async with stream(application(ready), "?snapshot=false") as connection:
        await connection.beat()
        connection.block()
        for number in range(50):
            await world.submitted(f"s{number}")
        await ready.follow.step()
        assert ready.hub.listeners == 1, "it waits for its client to read the farewell"


async def test_a_client_that_never_reads_again_is_given_up(
    world: World, database: Database
) -> None:
    settings = GatewaySettings(heartbeat_s=0.02, stream_send_s=0.1)
    gateway = Gateway(world, database, settings)
    await world.queued("j1")
    await gateway.follow.step()
    async with stream(application(gateway)) as connection:
        await connection.beat()
        connection.block()
        await eventually(lambda: connection.over)
    assert gateway.hub.listeners == 0


async def test_a_client_that_leaves_is_forgotten(ready: Gateway) -> None:
    async with stream(application(ready)) as connection:
        await connection.beat()
        assert ready.hub.listeners == 1
        connection.leave()
        await eventually(lambda: connection.over)
        assert ready.hub.listeners == 0


async def test_only_so_many_streams_are_open_at_once(world: World, database: Database) -> None:
    gateway = Gateway(world, database, GatewaySettings(stream_clients=1, heartbeat_s=0.02))
    await world.queued("j1")
    await gateway.follow.step()
    app = application(gateway)
    async with stream(app) as first, client(app) as http:
        await first.beat()
        refused = await http.get("/api/v1/stream")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "10")
        assert refused.json()["violations"][0]["code"] == "E_STREAMS"
    async with stream(app) as second:
        await second.beat()
        assert second.status == 200


async def test_a_log_made_anew_ends_every_stream(ready: Gateway) -> None:
    async with stream(application(ready)) as connection:
        await told(connection, 2)
        ready.hub.clear()
        assert (await connection.next()).name == "closing"
        await eventually(lambda: connection.over)


async def test_an_archive_that_is_away_ends_a_resumed_stream_with_a_word(
    ready: Gateway, world: World
) -> None:
    from muster.domain.errors import Temporary

    for number in range(10):
        await world.queued(f"j1{number}")
    await ready.follow.step()

    async def away(work: object) -> None:
        raise Temporary("the database is away")

    ready.database.run = away  # type: ignore[assignment, method-assign]
    async with stream(application(ready), "?after=1") as connection:
        assert (await connection.next()).name == "gap"
        event = await connection.next()
        assert (event.name, event.data["code"]) == ("closing", "E_AWAY")
