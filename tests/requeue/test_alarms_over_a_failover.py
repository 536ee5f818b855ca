"""Three servers, of which the one that keeps the alarms is killed while they ring."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from benchmarks.alarms_jobs import Ended, Rounds, enqueue
from muster.bus.provision import provision
from muster.domain.edges import Owner
from muster.log.jetstream import JetStreamLog
from muster.requeue.service import build
from muster.runtime.connection import NatsSettings, connect
from muster.runtime.host import Host
from muster.runtime.settings import HostSettings
from tests.support.nats import NatsCluster

OUTSTANDING = 200


@pytest.mark.slow
@pytest.mark.cluster
async def test_every_queueing_ends_once_when_another_server_has_to_ring(
    nats_cluster: NatsCluster, tmp_path: Path
) -> None:
    client = await connect(NatsSettings(servers=nats_cluster.url, name="test"))
    await provision(client, replicas=3)
    log = JetStreamLog(client)
    begin = await log.now() + timedelta(seconds=10)
    await enqueue(log, OUTSTANDING, begin, 6.0)
    before, ended = await log.end(), Ended()
    settings = HostSettings(
        nats_url=SecretStr(nats_cluster.url), state_dir=tmp_path / "state", replicas=3
    )
    host = Host(settings, [(Owner.REQUEUE, build)])
    await host.start(provisioned=True)
    rounds = asyncio.create_task(Rounds(log).run())
    try:
        async with asyncio.timeout(90):
            reading = asyncio.create_task(ended.follow(log, OUTSTANDING, before))
            while (begin - await log.now()).total_seconds() > -2:
                await asyncio.sleep(0.2)
            await nats_cluster.kill_leader("TIMERS")
            await reading
        await ended.finish()
    finally:
        rounds.cancel()
        await host.stop()
        await log.close()
        await client.close()
    assert (len(ended.late), ended.events, ended.others) == (OUTSTANDING, OUTSTANDING, 0)
