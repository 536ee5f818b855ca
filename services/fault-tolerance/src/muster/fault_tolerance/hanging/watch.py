"""Hang detection's own ordered reading of the log: running jobs that are watched.

A projection: what is appended is decided over the job's last event instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from muster.contracts import subjects
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.log import EventLog, Follower, Recorded


class Watch:
    """jobs: those that run and that somebody wants watched, by id."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._follower: Follower | None = None
        self.jobs: dict[str, JobState] = {}
        self._over: set[str] = set()
        self._end: int | None = None
        self.caught_up = False

    async def read(self) -> None:
        """Read what is new."""
        if self._follower is None:
            self._follower = await self._log.follow((subjects.ALL_JOBS,))
            self._end = await self._log.end()
        while page := await self._follower.next():
            for item in page:
                if isinstance(item, Recorded):
                    self._note(item)
        self.caught_up = self.caught_up or self._follower.position >= (self._end or 0)

    def _note(self, item: Recorded) -> None:
        state = item.job
        if state.phase is Phase.RUNNING and state.demand.hang is not None:
            self.jobs[state.job] = state
            return
        self.jobs.pop(state.job, None)
        if state.terminal:
            self._over.add(state.job)

    def by_pool(self) -> Iterator[tuple[str, list[JobState]]]:
        """Yield the watched jobs of each pool."""
        jobs = sorted(self.jobs.values(), key=lambda state: (state.pool, state.job))
        for pool, states in groupby(jobs, key=lambda state: state.pool):
            yield pool, list(states)

    def take_over(self) -> set[str]:
        """Return the jobs that have ended since the last call."""
        over, self._over = self._over, set()
        return over
