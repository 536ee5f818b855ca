"""A stream that is full refuses what is new, and says so; what it has taken stays."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from nats.aio.client import Client

from muster.bus import ACCOUNT
from muster.bus.faststream import FastStreamBus
from muster.bus.provision import provision
from muster.bus.publishing import publish_stored
from muster.bus.topology import STREAMS, Stream
from muster.domain.errors import MusterError
from muster.runtime.connection import NatsSettings, connect

BODY = b"x" * 1000
ROOM = 20_000


@pytest.fixture
async def connection(clean_nats_url: str) -> AsyncIterator[Client]:
    connection = await connect(NatsSettings(servers=clean_nats_url))
    yield connection
    await connection.close()


async def filled(connection: Client) -> list[str]:
    """Publish until the stream refuses; return the subjects that it has taken."""
    small = [replace(s, max_bytes=ROOM) if s.name is Stream.REQUESTS else s for s in STREAMS]
    await provision(connection, streams=small)
    taken: list[str] = []
    for number in range(ROOM // len(BODY) + 1):
        subject = f"requests.acme.r{number}"
        try:
            await publish_stored(connection, subject, BODY, id=f"r{number}", patience=0.2)
        except MusterError:
            return taken
        taken.append(subject)
    raise AssertionError("the stream took more than it has room for")


@pytest.mark.case("BUS-11")
async def test_work_that_does_not_fit_is_refused_and_the_oldest_stays(connection: Client) -> None:
    taken = await filled(connection)
    stream = connection.jetstream()
    stored = (await stream.stream_info(Stream.REQUESTS, subjects_filter=">")).state.subjects
    assert taken
    assert stored == dict.fromkeys(taken, 1)


@pytest.mark.case("BUS-11")
async def test_there_is_room_again_when_somebody_makes_it(connection: Client) -> None:
    await filled(connection)
    wide = [replace(s, max_bytes=10 * ROOM) if s.name is Stream.REQUESTS else s for s in STREAMS]
    await provision(connection, streams=wide)
    await publish_stored(connection, "requests.acme.last", BODY, id="last", patience=5)


@pytest.mark.case("BUS-11")
async def test_how_full_the_streams_are_is_known_to_the_bus(connection: Client) -> None:
    bus = FastStreamBus(connection)
    assert [room.name for room in await bus.room()] == [ACCOUNT]
    taken = await filled(connection)
    found = {room.name: room for room in await bus.room()}
    assert set(found) == {*(str(spec.name) for spec in STREAMS), ACCOUNT}
    requests = found[Stream.REQUESTS]
    assert (requests.messages, requests.limit) == (len(taken), ROOM)
    assert requests.full is not None
    assert 0.9 < requests.full <= 1
    assert found[Stream.EVENTS].full is None
    assert found[ACCOUNT].bytes >= requests.bytes


@pytest.mark.sibling_of("BUS-11")
def test_a_weekend_is_not_too_long_for_work_and_no_fact_is_ever_too_old() -> None:
    age = {spec.name: spec.max_age for spec in STREAMS}
    assert age[Stream.REQUESTS] > 3 * 86_400
    assert (age[Stream.EVENTS], age[Stream.TIMERS]) == (0, 0)
