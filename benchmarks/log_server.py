"""The nats-server of a benchmark: its own, on loopback, with or without a sync at every write."""

from __future__ import annotations

import asyncio
import json
import subprocess
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from nats.aio.client import Client

from muster.bus.provision import provision
from muster.bus.topology import Consumer
from muster.runtime.connection import NatsSettings, connect
from muster.runtime.nats_binary import find_binary
from muster.runtime.nats_process import is_healthy
from muster.runtime.ports import LOOPBACK, free_port

START_S = 60.0
BATCH = 1000


@asynccontextmanager
async def server(sync: str) -> AsyncIterator[str]:
    """Run a server with `sync_interval: always` or the default one; gives its URL."""
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as name:
        folder, port, monitor = Path(name), free_port(), free_port()
        config = folder / "server.conf"
        always = "sync_interval: always" if sync == "always" else ""
        config.write_text(f"""\
listen: "{LOOPBACK}:{port}"
http: "{LOOPBACK}:{monitor}"
max_payload: 1048576
jetstream {{
  store_dir: "{folder / "store"}"
  {always}
}}
""")
        command = [str(find_binary().path), "-c", str(config), "-l", str(folder / "log")]
        process = await asyncio.to_thread(subprocess.Popen, command)
        try:
            async with asyncio.timeout(START_S):
                while not await is_healthy(monitor):
                    await asyncio.sleep(0.05)
            yield f"nats://{LOOPBACK}:{port}"
        finally:
            process.kill()
            process.wait()


async def opened(url: str, name: str) -> Client:
    """A connection as the product opens it."""
    return await connect(NatsSettings(servers=url, name=name))


async def prepare(url: str, consumers: Sequence[Consumer]) -> None:
    """Make the product's streams and the benchmark's consumers."""
    connection = await opened(url, "prepare")
    await provision(connection, consumers=consumers)
    await connection.close()


async def fill(url: str, subjects: int) -> None:
    """Store a message on each of so many subjects, as a long day leaves them behind."""
    connection = await opened(url, "fill")
    for start in range(0, subjects, BATCH):
        await _batch(connection, start, min(BATCH, subjects - start))
    await connection.close()


async def _batch(connection: Client, start: int, size: int) -> None:
    batch = f"fill-{start}"
    for number in range(1, size):
        headers = {"Nats-Batch-Id": batch, "Nats-Batch-Sequence": str(number)}
        await connection.publish(_subject(start + number), b"{}", headers=headers)
    headers = {
        "Nats-Batch-Id": batch,
        "Nats-Batch-Sequence": str(size),
        "Nats-Batch-Commit": "1",
    }
    answer = await connection.request(_subject(start + size), b"{}", timeout=30, headers=headers)
    if "error" in json.loads(answer.data):
        raise SystemExit(f"filling failed: {answer.data.decode()}")


def _subject(number: int) -> str:
    return f"incidents.filler.i{number}"
