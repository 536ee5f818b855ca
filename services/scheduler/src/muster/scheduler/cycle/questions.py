"""Answers about the plan: why a job waits, what would become of one. Read-only, leading or not.

Every answer says up to which sequence of the log it knew. Plans are made beside the loop of rounds,
one at a time, and questions about the same state of a pool share one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from muster.bus import Question
from muster.contracts import queries as q
from muster.contracts import subjects
from muster.contracts.checking import check
from muster.domain.errors import Permanent, Temporary
from muster.domain.pools import EpochTaken
from muster.domain.rules import violation
from muster.domain.spec import JobSpec, priority_of
from muster.domain.spec_rules import violations_of
from muster.domain.state import JobState
from muster.domain.violations import Violation
from muster.domain.waiting import Explanation, Fit
from muster.domain.whatif import WhatIf, read_all
from muster.runtime.service import Aside, at_once
from muster.scheduler.core.explain import explain_by, explain_gone, explain_state
from muster.scheduler.core.fit import fit_of, tried
from muster.scheduler.core.memory import Memory
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.snapshot import JobKey, Snapshot
from muster.scheduler.core.verdicts import Plan
from muster.scheduler.core.whatif import imagine, with_job, with_priority
from muster.scheduler.cycle.fold import PoolFold

FRESH_S = 1.0
"""So long a plan may be told of while nothing has happened in its pool."""
BEHIND_S = 0.05


class Source(Protocol):
    """What the scheduler knows."""

    def pool(self, name: str) -> PoolFold:
        """Return a pool, an empty one where nothing is known of it."""
        ...

    def frozen(self, pool: PoolFold) -> Snapshot:
        """Return what a round of a pool would look at now."""
        ...

    async def last(self, tenant: str, job: str, at_least: int) -> JobState | None:
        """Return a job as its last event left it."""
        ...

    async def ready(self) -> None:
        """Raise Temporary while the log is still being read for the first time."""
        ...


class _Refused(Exception):
    """There is no answer, for these reasons."""

    def __init__(self, *violations: Violation) -> None:
        super().__init__(", ".join(found.code for found in violations))
        self.violations = violations


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question that was read. version: of the fold that answers it."""

    pool: PoolFold
    version: int
    snapshot: Snapshot
    what_ifs: tuple[WhatIf, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    explanation: Explanation | None = None
    fit: Fit | None = None
    violations: tuple[Violation, ...] = ()


class Questions:
    """See the module."""

    def __init__(self, source: Source, policy: Policy, aside: Aside = at_once) -> None:
        self._source, self._policy, self._aside = source, policy, aside
        self._lock = asyncio.Lock()
        # as the rounds have theirs: for plans that are answered from, what is tried, looks ahead
        self._memory, self._trials, self._walks = Memory(), Memory(), Memory()
        self._known: tuple[Hashable, Plan] | None = None

    async def answer(self, question: Question) -> bytes:
        """Answer one question. Raises Temporary when this replica cannot answer it yet."""
        await self._source.ready()
        address = subjects.parse(question.subject)
        kind, pool = address.event, self._source.pool(address.names[0])
        # what the rounds remember of each other belongs to their own thread
        snapshot = replace(self._source.frozen(pool), memory=None)
        try:
            found = await self._found(kind, question.body, pool, snapshot)
        except _Refused as refused:
            found = _Found(violations=refused.violations)
        return _told(kind, pool, snapshot, found).model_dump_json().encode()

    async def _found(self, kind: str, body: bytes, pool: PoolFold, snapshot: Snapshot) -> _Found:
        query = _read(kind, body)
        if snapshot.upto < query.at_least:
            raise Temporary(f"the log is read up to {snapshot.upto}", delay=BEHIND_S)
        asked = _Asked(pool, pool.version, snapshot, _what_ifs(query))
        match query:
            case q.ExplainJob():
                return await self._explain(asked, query)
            case q.FitJob():
                return await self._fit(asked, query)
        raise Permanent(f"question {kind} has no handler")

    # --- the two questions -----------------------------------------------------------------------

    async def _explain(self, asked: _Asked, query: q.ExplainJob) -> _Found:
        key = (query.tenant, query.job)
        listed = asked.snapshot.job(key)
        if listed is None:
            state = await self._elsewhere(query, asked.pool.pool)
            return _Found(explain_state(state, asked.snapshot.now))
        state = _ranked(listed.state, query)
        changed = state if state is not listed.state else None
        return await self._aside_one(lambda: self._explained(asked, key, changed))

    async def _elsewhere(self, query: q.ExplainJob, pool: str) -> JobState:
        """Return a job that is neither queued nor holds anything, from the log itself."""
        state = await self._source.last(query.tenant, query.job, query.at_least)
        if state is None:
            names = {"tenant": query.tenant, "job": query.job}
            raise _Refused(violation("E_JOB_UNKNOWN", "$.job", **names))
        if state.pool != pool:
            names = {"asked": pool, "pool": state.pool}
            raise _Refused(violation("E_QUESTION_POOL", "$.job", **names))
        return state

    async def _fit(self, asked: _Asked, query: q.FitJob) -> _Found:
        spec = _spec(query)
        if spec.resource.pool != asked.pool.pool:
            names = {"asked": asked.pool.pool, "pool": spec.resource.pool}
            raise _Refused(violation("E_QUESTION_POOL", "$.spec.resource.pool", **names))
        job = tried(query.tenant, query.user, spec, asked.snapshot.now)
        if asked.snapshot.denied_spot(job):
            path = "$.spec.resource.type"
            raise _Refused(violation("E_SPOT_DISABLED", path, tenant=query.tenant))
        return await self._aside_one(lambda: self._fitted(asked, job))

    # --- beside the loop -------------------------------------------------------------------------

    async def _aside_one(self, work: Callable[[], _Found]) -> _Found:
        async with self._lock:
            return await self._aside(work)

    def _explained(self, asked: _Asked, job: JobKey, changed: JobState | None) -> _Found:
        snapshot = _imagined(asked)
        if snapshot.job(job) is None:  # it is itself supposed to be gone
            gone = asked.snapshot.job(job)
            return _Found(explain_gone(gone.state) if gone else None)
        queued = snapshot.book.find(job) is not None
        if changed is not None and queued:
            snapshot = with_job(snapshot, changed)
        made = self._plan(asked, snapshot, changed)
        found = explain_by(made, job, self._trials, self._walks)
        return _Found(found, fit_of(made, job, found) if queued else None)

    def _fitted(self, asked: _Asked, job: JobState) -> _Found:
        made = self._plan(asked, with_job(_imagined(asked), job), job)
        key = job.tenant, job.job
        return _Found(fit=fit_of(made, key, memory=self._trials, walks=self._walks))

    def _plan(self, asked: _Asked, snapshot: Snapshot, changed: JobState | None) -> Plan:
        """Plan, or use the plan of the same question about the same state."""
        key = (id(asked.pool), asked.version, asked.what_ifs)
        known = self._known if changed is None else None
        if known is not None and known[0] == key and _is_fresh(known[1], snapshot.now):
            return known[1]
        # a plan lasts until the next one is made with the same memory
        self._known = None
        made = plan(replace(snapshot, memory=self._memory), self._policy)
        if changed is None:
            self._known = key, made
        return made


def _told(kind: str, pool: PoolFold, snapshot: Snapshot, found: _Found) -> q.QueryAnswer:
    epoch = pool.epoch.event.data.detail if pool.epoch else None
    last = pool.last_round
    return q.QueryAnswer(
        kind=kind,
        pool=pool.pool,
        position=snapshot.upto,
        at=snapshot.now,
        epoch=epoch.epoch if isinstance(epoch, EpochTaken) else None,
        round=last.round if last else None,
        violations=found.violations,
        explanation=found.explanation,
        fit=found.fit,
    )


def _is_fresh(made: Plan, now: datetime) -> bool:
    if made.next_at is not None and made.next_at <= now:
        return False
    return now - made.snapshot.now < timedelta(seconds=FRESH_S)


def _imagined(asked: _Asked) -> Snapshot:
    found = imagine(asked.snapshot, asked.what_ifs)
    if isinstance(found, list):
        raise _Refused(*found)
    return found


# --- reading -----------------------------------------------------------------------------------


def _read(kind: str, body: bytes) -> q.Query:
    model = q.QUERIES.get(kind)
    if model is None:
        known = ", ".join(sorted(q.QUERIES))
        raise _Refused(violation("E_QUESTION", "$", kind=kind, known=known))
    found, broken = check(model, body)
    if found is None:
        raise _Refused(*broken)
    return found


def _what_ifs(query: q.Query) -> tuple[WhatIf, ...]:
    found = read_all(query.what_if)
    wrong = [each for each in found if isinstance(each, Violation)]
    if wrong:
        raise _Refused(*wrong)
    return tuple(each for each in found if not isinstance(each, Violation))


def _ranked(state: JobState, query: q.Query) -> JobState:
    if query.priority is None:
        return state
    found = with_priority(state, priority_of(query.priority))
    if isinstance(found, Violation):
        raise _Refused(found)
    return found


def _spec(query: q.FitJob) -> JobSpec:
    """Judge the specification as admission does."""
    value: Mapping[str, Any] = query.spec
    resource = value.get("resource")
    if query.priority is not None and isinstance(resource, Mapping):
        value = {**value, "resource": {**resource, "priority": query.priority}}
    spec, broken = check(JobSpec, json.dumps(value), "$.spec")
    if spec is None:
        raise _Refused(*broken)
    if broken := list(violations_of(spec)):
        raise _Refused(*broken)
    return spec
