"""Watches what trainings print: did one that runs again go on, and which checkpoint is its last.

A loop of the executor. It keeps nothing that could not be read again: of the present attempt its
output, of the earlier ones theirs and the job's history on the log; what was told already, the
job's state says. `core.progress` judges, `following` reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

import structlog

from muster.contracts import subjects
from muster.contracts.events import JobData
from muster.domain import facts as f
from muster.domain.edges import may_follow
from muster.domain.errors import Permanent
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.executor.core import progress
from muster.executor.core.lines import Reader
from muster.executor.core.progress import Happened, Stay, Summary, Verdict
from muster.executor.following import Following, Tracked
from muster.executor.handlers import Handlers
from muster.log import Recorded
from muster.runtime.journal import Journal
from muster.runtime.service import Aside

EARLIER = 8
"""Attempts before the present one whose output is read."""

_WATCHED = (Phase.RUNNING, Phase.EVICTING)


class Resuming:
    """`step` is a loop's turn."""

    def __init__(
        self,
        journal: Journal,
        following: Following,
        handlers: Handlers,
        settle_s: float,
        aside: Aside,
    ) -> None:
        self._journal, self._following, self._handlers = journal, following, handlers
        self._settle, self._aside = timedelta(seconds=settle_s), aside

    async def step(self) -> None:
        """Read what the workers of running jobs printed, and record what it means."""
        watch = self._handlers.watch
        if not watch.caught_up or not await self._handlers.holder.holds():
            return
        running = [s for s in watch.jobs.values() if s.phase in _WATCHED and s.launched]
        self._following.keep({state.job for state in running})
        for state in running:
            try:
                await self._look(state)
            except (OSError, Permanent) as error:
                structlog.get_logger().warning("progress unknown", job=state.job, why=str(error))

    async def _look(self, state: JobState) -> None:
        tracked = await self._following.read(state)
        if not tracked.outputs:
            return
        now = tracked.told
        if not tracked.judged and not now.silent:
            await self._judge(state, tracked, now)
        if progress.worth_telling(state, now, self._journal.clock.now()):
            await self._tell_saved(state, now)

    # --- did it go on ---------------------------------------------------------------------------

    async def _judge(self, state: JobState, tracked: Tracked, now: Summary) -> None:
        if judged(state):
            tracked.judged = True
            return
        if tracked.past is None:
            tracked.past = await self._past(state, tracked.reader)
        clock = self._journal.clock.now()
        if now.steps and tracked.stepped_at is None:
            tracked.stepped_at = clock
        waited = tracked.stepped_at is not None and clock - tracked.stepped_at >= self._settle
        verdict = progress.judge(tracked.past, now, state, waited=waited)
        if verdict is not None:
            await self._tell_verdict(state, verdict)
            tracked.judged = True

    async def _past(self, state: JobState, reader: Reader) -> list[Stay]:
        """Read the earlier attempts: their output where it still is, and the job's history."""
        history = await self._journal.log.history(subjects.job_key(state.tenant, state.job))
        told = await self._aside(partial(self._told_before, state, reader))
        return progress.stays(map(_happened, _about_jobs(history)), told, state.attempt)

    def _told_before(self, state: JobState, reader: Reader) -> dict[int, Summary]:
        attempts = range(max(1, state.attempt - EARLIER), state.attempt)
        return {
            attempt: progress.total(
                each.both_ends() for each in self._following.outputs(state, attempt, reader)
            )
            for attempt in attempts
        }

    async def _tell_verdict(self, state: JobState, verdict: Verdict) -> None:
        model = f.ResumeVerified if verdict.kept else f.ProgressLost
        fact = model(
            attempt=state.attempt,
            step_before=verdict.step_before,
            step_after=verdict.step_after,
            checkpoint_step=verdict.checkpoint,
            gpu_hours=verdict.gpu_hours,
            line=verdict.line or None,
        )

        def decide(last: Recorded, at: datetime) -> f.Fact | None:
            return None if judged(last.job) else _if_legal(fact, last.job, state.attempt)

        await self._journal.advance(state.tenant, state.job, decide)

    async def _tell_saved(self, state: JobState, now: Summary) -> None:
        fact = f.CheckpointSaved(
            attempt=state.attempt,
            step=now.saved or 0,
            last_step=progress.last_step(now),
            line=now.saved_line or None,
        )

        def decide(last: Recorded, at: datetime) -> f.Fact | None:
            if not progress.worth_telling(last.job, now, at):
                return None
            return _if_legal(fact, last.job, state.attempt)

        await self._journal.advance(state.tenant, state.job, decide)


def judged(state: JobState) -> bool:
    """Tell whether the verdict on this attempt is on the log."""
    found = state.progress.resumption if state.progress else None
    return found is not None and found.attempt == state.attempt


def _if_legal(fact: f.Fact, state: JobState, attempt: int) -> f.Fact | None:
    legal = state.attempt == attempt and may_follow(fact.event, state.phase)
    return fact if legal else None


def _about_jobs(history: Sequence[object]) -> list[Recorded]:
    return [each for each in history if isinstance(each, Recorded)]


def _happened(item: Recorded) -> Happened:
    data = item.event.data
    assert isinstance(data, JobData)
    assert isinstance(data.detail, f.Fact)
    return Happened(data.job.attempt, data.detail, item.event.time)
