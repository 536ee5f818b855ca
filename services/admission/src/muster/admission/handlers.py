"""Wake on a request, judge it, record what follows, answer. A request told twice is one request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from pydantic import ValidationError

from muster.admission.core import decide, tenancy
from muster.admission.core.debugging import debug_spec
from muster.admission.settings import AdmissionSettings
from muster.bus import Bus, Trigger
from muster.contracts import requests as r
from muster.contracts import subjects
from muster.contracts.checking import check
from muster.contracts.events import first_error
from muster.contracts.tracing import continued
from muster.domain import facts as f
from muster.domain import nodes as n
from muster.domain import spec_rules as rules
from muster.domain.auto_queue import queue_limits
from muster.domain.demand import Demand, NodePolicy
from muster.domain.errors import Conflict, Permanent, Temporary
from muster.domain.incidents import Incident, IncidentFact
from muster.domain.phases import Phase
from muster.domain.rules import violation
from muster.domain.spec import JobSpec, priority_of
from muster.domain.state import JobState
from muster.domain.stock import StockChanged, item_name
from muster.domain.tenants import (
    EVERYONE,
    BlocklistSet,
    QuotaSet,
    Share,
    SpotSet,
    TenantFact,
    TenantView,
)
from muster.domain.violations import Violation
from muster.log import Basis, Recorded
from muster.runtime.journal import Journal
from muster.runtime.known import Known

TRIES = 5
"""Conflicts about one submission before it is left for later."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a request came to."""

    violations: tuple[Violation, ...] = ()
    job: JobState | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that was read without violations."""

    tenant: str
    id: str
    body: r.Request


@dataclass(frozen=True, slots=True)
class Wanted:
    """A new job. origin: the one that it is made to look into."""

    spec: JobSpec
    origin: str | None = None


Specify = Callable[[], Awaitable[Wanted | tuple[Violation, ...]]]


class Handlers:
    """Everything admission reacts to."""

    def __init__(
        self,
        journal: Journal,
        bus: Bus,
        known: Known | None = None,
        settings: AdmissionSettings | None = None,
    ) -> None:
        self._journal, self._bus = journal, bus
        self._spot_open = (settings or AdmissionSettings()).spot == "open"
        self._known = known or Known(journal.log)

    async def start(self) -> None:
        """Know what is recorded, and record what holds for tenants of whom nobody spoke."""
        await self._known.step()
        enabled = self._spot_open

        def default(last: SpotSet | None) -> SpotSet | None:
            if (last.enabled if last else True) is enabled:
                return None
            return SpotSet(by="muster", request=self._journal.new_id(), enabled=enabled)

        await self._told(EVERYONE, SpotSet, (), default)

    async def on_request(self, trigger: Trigger) -> None:
        """Carry out a request and answer it. What cannot be answered is parked with the reason."""
        address = subjects.parse(trigger.subject)
        tenant, verb = address.names[0], address.event
        head = _head(trigger.body)
        with continued(head.traceparent):
            body, violations = _read(verb, head)
            outcome = Outcome(violations)
            if body is not None:
                outcome = await self._carry_out(Asked(tenant, head.id, body))
            await self._bus.answer(self._answer(tenant, verb, head.id, outcome))

    def _answer(self, tenant: str, verb: str, request: str, outcome: Outcome) -> r.Answer:
        job = outcome.job
        return r.Answer(
            request=request,
            tenant=tenant,
            verb=verb,
            accepted=not outcome.violations,
            job=job.job if job else None,
            phase=job.phase.value if job else None,
            violations=outcome.violations,
            at=self._journal.clock.now(),
        )

    async def _carry_out(self, asked: Asked) -> Outcome:
        match asked.body:
            case r.Submit():
                return await self._submit(asked, asked.body)
            case r.Debug():
                return await self._debug(asked, asked.body)
            case r.JobRequest():
                return await self._change(asked, asked.body)
            case r.NodeRequest():
                return await self._node(asked, asked.body)
            case r.SetStock():
                return await self._stock(asked, asked.body)
            case r.CloseIncident():
                return await self._incident(asked, asked.body)
            case r.TenantRequest():
                return await self._tenant(asked, asked.body)
            case _:
                raise Permanent(f"request {asked.body.verb} has no handler")

    # --- submit ---------------------------------------------------------------------------------

    async def _submit(self, asked: Asked, body: r.Submit) -> Outcome:
        async def wanted() -> Wanted | tuple[Violation, ...]:
            spec, shape = check(JobSpec, json.dumps(body.spec), "$.spec")
            return Wanted(spec) if spec is not None else tuple(shape)

        return await self._new(asked, _digest(body.user, dict(body.spec)), wanted)

    async def _debug(self, asked: Asked, body: r.Debug) -> Outcome:
        async def wanted() -> Wanted | tuple[Violation, ...]:
            names = {"job": body.job, "tenant": asked.tenant}
            if await self._journal.job(asked.tenant, body.job) is None:
                return (violation("E_JOB_UNKNOWN", "$.job", **names),)
            prefix = subjects.job_key(asked.tenant, body.job).subject(f.Submitted.event)
            first = await self._journal.log.last(subjects.Key(prefix, whole=False))
            if first is None:
                return (violation("E_SPEC_GONE", "$.job", **names),)
            return Wanted(debug_spec(first.event.data.detail.spec), origin=body.job)

        return await self._new(asked, _digest(body.user, {body.verb: body.job}), wanted)

    async def _new(self, asked: Asked, digest: str, wanted: Specify) -> Outcome:
        job, head = r.job_id(asked.tenant, asked.id), 0
        for _ in range(TRIES):
            known = await self._journal.job(asked.tenant, job, leader=True)
            if known is not None:
                return await self._again(asked, known, digest)
            found = await wanted()
            if isinstance(found, tuple):
                return Outcome(found)
            try:
                return await self._record(asked, found, digest, head)
            except Conflict:
                head = await self._head(asked.tenant, job)
        raise Temporary(f"job {job} is busy", delay=0.5)

    async def _head(self, tenant: str, job: str) -> int:
        """Return the last sequence on a job's subjects; what stands there may be no event."""
        history = await self._journal.log.history(subjects.job_key(tenant, job))
        return history[-1].seq if history else 0

    async def _again(self, asked: Asked, known: Recorded, digest: str) -> Outcome:
        """The same id again: the same body gets the same answer, another one is refused.

        A day after its end a job may have only its last event left in the log: then its state tells
        whether it was refused, and the body is believed to be the same.
        """
        history = await self._journal.log.history(subjects.job_key(asked.tenant, known.job.job))
        details = [item.event.data.detail for item in history if isinstance(item, Recorded)]
        first = next((each for each in details if isinstance(each, f.Submitted)), None)
        if first is not None and first.digest != digest:
            return Outcome((violation("E_REQUEST_REUSED", "$.id", request=asked.id),))
        refused = next((each for each in details if isinstance(each, f.Rejected)), None)
        return Outcome(refused.violations if refused else _refusal(known.job), known.job)

    async def _record(self, asked: Asked, wanted: Wanted, digest: str, head: int) -> Outcome:
        job, spec, user = r.job_id(asked.tenant, asked.id), wanted.spec, asked.body.user
        violations = rules.violations_of(spec) or await self._above(asked.tenant, user, spec)
        submitted = f.Submitted(
            tenant=asked.tenant,
            job=job,
            user=user,
            pool=spec.resource.pool,
            request=asked.id,
            digest=digest,
            spec=spec,
            demand=spec.demand(),
            origin=wanted.origin,
        )
        verdict = f.Rejected(violations=violations) if violations else f.Admitted()
        basis = Basis(subjects.job_key(asked.tenant, job), head)
        first = replace(self._journal.about_job(None, submitted), basis=basis)
        second = self._journal.about_same_job(first, verdict)
        written = await self._journal.record_all([first, second])
        return Outcome(violations, written[-1].job)

    async def _above(self, tenant: str, user: str, spec: JobSpec) -> tuple[Violation, ...]:
        """Return what the tenant's rights, shares and block lists refuse."""
        spot = self._no_spot(tenant, spec.resource.pool, spec.demand(), "$.spec.resource.type")
        if self._known.tenant(tenant) == TenantView():
            return spot
        await self._known.step()  # nodes may have come since the last look
        pool = spec.resource.pool
        view, nodes = self._known.tenant(tenant), self._known.nodes(pool)
        return spot + tenancy.violations_of(spec.demand(), pool, user, view, nodes)

    def _no_spot(self, tenant: str, pool: str, demand: Demand, path: str) -> tuple[Violation, ...]:
        view = self._known.tenant(tenant)
        found = tenancy.spot_refused(demand, pool, tenant, view, path, unspoken=self._spot_open)
        return (found,) if found else ()

    # --- requests about a tenant ----------------------------------------------------------------

    async def _tenant(self, asked: Asked, body: r.TenantRequest) -> Outcome:
        match body:
            case r.SetQuota():
                shares = tuple(Share(**each.model_dump()) for each in body.shares)
                quota = tenancy.Shares(body.user, shares, body.whole)
                wrong = tenancy.quota_violations(quota)
                return await self._told(
                    body.tenant,
                    QuotaSet,
                    wrong,
                    lambda last: tenancy.quota_after(last, quota, asked.id),
                )
            case r.SetBlocklist():
                lists = tenancy.Blocks(body.user, body.pool, body.only_user, body.add, body.remove)
                wrong = tenancy.blocklist_violations(lists)
                return await self._told(
                    body.tenant,
                    BlocklistSet,
                    wrong,
                    lambda last: tenancy.blocklist_after(last, lists, asked.id),
                )
            case r.SetSpot(user=by, pool=pool, enabled=enabled):
                return await self._told(
                    body.tenant,
                    SpotSet,
                    (),
                    lambda last: tenancy.spot_after(
                        last, by, pool, asked.id, enabled=enabled, unspoken=self._spot_open
                    ),
                )
            case _:
                raise Permanent(f"request {body.verb} has no handler")

    async def _told(
        self,
        tenant: str,
        kind: type[TenantFact],
        wrong: Iterable[Violation],
        after: Callable[[Any], TenantFact | None],
    ) -> Outcome:
        violations = tuple(wrong)
        if not violations:
            recorded = await self._journal.advance_tenant(tenant, kind, after)
            if recorded is not None:
                self._known.take(recorded)
        return Outcome(violations)

    # --- requests about a job -------------------------------------------------------------------

    async def _change(self, asked: Asked, body: r.JobRequest) -> Outcome:
        violations = tuple(_violations_of(body))
        if violations:
            return Outcome(violations)
        refused: list[Violation] = []

        def verdict(last: Recorded, now: datetime) -> f.Fact | None:
            found = self._decide(last.job, body, asked.id)
            refused[:] = [found] if isinstance(found, Violation) else []
            return None if isinstance(found, Violation) else found

        last = await self._journal.advance(asked.tenant, body.job, verdict)
        if last is None:
            unknown = violation("E_JOB_UNKNOWN", "$.job", job=body.job, tenant=asked.tenant)
            return Outcome((unknown,))
        return Outcome(tuple(refused), last.job)

    def _decide(self, state: JobState, body: r.JobRequest, request: str) -> decide.Verdict:
        """A job that is queued again passes the same door as a new one."""
        found = _decide(state, body, request)
        if isinstance(found, f.Resumed):
            no_spot = self._no_spot(state.tenant, state.pool, state.demand, "$.job")
            return no_spot[0] if no_spot else found
        return found

    # --- requests about a node ------------------------------------------------------------------

    async def _node(self, asked: Asked, body: r.NodeRequest) -> Outcome:
        refused: list[Violation] = []

        def verdict(state: n.NodeState | None, now: datetime) -> n.NodeFact | None:
            found = decide.node(state, body.node, _node_fact(body, asked.id, now))
            refused[:] = [found] if isinstance(found, Violation) else []
            return None if isinstance(found, Violation) else found

        await self._journal.advance_node(body.pool, body.node, verdict)
        return Outcome(tuple(refused))

    # --- requests about an incident ---------------------------------------------------------------

    async def _incident(self, asked: Asked, body: r.CloseIncident) -> Outcome:
        refused: list[Violation] = []

        def verdict(known: Incident | None, now: datetime) -> IncidentFact | None:
            found = decide.close_incident(known, body.incident, body.user, asked.id, now)
            refused[:] = [found] if isinstance(found, Violation) else []
            return None if isinstance(found, Violation) else found

        await self._journal.advance_incident(body.incident, verdict)
        return Outcome(tuple(refused))

    # --- requests about spot stock ---------------------------------------------------------------

    async def _stock(self, asked: Asked, body: r.SetStock) -> Outcome:
        def verdict(last: StockChanged | None, now: datetime) -> StockChanged | None:
            told = last is not None and last.request == asked.id
            return None if told else _stock_fact(body, asked.id, now, last)

        await self._journal.advance_stock(body.pool, item_name(body.zone, body.gpu_model), verdict)
        return Outcome()


