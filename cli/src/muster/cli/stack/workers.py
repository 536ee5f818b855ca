"""The worker processes of a state folder, for whoever starts or stops a Muster there.

They outlive it on purpose. Reads the executor's records; never writes to the log.
"""

from __future__ import annotations

import asyncio

from muster.cli.stack.folder import StateFolder
from muster.executor.backends import Observed, WorkerStatus
from muster.executor.backends.local import LocalBackend

_LIVE = frozenset({WorkerStatus.STARTING, WorkerStatus.RUNNING})
END_S = 15.0
POLL_S = 0.1


async def living(folder: StateFolder) -> list[Observed]:
    """Return every worker that still runs."""
    if not folder.executor.is_dir():
        return []
    seen = await LocalBackend(folder.executor, ()).observe()
    return [worker for worker in seen if worker.status in _LIVE]


async def end_all(folder: StateFolder) -> int:
    """Kill every worker with its whole process group; returns how many there were."""
    workers = await living(folder)
    if workers:
        await LocalBackend(folder.executor, ()).kill([worker.key for worker in workers])
        async with asyncio.timeout(END_S):
            while await living(folder):
                await asyncio.sleep(POLL_S)
    return len(workers)
