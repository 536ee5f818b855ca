"""Ends the Muster of a state folder from outside: `muster down`, and the end of the demo."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass

from muster.cli.errors import CliError
from muster.cli.stack import workers
from muster.cli.stack.folder import StateFolder, Up, server_runs
from muster.runtime.nats_server import EmbeddedServer
from muster.runtime.processes import send_signal

GENTLE_S = 40.0
KILL_S = 10.0
POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Ended:
    """What was ended. None: it did not run. workers_left: those that go on."""

    up: int | None = None
    killed: bool = False
    nats: int | None = None
    workers: int = 0
    workers_left: int = 0


async def stop_all(folder: StateFolder, *, end_workers: bool) -> Ended:
    """End the `up` of this folder, then its nats-server, then workers if that is wanted."""
    server = folder.server()
    nats = server.pid if server is not None and server_runs(server) else None
    up = folder.read()
    runs = up is not None and up.runs
    killed = await _end(up) if up is not None and runs else False
    if folder.nats.is_dir():
        await EmbeddedServer(folder.nats).stop()
    folder.forget()
    ended = await workers.end_all(folder) if end_workers else 0
    left = len(await workers.living(folder))
    return Ended(up.pid if up is not None and runs else None, killed, nats, ended, left)


async def _end(up: Up) -> bool:
    """Ask the process to end, then make it; tells whether it had to be killed."""
    for number, patience in ((signal.SIGTERM, GENTLE_S), (signal.SIGKILL, KILL_S)):
        send_signal(up.pid, up.mark, number)
        if await _gone(up, patience):
            return number is signal.SIGKILL
    raise CliError("still_runs", pid=up.pid)


async def _gone(up: Up, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            while up.runs:
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        return False
    return True