# --- reading a request -------------------------------------------------------------------------


def _head(body: bytes) -> r.RequestHead:
    try:
        return r.RequestHead.model_validate_json(body)
    except ValidationError as error:
        raise Permanent(f"the request cannot be answered: {first_error(error)}") from error


def _read(verb: str, head: r.RequestHead) -> tuple[r.Request | None, tuple[Violation, ...]]:
    model = r.REQUESTS.get(verb)
    if model is None:
        known = ", ".join(sorted(r.REQUESTS))
        return None, (violation("E_VERB", "$.type", verb=verb, known=known),)
    if head.type != r.request_type(verb, model.version):
        wanted = r.request_type(verb, model.version)
        words = {"detail": f"type must be {wanted}", "detail_zh": f"type 须为 {wanted}"}
        return None, (violation("E_REQUEST", "$.type", **words),)
    body, violations = check(model, json.dumps(head.data), "$.data")
    return body, tuple(violations)


def _refusal(state: JobState) -> tuple[Violation, ...]:
    """What is left of a refusal: the reason in the state."""
    why = state.reason
    if state.phase is not Phase.REJECTED or why is None:
        return ()
    return (Violation(code=why.code.value, path="$.spec", en=why.en, zh=why.zh),)


def _digest(user: str, wanted: Mapping[str, Any]) -> str:
    text = json.dumps([user, wanted], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


# --- deciding about a job ----------------------------------------------------------------------


def _violations_of(body: r.JobRequest) -> list[Violation]:
    match body:
        case r.Respecify(auto_queue=None, node_policy=None):
            return [violation("E_NOTHING", "$.data")]
        case r.Resume(auto_queue=queue) | r.Respecify(auto_queue=queue) if queue is not None:
            return list(rules.queue_violations(queue, "$.data.auto_queue"))
        case r.Relabel():
            return list(rules.label_violations(dict(body.labels), "$.data.labels"))
        case _:
            return []


def _decide(state: JobState, body: r.JobRequest, request: str) -> decide.Verdict:
    by = body.user
    match body:
        case r.Stop():
            return decide.stop(state, by, request)
        case r.Resume():
            limits = (queue_limits(body.auto_queue),) if body.auto_queue else None
            return decide.resume(state, by, request, limits)
        case r.Respecify():
            queue = (queue_limits(body.auto_queue),) if body.auto_queue else None
            policy = body.node_policy
            return decide.respecify(
                state,
                by,
                request,
                queue,
                NodePolicy(type=policy.type, nodes=policy.nodes) if policy else None,
            )
        case r.Prioritise():
            return decide.prioritise(state, by, request, priority_of(body.priority))
        case r.Relabel():
            return decide.relabel(state, by, request, dict(body.labels))
        case _:
            raise Permanent(f"request {body.verb} has no handler")


_NODE_FACTS: dict[type[r.NodeRequest], Callable[..., n.NodeFact]] = {
    r.CordonNode: n.NodeCordoned,
    r.UncordonNode: n.NodeUncordoned,
    r.DrainNode: n.NodeDrained,
    r.FenceNode: n.NodeFenced,
}


def _node_fact(body: r.NodeRequest, request: str, now: datetime) -> n.NodeFact:
    if isinstance(body, r.ReclaimNode):
        deadline = now + timedelta(seconds=body.notice_s)
        return n.NodeReclaiming(deadline=deadline, by=body.user, request=request)
    return _NODE_FACTS[type(body)](by=body.user, request=request)


_TERMS = ("price", "currency", "network")


def _stock_fact(
    body: r.SetStock, request: str, now: datetime, last: StockChanged | None
) -> StockChanged:
    """Return what is offered now. Terms of which a request says nothing stay as they were; it
    takes one back by naming it without a value."""
    what = body.model_dump(exclude={"user", "notice_s"})
    silent = [name for name in _TERMS if name not in body.model_fields_set]
    what |= {name: getattr(last, name) for name in silent} if last is not None else {}
    deadline = now + timedelta(seconds=body.notice_s)
    return StockChanged(**what, deadline=deadline, by=body.user, request=request)
