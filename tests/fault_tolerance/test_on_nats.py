"""Fault tolerance's word on nodes as production has it: real NATS, two hosts, one database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from pydantic import SecretStr

from muster.client.faults import ask_fingerprints, ask_nodes
from muster.contracts import subjects
from muster.domain import nodes as n
from muster.domain.diagnosis import Blame
from muster.domain.edges import Owner
from muster.fault_tolerance import store
from muster.fault_tolerance.core.attributed import Machine
from muster.fault_tolerance.core.freeze import silence_id
from muster.fault_tolerance.service import build
from muster.fault_tolerance.settings import FaultToleranceSettings
from muster.log import Recorded
from muster.log.jetstream import JetStreamLog
from muster.runtime.clock import ServerClock
from muster.runtime.database import Database, open_engine
from muster.runtime.host import Host
from muster.runtime.ids import new_id
from muster.runtime.journal import Journal
from muster.runtime.service import Runtime, Service
from muster.runtime.settings import HostSettings
from tests.fault_tolerance.fleets import failed
from tests.fault_tolerance.stage import SHAPE
from tests.support.eventually import eventually

SILENCE = silence_id("default")
SETTINGS = FaultToleranceSettings(nodes_s=0.1)


@asynccontextmanager
async def hosts(url: str, folder: Path, database: str) -> AsyncIterator[None]:
    """Two replicas over one log and one database."""

    def replica(runtime: Runtime) -> Service:
        return build(runtime, SETTINGS)

    host = HostSettings(nats_url=SecretStr(url), state_dir=folder, database_url=SecretStr(database))
    async with AsyncExitStack() as stack:
        for number in range(2):
            replica_host = Host(host, [(Owner.FAULT_TOLERANCE, replica)])
            await replica_host.start(provisioned=number > 0)
            stack.push_async_callback(replica_host.stop)
        yield


class Outside:
    """The cluster and a reader of the log."""

    def __init__(self, connection: Client, clock: ServerClock) -> None:
        self.log = JetStreamLog(connection)
        self._pen = Journal(Owner.EXECUTOR, self.log, clock, new_id)

    async def say(self, name: str, fact: n.NodeFact) -> None:
        await self._pen.advance_node("default", name, lambda state, now: fact)

    async def join(self, *numbers: int) -> None:
        for number in numbers:
            name = f"n{number}"
            await self.say(name, n.NodeJoined(pool="default", node=name, cluster="c", shape=SHAPE))

    async def events(self, key: subjects.Key) -> list[str]:
        history = await self.log.history(key)
        return [item.event.data.detail.event for item in history if isinstance(item, Recorded)]

    async def until(self, key: subjects.Key, event: str) -> None:
        async def is_there() -> bool:
            return event in await self.events(key)

        await eventually(is_there)


async def three_fail(url: str, now: datetime) -> None:
    """Jobs of three users fail by n3, and three of a cause that no rule knows."""
    database = Database(open_engine(url))
    for user in ("ann", "bob", "eve"):
        sick: dict[str, Any] = {"machines": (Machine("n3"),), "blame": Blame.HARDWARE}
        odd: dict[str, Any] = {"rule": None, "fingerprint": "f9", "blame": Blame.UNKNOWN}
        for job, values in ((f"j-{user}", sick), (f"k-{user}", odd)):
            failure = failed(job, user, at=now, **values)
            await database.run(partial(store.record, failure=failure))
    database.close()


@pytest.mark.postgres
async def test_two_replicas_say_everything_once(
    clean_nats_url: str, tmp_path: Path, postgres_url: str
) -> None:
    sick, silence = subjects.node_key("default", "n3"), subjects.incident_key(SILENCE)
    async with hosts(clean_nats_url, tmp_path, postgres_url):
        connection = await nats.connect(clean_nats_url)
        clock = ServerClock(JetStreamLog(connection), Owner.EXECUTOR)
        await clock.synchronise()
        outside = Outside(connection, clock)
        await outside.join(*range(20))
        await three_fail(postgres_url, await outside.log.now())
        await outside.until(sick, "excluded")
        for number in range(10, 15):
            await outside.say(f"n{number}", n.NodeLost())
        await outside.until(silence, "opened")
        rated = await ask_nodes(connection, "default")
        unknown = await ask_fingerprints(connection, 10)
        await outside.join(*range(10, 15))
        await outside.until(silence, "closed")
        told, of_node = await outside.events(silence), await outside.events(sick)
        await connection.close()
    assert (told.count("opened"), told.count("closed")) == (1, 1)
    assert of_node == ["joined", "suspected", "excluded"]
    assert (rated.nodes[0].node, rated.nodes[0].jobs) == ("n3", 3)
    assert [(one.fingerprint, one.jobs) for one in unknown.clusters] == [("f9", 3)]
