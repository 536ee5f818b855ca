"""Keep every event; when a job's whole history is kept, say so; then let the log forget most of it.

Called by the bus for each event, in any order, and by loops that find what a lost trigger, a crash
or a restored database left undone. What is missing is read from the log again while it is there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice

import structlog
from sqlalchemy import Connection

from muster.bus import Trigger
from muster.contracts import subjects
from muster.domain.errors import Permanent
from muster.domain.state import JobState
from muster.gateway.core.history import archive, may_be_archived, may_be_trimmed, missing
from muster.gateway.core.view import SeenJob, View
from muster.gateway.settings import GatewaySettings
from muster.gateway.store import metering, search, writing
from muster.gateway.store.writing import Stored
from muster.log import Recorded
from muster.runtime.database import Database
from muster.runtime.journal import Journal

SWEPT = 50
"""Jobs that one sweep looks at."""
TOGETHER = 100
"""Events that are kept in one transaction."""
METERED = 20
"""Pages of archived events that one sweep meters, where they were not when they came."""
CONFIRMED = 500
"""Archived jobs that are handed over to the archive in one go."""


class Handlers:
    """Everything the gateway does by itself."""

    def __init__(
        self, journal: Journal, database: Database, view: View, settings: GatewaySettings
    ) -> None:
        self._journal, self._database, self._view = journal, database, view
        self._settings = settings
        self._lost: dict[tuple[str, str], int] = {}
        self._waiting: deque[Stored] = deque()

    # --- an event came -------------------------------------------------------------------------

    async def on_event(self, trigger: Trigger) -> None:
        """Keep an event; archive its job when nothing of the history is missing."""
        if trigger.event is None:
            raise Permanent("no event that this version can read")
        stored = Stored(trigger.seq, trigger.at, trigger.event, trigger.body)
        alone = trigger.delivered > 1  # what failed in company is tried by itself
        if not alone:
            self._waiting.append(stored)
        whole = await self._database.run(partial(self._keep, mine=stored, alone=alone))
        if whole is not None:
            await self._archive(whole)

    def _keep(self, connection: Connection, mine: Stored, *, alone: bool) -> SeenJob | None:
        """Put an event; return its job when it may be archived and its history is whole.

        A commit costs more than what is in it, so whoever has the database puts what waits for it
        too. That is help and no promise: each looks for its own event, since the helper may fail.
        """
        if not search.has(connection, mine.event.id):
            writing.put(connection, mine)
            for stored in () if alone else self._others(mine):
                writing.put(connection, stored)
        return _whole(connection, mine.state)

    def _others(self, mine: Stored) -> Iterator[Stored]:
        for _ in range(TOGETHER):
            try:
                stored = self._waiting.popleft()
            except IndexError:
                return
            if stored is not mine:
                yield stored

    async def _archive(self, whole: SeenJob) -> None:
        """Say that the archive has everything up to what was seen; no more if more has happened."""
        await self._journal.advance(
            *whole.name,
            lambda last, now: archive(last.job, whole.state.version),
            at_least=whole.seq,
        )

    # --- what was left undone --------------------------------------------------------------------

    async def sweep(self) -> None:
        """Archive the jobs that ended a while ago and are still not archived; meter the past."""
        now = self._journal.clock.now()
        late = (
            seen
            for seen in self._view.ended(archived=False)
            if (now - seen.state.since).total_seconds() >= self._settings.sweep_s
        )
        for seen in self._undone(late, SWEPT):
            if await self._heal(seen):
                await self._archive(seen)
        await self._meter()

    async def _meter(self) -> None:
        """Go on with what was archived before use was metered, page by page."""
        for _ in range(METERED):
            if not await self._database.run(metering.catch_up):
                return

    async def hand_over(self) -> None:
        """Let the archive answer for the archived jobs that it really holds."""
        batch = self._undone(self._view.ended(archived=True), CONFIRMED)
        if not batch:
            return
        names = [seen.name for seen in batch]
        counts = await self._database.run(partial(search.count_versions, names=names))
        for seen in batch:
            if counts.get(seen.name, 0) >= seen.state.version or await self._heal(seen):
                self._view.forget_job(seen.name, seen.seq)

    async def trim(self) -> None:
        """Let the log forget all but the last event of jobs that ended long enough ago."""
        hot = self._settings.hot
        if hot is None:
            return
        before = self._journal.clock.now() - hot
        due = await self._database.run(
            partial(search.to_trim, ended_before=before, limit=self._settings.trim_jobs)
        )
        for seen in due:
            if may_be_trimmed(seen.state, self._journal.clock.now(), hot):
                await self._trim(seen)

    async def _trim(self, seen: SeenJob) -> None:
        key = subjects.job_key(*seen.name)
        last = await self._journal.log.last(key, leader=True)
        if last is None or (last.seq, last.job) != (seen.seq, seen.state):
            return  # the archive will hear of what happened since; next time, then
        if await self._heal(seen):
            await self._journal.log.trim(key, seen.seq)
        tenant, job = seen.name
        done = partial(writing.mark_trimmed, tenant=tenant, job=job, version=seen.state.version)
        await self._database.run(done)

    def _undone(self, jobs: Iterable[SeenJob], limit: int) -> list[SeenJob]:
        hopeful = (seen for seen in jobs if self._lost.get(seen.name) != seen.seq)
        return list(islice(hopeful, limit))

    async def _heal(self, seen: SeenJob) -> bool:
        """Read from the log what the archive misses of a job. Returns whether it is whole then."""
        if not await self._missing(seen):
            return True
        for item in await self._journal.log.history(subjects.job_key(*seen.name)):
            if isinstance(item, Recorded):
                stored = Stored(item.seq, item.at, item.event, item.event.to_bytes())
                await self._database.run(partial(writing.put, stored=stored))
        gap = await self._missing(seen)
        if gap:
            self._lost[seen.name] = seen.seq
            structlog.get_logger().warning(
                "neither log nor archive has the whole history", job=seen.name[1], versions=gap
            )
        return not gap

    async def _missing(self, seen: SeenJob) -> tuple[int, ...]:
        tenant, job = seen.name
        found = await self._database.run(partial(search.versions, tenant=tenant, name=job))
        return missing(found, seen.state.version)


def _whole(connection: Connection, state: JobState | None) -> SeenJob | None:
    """Return the job of an event when it may be archived and nothing of its history is missing."""
    if state is None:
        return None
    seen = search.unarchived_end(connection, state.tenant, state.job)
    if seen is None or not may_be_archived(seen.state):
        return None
    found = search.versions(connection, state.tenant, state.job)
    if missing(found, seen.state.version):
        return None
    metering.heal(connection, state.tenant, state.job)
    return seen
