"""Answers what people ask: from the log's leader where it is one job, else from view and archive.

Used by the HTTP part only; changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from heapq import nlargest

from sqlalchemy import Connection

from muster.contracts import subjects
from muster.contracts.events import Event, UnreadableEvent, read_event
from muster.domain.errors import Temporary
from muster.domain.nodes import NodeState
from muster.domain.pools import WaitingJob
from muster.domain.shelf import Item, shelf
from muster.domain.state import JobState
from muster.domain.tenants import spot_is_for
from muster.gateway.core.capacity import NodeUse, PoolUse, node_uses, pool_use
from muster.gateway.core.filters import JobFilter, Place, place_of
from muster.gateway.core.history import missing
from muster.gateway.core.usage import Usage, UsageAsked
from muster.gateway.core.view import JobName, SeenJob, SeenPool, View
from muster.gateway.store import search, usage
from muster.gateway.store.search import KeptEvent
from muster.log import EventLog, Recorded
from muster.runtime.database import Database

REPLAY_PAGE = 500


@dataclass(frozen=True, slots=True)
class Told:
    """One event of a timeline."""

    seq: int
    event: Event


@dataclass(frozen=True, slots=True)
class Life:
    """A job and its timeline. missing: versions that neither log nor archive has (any more)."""

    job: SeenJob
    timeline: tuple[Told, ...]
    missing: tuple[int, ...]
    fresh: bool


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool as it is used, and what was last said about it."""

    name: str
    use: PoolUse
    said: SeenPool | None


@dataclass(frozen=True, slots=True)
class Asks:
    """For whom capacity is counted: what that tenant or user may not use is not free for them."""

    tenant: str | None = None
    user: str | None = None


NOBODY = Asks()


