"""The servers that conftest.py lends to every test do what their descriptions say."""

from __future__ import annotations

import asyncio

import nats
import psycopg
import pytest
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js import JetStreamContext
from nats.js.api import StreamConfig
from nats.js.errors import Error as JetStreamError

from tests.support.nats import KillableServer, NatsCluster


@pytest.mark.parametrize("turn", ["first", "second"])
async def test_the_clean_nats_has_no_streams(clean_nats_url: str, turn: str) -> None:
    async with await nats.connect(clean_nats_url) as client:
        assert await client.jetstream().streams_info() == []
        await client.jetstream().add_stream(name="LEFT", subjects=[turn])


async def test_a_killed_server_comes_back_with_its_store(nats_server: KillableServer) -> None:
    async with await nats.connect(nats_server.url) as client:
        await client.jetstream().add_stream(name="KEPT", subjects=["kept"])
    before = nats_server.url

    await nats_server.kill()
    assert await nats_server.restart() == before

    async with await nats.connect(nats_server.url) as client:
        assert len(await client.jetstream().streams_info()) == 1


async def test_a_frozen_server_is_silent_until_thawed(nats_server: KillableServer) -> None:
    async with await nats.connect(nats_server.url) as client:
        nats_server.freeze()
        with pytest.raises(NatsTimeoutError):
            await client.flush(timeout=1)
    nats_server.thaw()
    async with await nats.connect(nats_server.url) as client:
        await client.flush()


async def until_published(stream: JetStreamContext, text: bytes) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                await stream.publish("kept", text)
                return
            except (JetStreamError, NatsTimeoutError, NoRespondersError):
                await asyncio.sleep(0.05)


@pytest.mark.cluster
async def test_a_cluster_survives_its_leader(nats_cluster: NatsCluster) -> None:
    async with await nats_cluster.connect() as client:
        stream = client.jetstream(timeout=2)
        await stream.add_stream(StreamConfig(name="KEPT", subjects=["kept"], num_replicas=3))
        await stream.publish("kept", b"1")

        lost = await nats_cluster.kill_leader("KEPT")
        await until_published(stream, b"2")

    assert await nats_cluster.leader("KEPT") != lost
    await nats_cluster.restart(lost)


@pytest.mark.postgres
@pytest.mark.parametrize("turn", ["first", "second"])
def test_each_test_has_an_empty_database(postgres_url: str, turn: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE mine (turn text)")
        connection.execute("INSERT INTO mine VALUES (%s)", [turn])
        assert connection.execute("SELECT count(*) FROM mine").fetchone() == (1,)
