"""Where a log is under test: in memory, on one server, on three. What the suites need of each."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import Error as JetStreamError

from muster.bus.provision import provision
from muster.contracts.alarms import Alarm
from muster.log import EventLog
from muster.log.jetstream import JetStreamLog
from muster.log.memory import MemoryLog, Store
from muster.runtime.connection import NatsSettings, connect
from tests.support.eventually import eventually
from tests.support.nats import KillableServer, NatsCluster


class LogWorld(ABC):
    """One log and its clients."""

    @abstractmethod
    async def client(self) -> EventLog:
        """Another client, as if in another process."""

    @abstractmethod
    async def put(self, subject: str, body: bytes) -> None:
        """Store bytes as somebody does who keeps no rule."""

    @abstractmethod
    async def rung(self, subject: str, count: int) -> Sequence[Alarm]:
        """Wait until so many alarms have rung on a subject, and return all that have."""

    @abstractmethod
    async def pass_time(self, seconds: float) -> None:
        """Let time go by."""

    @abstractmethod
    async def close(self) -> None:
        """Give back what the clients hold."""


class MemoryWorld(LogWorld):
    """Virtual time; alarms ring when it passes them."""

    def __init__(self) -> None:
        self._now = datetime(2030, 1, 1, tzinfo=UTC)
        self._store = Store(lambda: self._now)
        self._rung: list[Alarm] = []

    async def client(self) -> EventLog:
        return MemoryLog(self._store)

    async def put(self, subject: str, body: bytes) -> None:
        self._store.put(subject, body)

    async def rung(self, subject: str, count: int) -> Sequence[Alarm]:
        for _ in range(100):
            found = [alarm for alarm in self._rung if alarm.rings_on == subject]
            if len(found) >= count:
                return found
            await self.pass_time(0.1)
        raise AssertionError(f"fewer than {count} alarms rang on {subject}")

    async def pass_time(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        for name, alarm in list(self._store.alarms.items()):
            if alarm.rings_at <= self._now:
                self._rung.append(self._store.alarms.pop(name))

    async def close(self) -> None:
        return None


class NatsWorld(LogWorld):
    """A server or a cluster of them; every client has its own connection."""

    def __init__(self, url: str, *, group_commit: bool = False) -> None:
        self.url, self.group_commit = url, group_commit
        self._clients: list[Client] = []

    @property
    def port(self) -> int:
        """Where the first server listens."""
        return int(self.url.split(",")[0].rpartition(":")[2])

    async def connect(self, url: str | None = None) -> Client:
        """Another connection, closed with the world."""
        connection = await connect(NatsSettings(servers=url or self.url, name="test"))
        self._clients.append(connection)
        return connection

    async def client(self) -> JetStreamLog:
        return JetStreamLog(await self.connect(), group_commit=self.group_commit)

    async def put(self, subject: str, body: bytes) -> None:
        connection = await self.connect()
        await connection.jetstream().publish(subject, body)

    async def rung(self, subject: str, count: int) -> Sequence[Alarm]:
        connection = await self.connect()
        heard = await connection.jetstream().subscribe(
            subject, stream="TIMERS", ordered_consumer=True, idle_heartbeat=1
        )
        found: list[Alarm] = []
        async with asyncio.timeout(30):
            while len(found) < count:
                message = await heard.next_msg(timeout=30)
                found.append(Alarm.model_validate_json(message.data))
        return found

    async def pass_time(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        for connection in self._clients:
            await connection.close()

    @abstractmethod
    async def strike(self) -> None:
        """Take the server away without a warning that leads the streams."""

    @abstractmethod
    async def recover(self) -> None:
        """Have everything running again."""


class ServerWorld(NatsWorld):
    """One server: a strike takes everything away."""

    replicas = 1

    def __init__(self, server: KillableServer, *, group_commit: bool = False) -> None:
        super().__init__(server.url, group_commit=group_commit)
        self._server = server

    async def strike(self) -> None:
        await self._server.kill()

    async def recover(self) -> None:
        await self._server.restart()


class ClusterWorld(NatsWorld):
    """Three servers: after a strike the two others elect a leader."""

    replicas = 3

    def __init__(self, cluster: NatsCluster, *, group_commit: bool = False) -> None:
        super().__init__(cluster.url, group_commit=group_commit)
        self._cluster = cluster
        self._killed = ""

    async def strike(self) -> None:
        self._killed = await self._cluster.kill_leader("EVENTS")

    async def recover(self) -> None:
        await self._cluster.restart(self._killed)
        await self._in_step()

    async def _in_step(self) -> None:
        """Wait until every replica of the log has what the leader has."""
        connection = await self.connect()

        async def in_step() -> bool:
            try:
                info = await connection.jetstream(timeout=1).stream_info("EVENTS")
            except (NatsError, JetStreamError):
                return False
            peers = info.cluster.replicas if info.cluster else None
            return len(peers or []) == 2 and all(peer.current for peer in peers or [])

        await eventually(in_step, within=30)


async def prepared(world: ServerWorld | ClusterWorld) -> None:
    """Make streams and consumers."""
    connection = await world.connect()
    await provision(connection, replicas=world.replicas)
