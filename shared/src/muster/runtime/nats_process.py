"""The process of an embedded nats-server: start it, ask whether it is healthy, signal it.

Called by `muster.runtime.nats_server` only. Keeps nothing: what is known of a process stands in the
folder's record.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from pathlib import Path

from muster.runtime.nats_folder import Record, ServerFolder
from muster.runtime.ports import LOOPBACK
from muster.runtime.processes import send_signal

# The shell ends at once, and leaves the server without a parent that it could lose.
_DETACH = 'log=$1; shift; "$@" </dev/null >>"$log" 2>&1 & echo $!'


def spawn(binary: Path, folder: ServerFolder, lock: int) -> int:
    """Start a server in a session of its own, which inherits the lock; returns its process id."""
    server = [str(binary), "-c", str(folder.config)]
    done = subprocess.run(
        ["/bin/sh", "-c", _DETACH, "sh", str(folder.log), *server],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
        pass_fds=(lock,),
        check=True,
    )
    return int(done.stdout)


def signal_server(record: Record, number: int) -> None:
    """Signal the recorded process, and never another one that got its id."""
    if record.pid is not None and record.mark is not None:
        send_signal(record.pid, record.mark, number)


async def is_healthy(monitor_port: int, seconds: float = 2.0) -> bool:
    """True if the nats-server with this monitoring port has read its store and serves."""
    request = b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n"
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection(LOOPBACK, monitor_port)
            try:
                writer.write(request)
                status = await reader.readline()
            finally:
                writer.close()
            return b" 200 " in status
    return False
