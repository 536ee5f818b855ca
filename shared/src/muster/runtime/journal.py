"""How a service writes: read the last fact, decide, append on condition; again after a conflict.

One `Journal` per service. It evolves the state, wraps it in the event, and names the basis;
handlers never build an event themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime

from prometheus_client import Counter

from muster.contracts import subjects
from muster.contracts.events import (
    incident_event,
    job_event,
    node_event,
    pool_event,
    stock_event,
    tenant_event,
)
from muster.contracts.tracing import note_append, root_of, traceparent
from muster.domain.edges import Owner
from muster.domain.errors import Conflict, Temporary
from muster.domain.evolve import evolve
from muster.domain.facts import Fact
from muster.domain.incidents import INCIDENT_OWNERS, Incident, IncidentFact
from muster.domain.nodes import NodeFact, NodeState, evolve_node
from muster.domain.pools import PoolFact
from muster.domain.state import JobState
from muster.domain.stock import STOCK_OWNERS, StockChanged, item_name
from muster.domain.tenants import TenantFact
from muster.log import Append, Basis, EventLog, Recorded
from muster.runtime.clock import Clock
from muster.runtime.ids import Ids

TRIES = 20
"""Conflicts in a row before the trigger is left to come again."""

_RECORDED = Counter("muster_facts_total", "Facts written to the log", ["service", "event"])

Decide = Callable[[Recorded, datetime], Fact | None]
"""A decision about a job as it was just read, at this instant; None = there is nothing to do."""

DecideNode = Callable[[NodeState | None, datetime], NodeFact | None]
DecideStock = Callable[[StockChanged | None, datetime], StockChanged | None]

DecideIncident = Callable[[Incident | None, datetime], IncidentFact | None]
DecideTenant = Callable[[TenantFact | None], TenantFact | None]


class Journal:
    """A service's pen. `owner` is checked against the table of edges at every write."""

    def __init__(self, owner: Owner, log: EventLog, clock: Clock, ids: Ids) -> None:
        self.owner, self.log, self.clock, self._ids = owner, log, clock, ids
        self._source = f"muster/{owner}"

    def new_id(self) -> str:
        """Return a fresh identifier, for a holder's name say."""
        return self._ids()

    async def job(
        self, tenant: str, job: str, at_least: int = 0, *, leader: bool = False
    ) -> Recorded | None:
        """Return the last event of a job."""
        return await self.log.last(subjects.job_key(tenant, job), at_least, leader=leader)

    def about_job(self, before: Recorded | None, fact: Fact) -> Append:
        """Build the append of a fact."""
        state = before.job if before else None
        at = self._now(before)  # one reading: a replay has only the event's time to evolve with
        after = evolve(state, fact, at, self.owner)
        key = subjects.job_key(after.tenant, after.job)
        event = job_event(
            after,
            fact,
            event_id=self._ids(),
            source=self._source,
            at=at,
            traceparent=self._trace(after, before),
            key=key,
        )
        return Append(event, _basis(before, key))

    def about_same_job(self, first: Append, fact: Fact) -> Append:
        """Build a second append for the job of `first`, for the same batch."""
        after = evolve(first.event.data.job, fact, first.event.time, self.owner)
        event = job_event(
            after,
            fact,
            event_id=self._ids(),
            source=self._source,
            at=first.event.time,
            traceparent=first.event.traceparent,
        )
        return Append(event, None)

    def _trace(self, after: JobState, before: Recorded | None) -> str | None:
        """One job is one trace: what its first event began, every further one goes on."""
        if before is not None:
            return traceparent(before.event.traceparent)
        return traceparent() or root_of(f"{after.tenant}/{after.job}")

    def about_node(self, before: Recorded | None, fact: NodeFact) -> Append:
        """Build the append of a fact about a node."""
        at = self._now(before)
        after = evolve_node(before.node if before else None, fact, at, self.owner)
        key = subjects.node_key(after.pool, after.node)
        event = node_event(after, fact, event_id=self._ids(), source=self._source, at=at)
        return Append(event, _basis(before, key))

    def about_stock(self, before: Recorded | None, fact: StockChanged) -> Append:
        """Build the append of a fact about an item of spot stock."""
        assert self.owner in STOCK_OWNERS[fact.event]
        at = self._now(before)
        event = stock_event(fact, event_id=self._ids(), source=self._source, at=at)
        key = subjects.stock_key(fact.pool, item_name(fact.zone, fact.gpu_model))
        return Append(event, _basis(before, key))

    def about_pool(self, pool: str, fact: PoolFact, basis: Basis, *, kind: str = "pool") -> Append:
        """Build the append of a fact about a pool or cluster; the basis may be another fact."""
        event = pool_event(
            pool, fact, event_id=self._ids(), source=self._source, at=self.clock.now(), kind=kind
        )
        return Append(event, basis)

    def about_tenant(self, tenant: str, before: Recorded | None, fact: TenantFact) -> Append:
        """Build the append of a fact about a tenant; before: the last one of the same kind."""
        at = self._now(before)
        key = subjects.tenant_key(tenant, fact.event)
        event = tenant_event(tenant, fact, event_id=self._ids(), source=self._source, at=at)
        return Append(event, _basis(before, key))

    def about_incident(self, before: Recorded | None, fact: IncidentFact) -> Append:
        """Build the append of a fact about an incident."""
        assert self.owner in INCIDENT_OWNERS[fact.event]
        at = self._now(before)
        event = incident_event(fact, event_id=self._ids(), source=self._source, at=at)
        return Append(event, _basis(before, subjects.incident_key(fact.incident.id)))

    def _now(self, before: Recorded | None) -> datetime:
        # a job's facts never run backwards, whatever the clock does
        now = self.clock.now()
        return now if before is None else max(now, before.event.time)

    async def record(self, append: Append) -> Recorded:
        """Write one append."""
        assert append.basis is not None
        began = time.time_ns()
        recorded = await self.log.append(append.event, append.basis)
        self._note(append, began)
        return recorded

    async def record_all(
        self, appends: Sequence[Append], fence: Append | None = None
    ) -> Sequence[Recorded]:
        """Write all or nothing."""
        began = time.time_ns()
        recorded = await self.log.append_all(appends, fence)
        for append in appends:
            self._note(append, began)
        return recorded

    def _note(self, append: Append, began_ns: int) -> None:
        event = append.event.data.detail.event
        _RECORDED.labels(self.owner.value, event).inc()
        note_append(self.owner.value, event, append.event.traceparent, began_ns)

    async def advance(
        self,
        tenant: str,
        job: str,
        decide: Decide,
        at_least: int = 0,
        *,
        known: Recorded | None = None,
    ) -> Recorded | None:
        """Read, decide, append; after a conflict again, until there is nothing to do.

        known: the job's last event, if it has just been read. Returns the job's last event as far
        as known, None when the job does not exist.
        """
        leader = False
        for _ in range(TRIES):
            before = known or await self.job(tenant, job, at_least, leader=leader)
            if before is None:
                return None
            known, fact = None, decide(before, self._now(before))
            if fact is None:
                return before
            try:
                return await self.record(self.about_job(before, fact))
            except Conflict:
                leader = True
        raise Temporary(f"job {job} is busy", delay=0.5)

    async def advance_node(self, pool: str, node: str, decide: DecideNode) -> Recorded | None:
        """The same for a node."""

        def follows(before: Recorded | None) -> Append | None:
            fact = decide(before.node if before else None, self._now(before))
            return self.about_node(before, fact) if fact else None

        return await self._advance(subjects.node_key(pool, node), follows)

    async def advance_stock(self, pool: str, item: str, decide: DecideStock) -> Recorded | None:
        """The same for an item of spot stock."""

        def follows(before: Recorded | None) -> Append | None:
            fact = decide(before.event.data.detail if before else None, self._now(before))
            return self.about_stock(before, fact) if fact else None

        return await self._advance(subjects.stock_key(pool, item), follows)

    async def advance_incident(self, incident: str, decide: DecideIncident) -> Recorded | None:
        """The same for an incident."""

        def follows(before: Recorded | None) -> Append | None:
            known = before.event.data.detail.incident if before else None
            fact = decide(known, self._now(before))
            return self.about_incident(before, fact) if fact else None

        return await self._advance(subjects.incident_key(incident), follows)

    async def advance_tenant(
        self, tenant: str, kind: type[TenantFact], decide: DecideTenant
    ) -> Recorded | None:
        """The same for one kind of fact about a tenant."""

        def follows(before: Recorded | None) -> Append | None:
            fact = decide(before.event.data.detail if before else None)
            return self.about_tenant(tenant, before, fact) if fact else None

        return await self._advance(subjects.tenant_key(tenant, kind.event), follows)

    async def _advance(
        self, key: subjects.Key, follows: Callable[[Recorded | None], Append | None]
    ) -> Recorded | None:
        for _ in range(TRIES):
            before = await self.log.last(key, leader=True)
            append = follows(before)
            if append is None:
                return before
            try:
                return await self.record(append)
            except Conflict:
                continue
        raise Temporary(f"{key.prefix} is busy", delay=0.5)


def _basis(before: Recorded | None, key: subjects.Key) -> Basis:
    return Basis(key, before.head if before else 0)
