"""Watches gangs of which one worker has ended well while the others stay: an exit that hangs.

A loop of the executor. What it remembers is only since when nothing moves; a new executor begins to
count anew. `core.outliving` judges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

import structlog

from muster.domain import facts as f
from muster.domain.edges import may_follow
from muster.domain.evidence import LEFT_BEHIND
from muster.domain.state import JobState
from muster.executor.backends import Backend, Observed, Signs, WorkerKey, WorkerStatus
from muster.executor.core.outliving import Waiting, is_of_interest, sight_of, waits
from muster.executor.handlers import Handlers
from muster.log import Recorded
from muster.runtime.journal import Journal
from muster.runtime.service import Aside

Gang = Sequence[Observed]


class Outlived:
    """`step` is a loop's turn. bound_s: so long nothing may move; waiting: by job and attempt."""

    def __init__(
        self,
        journal: Journal,
        backend: Backend,
        handlers: Handlers,
        bound_s: float,
        aside: Aside,
    ) -> None:
        self._journal, self._backend, self._handlers = journal, backend, handlers
        self._bound, self._aside = timedelta(seconds=bound_s), aside
        self.waiting: dict[tuple[str, int], Waiting] = {}

    async def step(self) -> None:
        """Look at every gang of which somebody has left."""
        watch = self._handlers.watch
        if not watch.caught_up or not await self._handlers.holder.holds():
            return
        gangs = _left_by_some(watch.jobs, await self._backend.observe())
        keys = [worker.key for _, gang in gangs for worker in _living(gang)]
        signs = await self._backend.signs(keys, stacks=False) if keys else {}
        before, self.waiting = self.waiting, {}
        for state, gang in gangs:
            await self._look(state, gang, signs, before.get((state.job, state.attempt)))

    async def _look(
        self,
        state: JobState,
        gang: Gang,
        signs: Mapping[WorkerKey, Signs],
        before: Waiting | None,
    ) -> None:
        living = _living(gang)
        printed = await self._aside(lambda: {w.key: self._printed(w.key) for w in living})
        seen = [_seen(w.key, signs.get(w.key, Signs()), printed[w.key]) for w in living]
        waiting = waits(before, sight_of(self._journal.clock.now(), seen))
        if waiting is None:
            return
        self.waiting[state.job, state.attempt] = waiting
        if waiting.last.at - waiting.since >= self._bound:
            await self._tell(state, gang)

    def _printed(self, key: WorkerKey) -> int:
        output = self._backend.output(key)
        return output.size() if output is not None else 0

    async def _tell(self, state: JobState, gang: Gang) -> None:
        fact = f.WorkersFailed(attempt=state.attempt, failures=_failures(gang))

        def decide(last: Recorded, at: object) -> f.Fact | None:
            now = last.job
            same = now.attempt == state.attempt and is_of_interest(now)
            return fact if same and may_follow(fact.event, now.phase) else None

        structlog.get_logger().warning("workers left behind", job=state.job)
        await self._journal.advance(state.tenant, state.job, decide)


def _seen(key: WorkerKey, signs: Signs, printed: int) -> tuple[str, float | None, int | None]:
    return key.worker, signs.cpu_s, None if signs.moved is None else signs.moved + printed


def _failures(gang: Gang) -> tuple[f.WorkerFailure, ...]:
    """Return who left, and then those that are left behind."""
    left = sorted(filter(_left, gang), key=lambda w: (w.ended_at is None, w.ended_at or 0, w.key))
    return tuple(
        f.WorkerFailure(
            worker=each.key.worker,
            node=each.node,
            exit_code=each.exit_code,
            cause="exited" if _left(each) else LEFT_BEHIND,
            ended_at=each.ended_at,
            log=each.log_path,
        )
        for each in (*left, *sorted(_living(gang), key=lambda w: w.key))
    )


def _left(worker: Observed) -> bool:
    return worker.status is WorkerStatus.EXITED and worker.exit_code == 0


def _living(gang: Gang) -> list[Observed]:
    return [worker for worker in gang if worker.status is WorkerStatus.RUNNING]


def _left_by_some(
    jobs: Mapping[str, JobState], workers: Sequence[Observed]
) -> list[tuple[JobState, Gang]]:
    """Return the gangs of which one has ended with 0 and others live."""
    found: list[tuple[JobState, Gang]] = []
    for state in filter(is_of_interest, jobs.values()):
        gang = [w for w in workers if (w.key.job, w.key.attempt) == (state.job, state.attempt)]
        if any(map(_left, gang)) and _living(gang):
            found.append((state, gang))
    return found
