"""nats-servers for tests: one that can be killed, and three that form a cluster. Loopback only."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import nats
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import Error as JetStreamError

from muster.runtime.nats_binary import find_binary
from muster.runtime.nats_process import is_healthy
from muster.runtime.nats_server import EmbeddedServer
from muster.runtime.ports import LOOPBACK, free_port

PATIENCE_SECONDS = 30.0
POLL_SECONDS = 0.05


class KillableServer:
    """The product's embedded server without its watcher, so that a test decides when it lives."""

    def __init__(self, folder: Path) -> None:
        self._server = EmbeddedServer(folder, port=free_port())

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def monitor_url(self) -> str:
        return self._server.monitor_url

    async def start(self) -> str:
        return await self._server.start(supervise=False)

    async def stop(self) -> None:
        await self._server.stop()

    async def kill(self) -> None:
        """kill -9, and wait until nothing holds the store."""
        self._signal(signal.SIGKILL)
        await self._server.stop()

    async def restart(self) -> str:
        """The same port and store again."""
        return await self.start()

    def freeze(self) -> None:
        """Alive and silent, as on a machine that hangs; `thaw` ends it."""
        self._signal(signal.SIGSTOP)
        state = Path(f"/proc/{self._server.pid}/stat")
        while state.exists() and state.read_text(encoding="utf-8").rpartition(") ")[2][0] != "T":
            pass  # a signal takes effect a little after it was sent

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        assert self._server.pid is not None
        os.kill(self._server.pid, number)


@dataclass
class ClusterNode:
    """One server of a cluster: its ports and folder stay the same over kills."""

    name: str
    folder: Path
    routes: str
    route_port: int
    port: int = field(default_factory=free_port)
    monitor_port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://{LOOPBACK}:{self.port}"

    def start(self) -> None:
        config = self.folder / "server.conf"
        config.write_text(self._config())
        with (self.folder / "server.log").open("ab") as log:
            command = [str(find_binary().path), "-c", str(config)]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def end(self, number: int) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.send_signal(signal.SIGCONT)
            process.send_signal(number)
            process.wait(PATIENCE_SECONDS)

    def _config(self) -> str:
        return f"""\
listen: "{LOOPBACK}:{self.port}"
http: "{LOOPBACK}:{self.monitor_port}"
server_name: {self.name}
max_payload: 1048576
jetstream {{
  store_dir: "{self.folder / "store"}"
  sync_interval: always
}}
cluster {{
  name: muster-test
  listen: "{LOOPBACK}:{self.route_port}"
  routes: [{self.routes}]
}}
"""


class NatsCluster:
    """Three servers; streams on it should have three replicas."""

    def __init__(self, folder: Path) -> None:
        ports = [free_port() for _ in range(3)]
        routes = ", ".join(f'"nats://{LOOPBACK}:{port}"' for port in ports)
        self.nodes: dict[str, ClusterNode] = {}
        for number, port in enumerate(ports, start=1):
            name = f"n{number}"
            home = folder / name
            home.mkdir(parents=True)
            self.nodes[name] = ClusterNode(name, home, routes, port)

    @property
    def url(self) -> str:
        """All three, as the clients take them."""
        return ",".join(self.urls)

    @property
    def urls(self) -> list[str]:
        return [node.url for node in self.nodes.values()]

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            for node in self.nodes.values():
                stack.callback(node.end, signal.SIGKILL)
                node.start()
            await self.ready()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self._stack.aclose()

    async def ready(self) -> None:
        """Wait until every living server is healthy and the cluster has a leader."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            for node in self.nodes.values():
                while node.process is not None and not await is_healthy(node.monitor_port):
                    await asyncio.sleep(POLL_SECONDS)
            async with await self.connect() as client:
                while True:
                    try:
                        await client.jetstream(timeout=1).account_info()
                        return
                    except (JetStreamError, NatsError):
                        await asyncio.sleep(POLL_SECONDS)

    async def connect(self) -> Client:
        return await nats.connect(servers=self.urls, max_reconnect_attempts=-1)

    async def leader(self, stream: str) -> str:
        """The node that leads the stream, once there is one."""
        async with asyncio.timeout(PATIENCE_SECONDS), await self.connect() as client:
            while True:
                try:
                    info = await client.jetstream(timeout=1).stream_info(stream)
                except (JetStreamError, NatsError):
                    info = None
                if info and info.cluster and info.cluster.leader:
                    return str(info.cluster.leader)
                await asyncio.sleep(POLL_SECONDS)

    def kill(self, name: str) -> None:
        """kill -9 of one node."""
        self.nodes[name].end(signal.SIGKILL)

    async def kill_leader(self, stream: str) -> str:
        """kill -9 of the stream's leader; returns its name, for `restart`."""
        name = await self.leader(stream)
        self.kill(name)
        return name

    async def restart(self, name: str) -> None:
        self.nodes[name].start()
        await self.ready()


async def delete_streams(url: str) -> None:
    """Leave the server as if it had just been installed."""
    async with await nats.connect(url) as client:
        manager = client.jetstream()
        for info in await manager.streams_info():
            assert info.config.name is not None
            await manager.delete_stream(info.config.name)
