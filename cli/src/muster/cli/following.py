"""Follows one job to its end: its states, why it waits, and what its workers print.

Called by `submit --follow`. One task reads the log, one the output, one the pool's summary; all of
them tell one `Watcher`, which decides what a person sees.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Protocol

from muster.cli.exits import Exit
from muster.cli.reach import Reach
from muster.cli.tailing import Tail
from muster.cli.waiting import elsewhere, why
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.log import Recorded

WHY_S = 1.0
LAST_LINES_S = 3.0

OUTCOMES: dict[Phase, Exit] = {
    Phase.SUCCEEDED: Exit.DONE,
    Phase.FAILED: Exit.FAILED,
    Phase.REJECTED: Exit.FAILED,
    Phase.STOPPED: Exit.STOPPED,
    Phase.ABNORMAL: Exit.ABNORMAL,
}
"""Phase in which following ends -> exit code."""


class Watcher(Protocol):
    """Who is told."""

    def on_event(self, item: Recorded) -> None:
        """Something was recorded."""

    def on_line(self, worker: str, attempt: int, text: str) -> None:
        """A worker printed a line."""

    def on_wait(self, words: str) -> None:
        """The reason why the job waits has changed."""


async def follow_job(muster: Reach, state: JobState, watcher: Watcher) -> JobState:
    """Follow to the end; returns the last state. The job may be over already."""
    tail = Tail(muster, state.tenant, state.job)
    lines = asyncio.create_task(_lines(tail, watcher))
    waits = asyncio.create_task(_waits(muster, state, watcher))
    try:
        last = await _events(muster, state, watcher)
        tail.finish()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(lines), LAST_LINES_S)
        return last
    finally:
        for task in (lines, waits):
            task.cancel()
        await asyncio.gather(lines, waits, return_exceptions=True)


async def _events(muster: Reach, state: JobState, watcher: Watcher) -> JobState:
    async for item in muster.job_events(state.tenant, state.job):
        watcher.on_event(item)
        if item.job.phase in OUTCOMES and not item.job.held:
            return item.job
    return state


async def _lines(tail: Tail, watcher: Watcher) -> None:
    async for line in tail.lines():
        watcher.on_line(line.worker, line.attempt, line.text)


async def _waits(muster: Reach, state: JobState, watcher: Watcher) -> None:
    said = ""
    while True:
        await asyncio.sleep(WHY_S)
        now = await muster.state(state.tenant, state.job)
        waiting = now is not None and now.phase is Phase.QUEUED
        words = await _why(muster, now) if now is not None and waiting else ""
        if words and words != said:
            watcher.on_wait(words)
        said = words


async def _why(muster: Reach, state: JobState) -> str:
    reason = why(state, await muster.pool(state.pool))
    return "; ".join(filter(None, (reason, elsewhere(state, await muster.nodes()))))
