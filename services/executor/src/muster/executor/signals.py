"""Signs of life of running attempts, and how far each has come: asked by who watches for hangs.

A step is what the training told of it and nothing else; output that repeats itself is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muster.contracts.evidence import AskSignals, JobRef, Signals
from muster.domain.evidence import JobSignals, WorkerSignals
from muster.domain.state import JobState
from muster.executor.backends import Backend, Observed, Signs, WorkerKey, WorkerStatus
from muster.executor.core import progress
from muster.executor.following import Following
from muster.executor.watch import Watch
from muster.runtime.clock import Clock
from muster.runtime.service import Aside

_ALIVE = (WorkerStatus.STARTING, WorkerStatus.RUNNING)


class SignsOfLife:
    """`of` answers one question."""

    def __init__(
        self, backend: Backend, watch: Watch, following: Following, clock: Clock, aside: Aside
    ) -> None:
        self._backend, self._watch, self._following = backend, watch, following
        self._clock, self._aside = clock, aside

    async def of(self, asked: AskSignals) -> Signals:
        """Return the signs of those attempts that are present ones here."""
        states = [state for ref in asked.jobs if (state := self._present(ref)) is not None]
        wanted = {WorkerKey(s.job, s.attempt, name) for s in states for name in s.placed_on}
        seen = {each.key: each for each in await self._backend.observe() if each.key in wanted}
        living = [key for key, each in seen.items() if each.status in _ALIVE]
        signs = await self._backend.signs(living, stacks=asked.stacks)
        printed = await self._printed(list(seen))
        jobs = [await self._job(state, seen, signs, printed) for state in states]
        return Signals(jobs=tuple(jobs))

    def _present(self, ref: JobRef) -> JobState | None:
        state = self._watch.jobs.get(ref.job)
        if state is None or (state.tenant, state.attempt) != (ref.tenant, ref.attempt):
            return None
        return state

    async def _printed(self, keys: Sequence[WorkerKey]) -> dict[WorkerKey, int]:
        outputs = {key: output for key in keys if (output := self._backend.output(key))}
        return await self._aside(lambda: {key: out.size() for key, out in outputs.items()})

    async def _job(
        self,
        state: JobState,
        seen: Mapping[WorkerKey, Observed],
        signs: Mapping[WorkerKey, Signs],
        printed: Mapping[WorkerKey, int],
    ) -> JobSignals:
        tracked = await self._following.read(state)
        workers = []
        for name, node in sorted(state.placed_on.items()):
            key = WorkerKey(state.job, state.attempt, name)
            signed, size = signs.get(key, Signs()), printed.get(key)
            workers.append(self._worker(name, node, seen.get(key), signed, size))
        return JobSignals(
            tenant=state.tenant,
            job=state.job,
            attempt=state.attempt,
            step=progress.last_step(tracked.told),
            step_at=tracked.step_at,
            declared=tracked.told.declared,
            declared_at=tracked.declared_at,
            workers=tuple(workers),
        )

    def _worker(
        self, name: str, node: str, seen: Observed | None, signs: Signs, printed: int | None
    ) -> WorkerSignals:
        return WorkerSignals(
            worker=name,
            node=node,
            alive=seen is not None and seen.status in _ALIVE,
            exit_code=seen.exit_code if seen else None,
            ended_at=self._clock.of_server(seen.ended_at) if seen and seen.ended_at else None,
            cpu_s=signs.cpu_s,
            state=signs.state,
            stack=signs.stack,
            standing=signs.standing,
            gpu=signs.gpu,
            gpu_watts=signs.gpu_watts,
            moved=signs.moved,
            printed=printed,
        )
