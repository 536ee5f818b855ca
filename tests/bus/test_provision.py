"""Provisioning a real server: made, repaired, never emptied."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from nats.aio.client import Client, ServerVersion
from nats.js.errors import NotFoundError

from muster.bus import topology
from muster.bus.provision import ServerTooOld, check_server, provision
from muster.bus.topology import CONSUMERS, STREAMS, Consumer, Stream
from muster.domain.edges import Owner
from muster.domain.errors import Permanent
from muster.runtime.connection import NatsSettings, connect
from tests.support.eventually import eventually


@pytest.fixture
async def connection(clean_nats_url: str) -> AsyncIterator[Client]:
    connection = await connect(NatsSettings(servers=clean_nats_url))
    yield connection
    await connection.close()


async def test_everything_is_made_once(connection: Client) -> None:
    changes = await provision(connection)
    assert {str(change) for change in changes if "stream" in change.name} == {
        f"created stream {spec.name}" for spec in STREAMS
    }
    assert len(changes) == len(STREAMS) + 2 * len(CONSUMERS)
    assert await provision(connection) == []


async def test_what_somebody_changed_is_put_right(connection: Client) -> None:
    await provision(connection)
    stream = connection.jetstream()
    config = (await stream.stream_info(Stream.REQUESTS)).config
    await stream.update_stream(config.evolve(max_age=3600, description="mine"))
    await stream.delete_consumer(Stream.EVENTS, topology.REQUEUE_JOBS.durable)
    changes = [str(change) for change in await provision(connection)]
    assert changes[0].startswith("updated stream REQUESTS: description mine -> ")
    assert changes[1:] == ["created consumer EVENTS/requeue-jobs"]
    assert await provision(connection) == []


async def test_a_limit_somebody_loosened_stays(connection: Client) -> None:
    await provision(connection)
    stream = connection.jetstream()
    config = (await stream.stream_info(Stream.REQUESTS)).config
    await stream.update_stream(config.evolve(max_bytes=-1, discard="old"))
    (updated, kept) = await provision(connection)
    assert str(updated) == "updated stream REQUESTS: discard old -> new"
    assert kept.details == ("max_bytes -1 (not 1073741824)",)
    (kept_again,) = await provision(connection)
    assert kept_again == kept


async def test_messages_survive_a_provisioning(connection: Client) -> None:
    await provision(connection)
    stream = connection.jetstream()
    await stream.publish("requests.acme.stop", b"{}")
    config = (await stream.stream_info(Stream.REQUESTS)).config
    await stream.update_stream(config.evolve(max_msg_size=1000, duplicate_window=5))
    await provision(connection)
    assert (await stream.stream_info(Stream.REQUESTS)).state.messages == 1


async def test_a_consumer_gets_its_new_filters(connection: Client) -> None:
    before = Consumer("mine", Owner.REQUEUE, Stream.EVENTS, ("jobs.*.*.released",))
    await provision(connection, consumers=[before])
    after = replace(before, filters=("jobs.*.*.released", "jobs.*.*.resumed"), ack_wait=5)
    changes = await provision(connection, consumers=[after])
    assert [str(change).partition(":")[0] for change in changes] == [
        "updated consumer EVENTS/mine",
        "updated consumer REPLAYS/mine",
    ]
    info = await connection.jetstream().consumer_info(Stream.EVENTS, "mine")
    assert info.config.filter_subjects == list(after.filters)
    assert info.config.ack_wait == 5


async def test_a_consumer_without_filters_gets_the_whole_stream(connection: Client) -> None:
    await provision(connection)
    info = await connection.jetstream().consumer_info(
        Stream.EVENTS, topology.GATEWAY_ARCHIVE.durable
    )
    assert not info.config.filter_subject
    assert not info.config.filter_subjects


async def test_the_current_state_of_a_job_is_kept_and_told(connection: Client) -> None:
    await provision(connection)
    heard = await connection.subscribe("status.>")
    stream = connection.jetstream()
    for event in (b"submitted", b"admitted"):
        await stream.publish(f"jobs.acme.j1.{event.decode()}", event)
    assert [(await heard.next_msg(timeout=5)).data for _ in range(2)] == [b"submitted", b"admitted"]

    async def current() -> bool:
        try:
            return (await stream.get_last_msg(Stream.STATUS, "status.acme.j1")).data == b"admitted"
        except NotFoundError:
            return False

    await eventually(current)
    assert (await stream.stream_info(Stream.STATUS)).state.messages == 1


@pytest.mark.parametrize("replicas", [0, 2, 5])
async def test_replicas_are_one_or_three(connection: Client, replicas: int) -> None:
    with pytest.raises(Permanent):
        await provision(connection, replicas=replicas)


async def test_what_the_server_refuses_is_permanent(connection: Client) -> None:
    overlapping = replace(STREAMS[0], name=Stream.PARKED)
    with pytest.raises(Permanent, match="stream PARKED"):
        await provision(connection, streams=[STREAMS[0], overlapping], consumers=[])


class _Old(Client):
    @property
    def connected_server_version(self) -> ServerVersion:
        return ServerVersion("2.12.9")


def test_an_old_server_is_refused_with_the_version_that_is_needed() -> None:
    with pytest.raises(ServerTooOld, match=r"2\.14\.0 or newer is needed, this one is 2\.12\.9"):
        check_server(_Old())
