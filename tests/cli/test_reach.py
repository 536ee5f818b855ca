"""What commands show as the time, on a real server."""

from __future__ import annotations

from datetime import timedelta

import pytest

from muster.bus.provision import provision
from muster.cli.reach import Reach
from muster.client import MusterClient
from muster.contracts.events import pool_event
from muster.contracts.subjects import CLOCK, THE_LOG
from muster.domain.clock import ClockSet
from muster.domain.edges import Owner
from muster.log import Basis
from muster.log.jetstream import JetStreamLog
from muster.runtime.clock import ServerClock
from muster.runtime.connection import NatsSettings, connect


@pytest.mark.parametrize("offset", [None, 3600.0, -3600.0])
async def test_commands_and_services_have_the_same_time(
    clean_nats_url: str, offset: float | None
) -> None:
    connection = await connect(NatsSettings(servers=clean_nats_url, wait_s=10))
    await provision(connection)
    log = JetStreamLog(connection)
    if offset is not None:
        fact = ClockSet(offset=offset, at=await log.now(), stepped=offset)
        event = pool_event(
            THE_LOG, fact, event_id="e1", source="muster/test", at=fact.at, kind="cluster"
        )
        await log.append(event, Basis(CLOCK, 0))
    gateway = ServerClock(log, Owner.GATEWAY)
    await gateway.synchronise()
    client = MusterClient(connection)
    shown = await Reach(client).now()
    assert abs(shown - gateway.now()) < timedelta(seconds=2)
    raw = await log.now()
    assert abs((raw - shown).total_seconds() - (offset or 0.0)) < 2
    await client.close()
    await log.close()
    await connection.close()
