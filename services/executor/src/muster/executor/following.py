"""Reading on in the output of attempts, for whoever wants to know how far a training has come.

One place reads, for the loop of `resuming` and for the desk of `signals`, so that nothing is read
twice. Nothing is kept that could not be read again; after a restart a step counts as told now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime

from muster.domain.spec import JobSpec
from muster.domain.state import JobState
from muster.executor.backends import Backend, WorkerKey
from muster.executor.core import progress
from muster.executor.core.lines import Reader
from muster.executor.core.progress import Stay, Summary
from muster.executor.outputs import OutputReader
from muster.runtime.clock import Clock
from muster.runtime.service import Aside

Specs = Callable[[JobState], Awaitable[JobSpec]]


class Tracked:
    """One attempt of one job.

    step_at: when its last step was first seen; declared_at: when its declared phase was. The rest
    is `resuming`'s: past is None until needed, stepped_at is when its first step was seen.
    """

    def __init__(self, state: JobState, reader: Reader, outputs: Sequence[OutputReader]) -> None:
        self.attempt = state.attempt
        self.reader = reader
        self.outputs = outputs
        self.told = Summary()
        self.step_at: datetime | None = None
        self.declared_at: datetime | None = None
        self.past: list[Stay] | None = None
        self.stepped_at: datetime | None = None
        self.judged = state.attempt <= 1
        self.reading = asyncio.Lock()

    def read(self) -> Summary:
        """Read on. Blocks."""
        for output in self.outputs:
            output.advance()
        return progress.total(output.summary for output in self.outputs)

    def note(self, now: Summary, at: datetime) -> None:
        """Remember what is told now, and since when."""
        before, self.told = self.told, now
        if progress.last_step(now) != progress.last_step(before):
            self.step_at = at
        if now.declared is None:
            self.declared_at = None
        elif now.declarations != before.declarations or self.declared_at is None:
            self.declared_at = at


class Following:
    """The attempts whose output is read."""

    def __init__(self, backend: Backend, specs: Specs, clock: Clock, aside: Aside) -> None:
        self._backend, self._specs, self._clock, self._aside = backend, specs, clock, aside
        self._tracked: dict[str, Tracked] = {}

    def keep(self, jobs: Collection[str]) -> None:
        """Forget all other jobs."""
        self._tracked = {job: self._tracked[job] for job in jobs if job in self._tracked}

    async def read(self, state: JobState) -> Tracked:
        """Read on in the output of a job's present attempt."""
        tracked = self._tracked.get(state.job)
        if tracked is None or tracked.attempt != state.attempt:
            reader = Reader((await self._specs(state)).progress)
            tracked = Tracked(state, reader, self.outputs(state, state.attempt, reader))
            self._tracked[state.job] = tracked
        if tracked.outputs:
            async with tracked.reading:
                tracked.note(await self._aside(tracked.read), self._clock.now())
        return tracked

    def outputs(self, state: JobState, attempt: int, reader: Reader) -> list[OutputReader]:
        """Return what is read of an attempt: the output of those workers that tell."""
        found = (self._backend.output(WorkerKey(state.job, attempt, w)) for w in telling(state))
        return [OutputReader(output, reader) for output in found if output is not None]


def telling(state: JobState) -> list[str]:
    """Return the workers whose output is read: by custom the first of a role or the last tells."""
    workers = [role.workers[0] for role in state.demand.roles if role.workers]
    last = state.demand.workers[-1:]
    return list(dict.fromkeys([*workers, *last]))
