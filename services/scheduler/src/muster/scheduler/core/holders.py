"""Those who hold something in a pool, by what rounds ask about them. Kept from round to round.

Nothing here depends on the instant: a round asks about its own.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import TypeVar

from muster.scheduler.core.clocks import instants_of
from muster.scheduler.core.jobs import JobKey, Listed
from muster.scheduler.core.leaving import leaves_by
from muster.scheduler.core.market import Asked, counted
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rank import Level
from muster.scheduler.core.snapshot import is_hold
from muster.scheduler.core.stayers import Stayer, stayer_of
from muster.scheduler.core.upkeep import may_be_told_to_leave

K = TypeVar("K")

NOBODY: Level = (-1, -1)
"""Under the level of every job."""

Instant = tuple[datetime, JobKey]


class Holders:
    """See the module. holds: placements on paper. leavers: on their way out, in time or not.

    stayers: they may be told to leave, holds among them. workers: how many of which shape.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.all: dict[JobKey, Listed] = {}
        self.holds: dict[JobKey, Listed] = {}
        self.leavers: dict[JobKey, Listed] = {}
        self.stayers: dict[JobKey, Stayer] = {}
        self.workers: dict[Asked, int] = {}
        self._levels: dict[Level, int] = {}
        self._on: dict[str, dict[JobKey, None]] = {}
        self._waiting: dict[JobKey, dict[JobKey, None]] = {}
        self._instants: list[Instant] = []
        self._own: dict[JobKey, tuple[Instant, ...]] = {}

    def enter(self, job: Listed) -> None:
        """Take in a job that was not here."""
        key, state = job.key, job.state
        self.all[key] = job
        if is_hold(state):
            self.holds[key] = job
        if leaves_by(state) is not None:
            self.leavers[key] = job
        elif is_hold(state) or may_be_told_to_leave(state):
            stayer = self.stayers[key] = stayer_of(job, self._policy)
            if not stayer.guarantee:
                self._levels[stayer.level] = self._levels.get(stayer.level, 0) + 1
        for node in state.held:
            self._on.setdefault(node, {})[key] = None
        for wait in state.waits_for:
            self._waiting.setdefault((wait.tenant, wait.job), {})[key] = None
        self._count(job, 1)
        own = self._own[key] = tuple((at, key) for at in instants_of(job, self._policy))
        for each in own:
            insort(self._instants, each)

    def leave(self, key: JobKey) -> Listed | None:
        """Forget a job, if it is here."""
        job = self.all.pop(key, None)
        if job is None:
            return None
        state = job.state
        self.holds.pop(key, None)
        self.leavers.pop(key, None)
        stayer = self.stayers.pop(key, None)
        if stayer is not None and not stayer.guarantee:
            self._levels[stayer.level] -= 1
            if not self._levels[stayer.level]:
                del self._levels[stayer.level]
        for node in state.held:
            _drop(self._on, node, key)
        for wait in state.waits_for:
            _drop(self._waiting, (wait.tenant, wait.job), key)
        self._count(job, -1)
        for each in self._own.pop(key):
            del self._instants[bisect_left(self._instants, each)]
        return job

    def _count(self, job: Listed, by: int) -> None:
        for asked, count in counted([(job.state, by)]).items():
            after = self.workers.pop(asked, 0) + count
            if after:
                self.workers[asked] = after

    def on(self, nodes: Iterable[str]) -> Iterator[JobKey]:
        """Yield who holds something on these nodes, one perhaps more than once."""
        return (key for node in nodes for key in self._on.get(node, ()))

    def waiting_for(self, key: JobKey) -> tuple[JobKey, ...]:
        """Return who was placed in the room of a job."""
        return tuple(self._waiting.get(key, ()))

    def top_below(self, own: Level | None) -> Level:
        """Return the highest level under `own` (None = of all) of those who may be sent off."""
        under = (each for each in self._levels if own is None or each < own)
        return max(under, default=NOBODY)

    def who_may_go(
        self, keys: Iterable[JobKey], top: Level, leaving: Collection[JobKey]
    ) -> frozenset[JobKey]:
        """Return who of these leaves, or might be sent off by somebody who may reach this level.

        leaving: who was told to in this round, among others.
        """
        stayers, leavers = self.stayers, self.leavers
        return frozenset(
            [
                key
                for key in keys
                if ((one := stayers.get(key)) and one.level <= top and not one.guarantee)
                or key in leavers
                or key in leaving
            ]
        )

    def next_instant(self, now: datetime) -> datetime | None:
        """Return the first instant after now at which something about them changes by itself."""
        index = bisect_right(self._instants, now, key=lambda each: each[0])
        return self._instants[index][0] if index < len(self._instants) else None


def _drop(index: dict[K, dict[JobKey, None]], place: K, key: JobKey) -> None:
    there = index.get(place)
    if there is not None:
        there.pop(key, None)
        if not there:
            del index[place]
