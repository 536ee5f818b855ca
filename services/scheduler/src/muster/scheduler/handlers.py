"""Wake, read, decide, append: the scheduler's one loop over all its pools.

It has no handlers of single messages. It reads the log in order and, pool by pool, takes a turn.
News wakes it, and a little later, so that what happens together is planned together; without any it
takes a turn every tenth of a second or so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from muster.domain.errors import MusterError, Permanent, Temporary
from muster.domain.state import JobState
from muster.log import Follower
from muster.runtime.journal import Journal
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.snapshot import Snapshot
from muster.scheduler.cycle import checkpoint
from muster.scheduler.cycle.fold import Fold, PoolFold
from muster.scheduler.cycle.pool import PoolCycle, Standby

PAGES_A_TURN = 200


class CatchingUp(Temporary):
    """The log has not been read to where it ended when this scheduler started."""


class Scheduler:
    """Everything the scheduler does. filters: what of the log it reads. only: empty = all pools."""

    def __init__(
        self,
        journal: Journal,
        policy: Policy,
        standby: Standby,
        filters: Sequence[str],
        only: frozenset[str] = frozenset(),
    ) -> None:
        self._journal, self._policy, self._standby = journal, policy, standby
        self._filters = tuple(filters)
        self._holder = journal.new_id()
        self.fold = Fold(only)
        self.cycles: dict[str, PoolCycle] = {}
        self._follower: Follower | None = None
        self._start_at = 0
        self._caught_up = False
        self._file: Path | None = None
        self._save_every = 0.0
        self._saved_at: tuple[float, int] | None = None
        self._longest = self._gather = self._took = 0.0

    def wake_on_news(self, longest: float, gather: float) -> None:
        """Wait in each turn for something new, `longest` seconds at most, and `gather` after it.

        After a turn that took long it gathers longer, so as not to plan all the time.
        """
        self._longest, self._gather = longest, gather

    def keep_in(self, file: Path, every: float) -> None:
        """Start from this file, and write it again every so many seconds."""
        self._file, self._save_every = file, every

    @property
    def position(self) -> int:
        """Return the sequence up to which the log has been read."""
        return self._follower.position if self._follower else 0

    def pool(self, name: str) -> PoolFold:
        """Return what is known of a pool, an empty one where nothing is."""
        return self.fold.pools.get(name) or PoolFold(name)

    def frozen(self, pool: PoolFold) -> Snapshot:
        """Return what a round of a pool would look at now; changes nothing."""
        now, cycle = self._journal.clock.now(), self.cycles.get(pool.pool)
        if cycle is None:
            return pool.snapshot(now, self.position, None, frozenset())
        return cycle.frozen(now)

    async def last(self, tenant: str, job: str, at_least: int) -> JobState | None:
        """Return a job as its last event left it."""
        found = await self._journal.job(tenant, job, at_least)
        return found.job if found else None

    async def step(self) -> None:
        """Do one turn: read what is new, then let every pool do its part."""
        try:
            await self._read(await self._open())
        except Permanent:
            await self._start_over()
            raise
        if not self._caught_up:
            return
        began = self._journal.clock.monotonic()
        errors: list[MusterError] = []
        for pool in sorted(self.fold.pools):
            await asyncio.sleep(0)  # a plan takes a while: others may have their turn between two
            try:
                await self._cycle(pool).turn()
            except MusterError as error:
                errors.append(error)
        self._save()
        self._took = self._journal.clock.monotonic() - began
        if errors:
            raise errors[0]

    async def ready(self) -> None:
        """Raise CatchingUp while the log is still being read for the first time."""
        if not self._caught_up:
            raise CatchingUp("the scheduler is still reading the log")

    async def _start_over(self) -> None:
        """The log is no longer the one that was read (it was restored, say): forget everything."""
        await self.close()
        self.fold, self.cycles = Fold(self.fold.only), {}
        self._caught_up = False

    async def close(self) -> None:
        """Give the follower back."""
        if self._follower is not None:
            await self._follower.close()
            self._follower = None

    async def _open(self) -> Follower:
        if self._follower is None:
            start = 0
            if self._file is not None:
                found = await checkpoint.load(self._file, self.fold.only, self._journal.log)
                if found is not None:
                    self.fold, start = found.fold, found.position
            self._start_at = await self._journal.log.end()
            self._follower = await self._journal.log.follow(self._filters, after=start)
        return self._follower

    async def _read(self, follower: Follower) -> None:
        wait = self._longest if self._caught_up else 0.0
        for _ in range(PAGES_A_TURN):
            page = await follower.next(wait)
            for item in page:
                self.fold.take(item)
            if not page:
                break
            if wait:
                await asyncio.sleep(min(self._longest, max(self._gather, 2 * self._took)))
                wait = 0.0
        if not self._caught_up and follower.position >= self._start_at:
            for pool in sorted(self.fold.pools):
                self._cycle(pool)
            self._caught_up = True

    def _cycle(self, pool: str) -> PoolCycle:
        if pool not in self.cycles:
            fold = self.fold.pools[pool]
            cycle = PoolCycle(
                fold, self._journal, self._policy, self._standby, self._holder, self._where
            )
            if self._caught_up and fold.epoch is not None:
                cycle.stand_by()
            self.cycles[pool] = cycle
        return self.cycles[pool]

    def _where(self) -> int:
        return self.position

    def _save(self) -> None:
        if self._file is None:
            return
        ticks = self._journal.clock.monotonic()
        if self._saved_at is None:
            self._saved_at = (ticks, self.position)
        when, where = self._saved_at
        if ticks - when >= self._save_every and self.position > where:
            checkpoint.save(self._file, self.fold, self.position)
            self._saved_at = (ticks, self.position)