class Reading:
    """The questions. The view belongs to `follow`."""

    def __init__(self, log: EventLog, database: Database, view: View) -> None:
        self._log, self._database, self.view = log, database, view

    async def jobs(self, wanted: JobFilter, before: Place | None, limit: int) -> list[SeenJob]:
        """Return up to `limit` jobs, newest first, after a place of an earlier listing."""
        live = [seen for seen in self.view.jobs.values() if _is_due(seen, wanted, before)]
        found = nlargest(limit, live, key=_place)
        old = await self._ended(wanted, before, limit)
        return nlargest(limit, [*found, *old], key=_place)

    async def _ended(self, wanted: JobFilter, before: Place | None, limit: int) -> list[SeenJob]:
        """Jobs that only the archive has: the view is newer where both have one."""
        found: list[SeenJob] = []
        while len(found) < limit:
            page = await self._database.run(
                partial(search.find_ended, wanted=wanted, before=before, limit=limit)
            )
            found += [seen for seen in page if seen.name not in self.view.jobs]
            if len(page) < limit:
                break
            before = _place(page[-1])
        return found

    async def last(self, tenant: str, job: str) -> Recorded | None:
        """Return a job's last event as the log's leader knows it."""
        return await self._log.last(subjects.job_key(tenant, job), leader=True)

    async def life(self, tenant: str, job: str) -> Life | None:
        """Return a job as the log's leader knows it, with its whole timeline; None if unknown."""
        key = subjects.job_key(tenant, job)
        last = await self._log.last(key, leader=True)
        hot = [item for item in await self._log.history(key) if isinstance(item, Recorded)]
        seen = SeenJob(last.job, last.seq) if last else None
        return await self._life(tenant, job, seen, hot, fresh=True)

    async def remembered(self, tenant: str, job: str) -> Life | None:
        """Return a job as view and archive know it, for the time that the log is away."""
        seen = self.view.jobs.get((tenant, job))
        return await self._life(tenant, job, seen, [], fresh=False)

    async def _life(
        self, tenant: str, job: str, seen: SeenJob | None, hot: list[Recorded], *, fresh: bool
    ) -> Life | None:
        try:
            kept = await self._database.run(partial(_kept, tenant=tenant, job=job))
        except Temporary:
            if seen is None:
                raise
            kept = None, []
        seen = seen or kept[0]
        if seen is None:
            return None
        told = {event.seq: event for event in kept[1]}
        told |= {item.seq: Told(item.seq, item.event) for item in hot}
        timeline = tuple(told[seq] for seq in sorted(told) if seq <= seen.seq)
        gap = missing((_version(event) for event in timeline), seen.state.version)
        return Life(seen, timeline, gap, fresh)

    def live(self, wanted: JobFilter, job: str | None, after: int = 0) -> list[SeenJob]:
        """Return the view's jobs whose last event comes after a sequence, in the log's order."""
        found = (
            seen
            for seen in self.view.jobs.values()
            if seen.seq > after and is_about(seen.state, wanted, job)
        )
        return sorted(found, key=lambda seen: seen.seq)

    async def ended_after(self, wanted: JobFilter, job: str | None, after: int) -> list[SeenJob]:
        """Return the archive's ended jobs whose last event comes after a sequence, in order."""
        found: list[SeenJob] = []
        while True:
            page = await self._database.run(
                partial(search.find_changed, wanted=wanted, job=job, after=after, limit=REPLAY_PAGE)
            )
            found += page
            if len(page) < REPLAY_PAGE:
                return found
            after = page[-1].seq

    async def usage(self, asked: UsageAsked) -> Usage:
        """Return what jobs used, as far as the archive has come."""
        return await self._database.run(partial(usage.usage, asked=asked))

    def waiting(self) -> dict[JobName, WaitingJob]:
        """Return what the last rounds said of the jobs at the heads of their queues."""
        summaries = (pool.summary for pool in self.view.pools.values() if pool.summary)
        return {(one.tenant, one.job): one for summary in summaries for one in summary.queue}

    def nodes(self, pool: str | None, asks: Asks = NOBODY) -> list[NodeUse]:
        """Return the nodes of a pool, or of all, by pool and name, and who is on them."""
        states = (seen.state for seen in self.view.nodes.values())
        mine = sorted(
            (state for state in states if pool in {None, state.pool}),
            key=lambda state: (state.pool, state.node),
        )
        return node_uses(mine, self._states(), partial(self._blocked, asks))

    def stock(self, pool: str | None, asks: Asks = NOBODY) -> list[tuple[Item, bool]]:
        """Return the spot capacity of a pool, or of all, and whether it is for whoever asks."""
        items = shelf(
            self.view.stock.values(),
            [seen.state for seen in self.view.nodes.values()],
            self._states(),
            partial(self._blocked, asks),
        )
        tenants, name = self.view.tenants, asks.tenant
        return [
            (i, name is None or spot_is_for(tenants, name, i.pool))
            for i in items
            if pool in {None, i.pool}
        ]

    def _blocked(self, asks: Asks, node: NodeState) -> bool:
        known = self.view.tenants.get(asks.tenant or "")
        return known is not None and node.node in known.blocked(node.pool, asks.user or "")

    def pools(self, asks: Asks = NOBODY) -> list[Pool]:
        """Return every pool that a node, a job or a fact names, by name."""
        states, uses = self._states(), self.nodes(None, asks)
        names = {use.state.pool for use in uses} | {state.pool for state in states}
        return [
            Pool(
                name,
                pool_use(
                    [use for use in uses if use.state.pool == name],
                    [state for state in states if state.pool == name],
                ),
                self.view.pools.get(name),
            )
            for name in sorted(names | set(self.view.pools))
        ]

    def _states(self) -> Sequence[JobState]:
        return [seen.state for seen in self.view.jobs.values()]


def is_about(state: JobState, wanted: JobFilter, job: str | None) -> bool:
    """Tell whether a job is asked for by filter and name."""
    return job in {None, state.job} and wanted.matches(state)


def _place(seen: SeenJob) -> Place:
    return place_of(seen.state)


def _is_due(seen: SeenJob, wanted: JobFilter, before: Place | None) -> bool:
    return wanted.matches(seen.state) and (before is None or _place(seen) < before)


def _kept(connection: Connection, tenant: str, job: str) -> tuple[SeenJob | None, list[Told]]:
    events = (_told(event) for event in search.job_events(connection, tenant, job))
    return search.job(connection, tenant, job), [told for told in events if told is not None]


def _told(kept: KeptEvent) -> Told | None:
    try:
        return Told(kept.seq, read_event(kept.subject, kept.body.encode()))
    except UnreadableEvent:
        return None


def _version(told: Told) -> int:
    version: int = told.event.data.job.version
    return version
