"""What the demo has seen so far: both jobs, the training's steps, why it waits.

Fed by three tasks; read by the story, which waits for things to happen, and by the board.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from muster.cli.demo.evidence import Point, Run
from muster.cli.demo.script import TENANT
from muster.cli.reach import Reach
from muster.cli.tailing import Tail
from muster.cli.waiting import why
from muster.contracts import subjects
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.log import Recorded

WHY_S = 0.5
LEADER = "worker-0"


class Teller(Protocol):
    """Who is told at once; the board."""

    def on_event(self, item: Recorded) -> None:
        """Something was recorded about a job of the demo."""

    def on_step(self, attempt: int, point: Point) -> None:
        """The training reported a step."""

    def on_wait(self, words: str) -> None:
        """Why the training waits."""


@dataclass(slots=True)
class Watch:
    """training: id of the training's job. events: its events so far."""

    training: str
    jobs: dict[str, JobState] = field(default_factory=dict)
    events: list[Recorded] = field(default_factory=list)
    runs: dict[int, Run] = field(default_factory=dict)
    waits: list[str] = field(default_factory=list)

    @property
    def state(self) -> JobState | None:
        """The training as it stands."""
        return self.jobs.get(self.training)

    @property
    def step(self) -> int:
        """The last step that the training reported, in whatever attempt."""
        return max((run.points[-1].step for run in self.runs.values() if run.points), default=0)

    def note(self, item: Recorded) -> None:
        """Take in an event."""
        self.jobs[item.job.job] = item.job
        if item.job.job == self.training:
            self.events.append(item)


@asynccontextmanager
async def watching(muster: Reach, watch: Watch, teller: Teller) -> AsyncIterator[None]:
    """Keep `watch` up to date while the block runs. What a task fails with ends the block."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_events(muster, watch, teller)),
            group.create_task(_lines(muster, watch, teller)),
            group.create_task(_waits(muster, watch, teller)),
        ]
        yield
        for task in tasks:
            task.cancel()


async def _events(muster: Reach, watch: Watch, teller: Teller) -> None:
    async for item in muster.events_and_on((f"jobs.{subjects.token(TENANT)}.>",)):
        watch.note(item)
        teller.on_event(item)


async def _lines(muster: Reach, watch: Watch, teller: Teller) -> None:
    async for line in Tail(muster, TENANT, watch.training).lines():
        if line.worker != LEADER:
            continue
        point = watch.runs.setdefault(line.attempt, Run()).read(line.text)
        if point is not None:
            teller.on_step(line.attempt, point)


async def _waits(muster: Reach, watch: Watch, teller: Teller) -> None:
    while True:
        await asyncio.sleep(WHY_S)
        state = watch.state
        if state is None or state.phase is not Phase.QUEUED:
            continue
        words = why(state, await muster.pool(state.pool))
        if words and watch.waits[-1:] != [words]:
            watch.waits.append(words)
            teller.on_wait(words)
