"""Workers' output, line by line, to whoever listens on `logs.>`; it may be lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

from muster.bus import Bus
from muster.contracts import subjects
from muster.contracts.alarms import LogLines
from muster.domain.state import JobState
from muster.executor.backends import Backend, Observed, WorkerKey
from muster.executor.backends.local.logs import LINE_LIMIT, follow
from muster.executor.watch import Watch

PAGE = 200
"""Lines in one message."""


class Output:
    """Remembers how far each worker's log file was read; `step` is a loop's turn."""

    def __init__(self, bus: Bus, backend: Backend, watch: Watch) -> None:
        self._bus, self._backend, self._watch = bus, backend, watch
        self._offsets: dict[WorkerKey, tuple[int, int]] = {}

    async def step(self) -> None:
        """Send what was written since the last turn."""
        workers = await self._backend.observe()
        for worker in workers:
            state = self._watch.jobs.get(worker.key.job)
            if state is not None and worker.log_path is not None:
                await self._send(state, worker, Path(worker.log_path))
        known = {worker.key for worker in workers}
        self._offsets = {key: at for key, at in self._offsets.items() if key in known}

    async def _send(self, state: JobState, worker: Observed, path: Path) -> None:
        offset, count = self._offsets.get(worker.key, (0, 0))
        over = asyncio.Event()
        over.set()
        lines: list[str] = []
        async for line in follow(path, offset, ended=over):
            if not line.whole and len(line.text) < LINE_LIMIT // 4 and worker.exit_code is None:
                break  # the rest of this line is still to come
            lines.append(line.text)
            offset = line.end
            if len(lines) >= PAGE:
                await self._publish(state, worker, count, lines)
                count, lines = count + len(lines), []
        if lines:
            await self._publish(state, worker, count, lines)
        self._offsets[worker.key] = (offset, count + len(lines))

    async def _publish(
        self, state: JobState, worker: Observed, first: int, lines: list[str]
    ) -> None:
        message = LogLines(
            tenant=state.tenant,
            job=state.job,
            attempt=worker.key.attempt,
            worker=worker.key.worker,
            first=first,
            lines=tuple(lines),
        )
        subject = subjects.logs_subject(state.tenant, state.job, worker.key.worker)
        await self._bus.broadcast(subject, message.model_dump_json().encode())
