"""A nats-server with the accounts of deploy/nats, and connections as each of their users."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import nats
from nats.aio.client import Client
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js.errors import NoStreamResponseError

from muster.bus.provision import provision
from muster.bus.topology import Consumer
from muster.domain.edges import Owner
from muster.runtime.nats_binary import find_binary
from muster.runtime.nats_process import is_healthy
from muster.runtime.ports import free_port

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
PASSWORD = "secret"
USERS = [*Owner, "operator", "acme", "system"]


def passwords() -> dict[str, str]:
    names = (str(user).upper().replace("-", "_") for user in USERS)
    return {f"MUSTER_{name}_PASSWORD": PASSWORD for name in names}


class Guarded:
    """The server as its users see it. refused: what it would not let them do, in its words."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.refused: list[str] = []

    def url(self, user: str) -> str:
        return f"nats://{user}:{PASSWORD}@127.0.0.1:{self.port}"

    async def connect(self, user: str) -> Client:
        async def note(error: Exception) -> None:
            self.refused.append(f"{user}: {error}")

        return await nats.connect(self.url(user), inbox_prefix=f"_INBOX_{user}", error_cb=note)

    async def says(self, user: str, subject: str, body: bytes = b"{}") -> bool:
        """True if a stream took a message that the user published there."""
        async with await self.connect(user) as client:
            try:
                await client.jetstream(timeout=1).publish(subject, body)
            except (NatsTimeoutError, NoStreamResponseError):
                return False
            return True

    async def sees(self, client: Client, consumer: Consumer) -> bool:
        """True if the user of the connection may ask for the durable."""
        js = client.jetstream()
        try:
            await js.consumer_info(str(consumer.stream), consumer.durable, timeout=1)
        except NatsTimeoutError:
            return False
        return True


@asynccontextmanager
async def guarded_server(folder: Path) -> AsyncIterator[Guarded]:
    """A provisioned server."""
    port, monitor_port = free_port(), free_port()
    command = [str(find_binary().path), "-c", str(_write_config(folder, port, monitor_port))]
    server = await asyncio.create_subprocess_exec(
        *command, env=os.environ | passwords(), stderr=subprocess.DEVNULL
    )
    try:
        while not await is_healthy(monitor_port):
            assert server.returncode is None
            await asyncio.sleep(0.02)
        guarded = Guarded(port)
        async with await guarded.connect("operator") as client:
            await provision(client)
        yield guarded
    finally:
        server.terminate()
        await server.wait()


def _write_config(folder: Path, port: int, monitor_port: int) -> Path:
    config = folder / "server.conf"
    # The server looks for an include from the folder of its own file on.
    accounts = os.path.relpath(DEPLOY / "nats" / "accounts.conf", folder)
    config.write_text(
        f'listen: "127.0.0.1:{port}"\nhttp: "127.0.0.1:{monitor_port}"\n'
        f'jetstream {{\n store_dir: "{folder / "store"}"\n}}\n'
        f'include "{accounts}"\n'
    )
    return config
