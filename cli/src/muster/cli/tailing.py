"""What a job's workers print: what is there, then what comes.

From the log files where they are on this machine (complete, from the first line of the first
attempt), else from the bus (best effort, from now on). Called by `logs` and by whoever follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

from muster.cli.reach import Reach
from muster.executor.backends.local.logs import follow

LOOK_S = 0.2
LATE_S = 0.5
"""Lines on the bus may come so much later than the event that ends their job."""


@dataclass(frozen=True, slots=True)
class Printed:
    """One line of one worker."""

    attempt: int
    worker: str
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """One log file."""

    attempt: int
    worker: str
    path: Path


def sources(folder: Path) -> Iterator[Source]:
    """Yield the log files of a job, attempt by attempt: <folder>/<attempt>/<worker>.log."""
    if not folder.is_dir():
        return
    attempts = sorted((p for p in folder.iterdir() if p.name.isdigit()), key=lambda p: int(p.name))
    for attempt in attempts:
        for path in sorted(attempt.glob("*.log")):
            yield Source(int(attempt.name), path.stem, path)


class Tail:
    """Lines of one job. `finish` says that nothing more will come: what is there is still read."""

    def __init__(self, muster: Reach, tenant: str, job: str) -> None:
        self._muster, self._tenant, self._job = muster, tenant, job
        self._queue: asyncio.Queue[Printed | None] = asyncio.Queue(maxsize=1000)
        self._over = asyncio.Event()

    def finish(self) -> None:
        """End when everything that is there has been read."""
        self._over.set()

    async def lines(self) -> AsyncIterator[Printed]:
        """Yield every line in the order in which it is found."""
        reader = asyncio.create_task(self._read())
        try:
            while (line := await self._queue.get()) is not None:
                yield line
            await reader
        finally:
            reader.cancel()

    async def _read(self) -> None:
        folder = self._muster.log_folder
        try:
            if folder is not None:
                await self._read_files(folder / self._job)
            else:
                await self._read_bus()
        finally:
            await self._queue.put(None)

    async def _read_files(self, folder: Path) -> None:
        known: set[Path] = set()
        async with asyncio.TaskGroup() as group:
            while True:
                last = self._over.is_set()
                for source in await asyncio.to_thread(lambda: list(sources(folder))):
                    if source.path not in known:
                        known.add(source.path)
                        group.create_task(self._follow(source))
                if last:
                    return
                await _either(self._over, LOOK_S)

    async def _follow(self, source: Source) -> None:
        async for line in follow(source.path, ended=self._over):
            await self._queue.put(Printed(source.attempt, source.worker, line.text))

    async def _read_bus(self) -> None:
        told = asyncio.create_task(self._over.wait())
        heard = asyncio.create_task(self._hear())
        await asyncio.wait({told, heard}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({heard}, timeout=LATE_S)
        for task in (told, heard):
            task.cancel()

    async def _hear(self) -> None:
        async for page in self._muster.heard_lines(self._tenant, self._job):
            for text in page.lines:
                await self._queue.put(Printed(page.attempt, page.worker, text))


async def _either(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
