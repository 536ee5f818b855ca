"""The shapes of the answers, and how they are made from what is known. Instants are UTC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from muster.domain.demand import JobType, ResourceClass
from muster.domain.nodes import NodeCondition, Taint
from muster.domain.phases import SHOWN_TEXT, Phase, Shown
from muster.domain.pools import SpotQuotaMeasured, WaitingJob
from muster.domain.queueings import Queueing, queueings
from muster.domain.reasons import Reason, ReasonCode
from muster.domain.sentences import sentence
from muster.domain.state import JobState
from muster.domain.waiting import Tier
from muster.gateway.core.capacity import NodeUse
from muster.gateway.core.view import SeenJob
from muster.gateway.http.queries import Language
from muster.gateway.reading import Life, Pool, Told


class ReasonRow(BaseModel):
    """Why a job stands where it stands."""

    code: ReasonCode
    text: str


class WaitingRow(BaseModel):
    """Why a queued job is not placed, by the last round. ahead: jobs before it."""

    code: str
    tier: Tier | None
    text: str
    ahead: int


class JobRow(BaseModel):
    """A job at a glance. seq: its last event in the log.

    waiting: of a queued job that the pool's last summary names; `explanation` knows of every job.

    gpus: whole ones of all workers; gpu_milli: thousandths of shared ones of all workers.
    """

    tenant: str
    job: str
    name: str
    user: str
    pool: str
    type: JobType
    resource_class: ResourceClass
    priority: int | None
    gpus: int
    gpu_milli: int
    workers: int
    labels: Mapping[str, str]
    phase: Phase
    shown: Shown
    shown_text: str
    reason: ReasonRow | None
    waiting: WaitingRow | None = None
    attempt: int
    queue_entry: int
    requeues: int
    nodes: list[str]
    submitted_at: datetime
    since: datetime
    started_at: datetime | None
    ended_at: datetime | None
    archived: bool
    version: int
    seq: int


class JobPage(BaseModel):
    """Some jobs, newest first. next: cursor of the next page. position: the view's, in the log."""

    jobs: list[JobRow]
    next: str | None
    position: int


class EventRow(BaseModel):
    """One event of a timeline. detail: the event's own particulars, as they stand in the log."""

    seq: int
    version: int
    event: str
    at: datetime
    source: str
    text: str
    phase: Phase
    shown_text: str
    attempt: int
    reason: ReasonRow | None
    detail: dict[str, Any]
    traceparent: str | None


class JobDetail(BaseModel):
    """A job, its whole state, its timeline.

    tried: each of its queueings, the last one until the last event. missing: versions that are
    nowhere any more. fresh: the log's leader was asked; false while it is away.
    """

    job: JobRow
    state: dict[str, Any]
    tried: list[Queueing]
    timeline: list[EventRow]
    missing: list[int]
    fresh: bool


class HoldingRow(BaseModel):
    """The workers of one job on a node. gpus: whole ones; cards: worker -> its shared card."""

    tenant: str
    job: str
    workers: list[str]
    gpus: int
    cards: Mapping[str, int]


class NodeRow(BaseModel):
    """A node and who is on it. gpus_free: what new work could have.

    shut: what keeps new work off it, None if nothing does; "blocked": a block list of whoever asks.
    excluded_until: fault tolerance keeps new work off it until then. gpus_used: a shared GPU counts
    as one. cards: shared card -> thousandths that are given of it.
    gpus_foreign: what others take.
    """

    pool: str
    node: str
    cluster: str
    condition: NodeCondition
    schedulable: bool
    shut: str | None
    cordoned: bool
    draining: bool
    suspected: bool
    excluded_until: datetime | None
    spot: bool
    zone: str
    gpu_model: str
    gpus: int
    gpus_used: int
    gpus_foreign: int
    gpus_free: int
    cards: Mapping[int, int]
    taints: list[Taint]
    labels: Mapping[str, str]
    deadline: datetime | None
    since: datetime
    jobs: list[HoldingRow]


class Nodes(BaseModel):
    """Nodes by pool and name."""

    nodes: list[NodeRow]
    position: int


class PoolRow(BaseModel):
    """A pool. fragments: GPU model -> free GPUs -> how many schedulable nodes have just so many.

    gpus_shut: unused GPUs of nodes that take no new work, by what shuts them; not part of free.
    stability: how long idle jobs keep their places there, as it was measured last. spot_quota: how
    much spot jobs may hold there, by GPU model; null where none is measured.
    """

    pool: str
    nodes: int
    schedulable: int
    gpus: int
    gpus_used: int
    gpus_foreign: int
    gpus_free: int
    gpus_shut: Mapping[str, int]
    fragments: Mapping[str, Mapping[int, int]]
    jobs: Mapping[Phase, int]
    decided: dict[str, Any] | None
    summary: dict[str, Any] | None
    stability: dict[str, Any] | None = None
    spot_quota: dict[str, Any] | None = None


class Pools(BaseModel):
    """Pools by name."""

    pools: list[PoolRow]
    position: int


def job_row(seen: SeenJob, lang: Language, waiting: WaitingJob | None = None) -> JobRow:
    """Return a job at a glance. waiting: what the last round said of it."""
    state = seen.state
    return JobRow(
        tenant=state.tenant,
        job=state.job,
        name=state.name,
        user=state.user,
        pool=state.pool,
        type=state.type,
        resource_class=state.demand.resource_class,
        priority=state.demand.priority,
        gpus=state.demand.gpus,
        gpu_milli=state.demand.gpu_milli,
        workers=len(state.demand.workers),
        labels=state.labels,
        phase=state.phase,
        shown=state.shown,
        shown_text=_shown(state.shown, lang),
        reason=_reason(state.reason, lang),
        waiting=_waiting(state, waiting, lang),
        attempt=state.attempt,
        queue_entry=state.queue_entry,
        requeues=state.ledgers.requeues,
        nodes=sorted(state.held),
        submitted_at=state.submitted_at,
        since=state.since,
        started_at=state.started_at,
        ended_at=state.ended_at,
        archived=state.archived,
        version=state.version,
        seq=seen.seq,
    )


def _shown(shown: Shown, lang: Language) -> str:
    english, chinese = SHOWN_TEXT[shown]
    return chinese if lang == "zh" else english


def _reason(reason: Reason | None, lang: Language) -> ReasonRow | None:
    return None if reason is None else ReasonRow(code=reason.code, text=reason.text(lang))


def _waiting(state: JobState, told: WaitingJob | None, lang: Language) -> WaitingRow | None:
    if told is None or state.phase is not Phase.QUEUED:
        return None
    text = told.zh if lang == "zh" else told.en
    return WaitingRow(code=told.code, tier=told.tier, text=text, ahead=told.ahead)


def event_row(told: Told, lang: Language) -> EventRow:
    """Return one event of a timeline."""
    event = told.event
    state, detail = event.data.job, event.data.detail
    english, chinese = sentence(detail)
    return EventRow(
        seq=told.seq,
        version=state.version,
        event=detail.event,
        at=event.time,
        source=event.source,
        text=chinese if lang == "zh" else english,
        phase=state.phase,
        shown_text=_shown(state.shown, lang),
        attempt=state.attempt,
        reason=_reason(state.reason, lang),
        detail=detail.model_dump(mode="json", exclude_none=True),
        traceparent=event.traceparent,
    )


def job_detail(life: Life, lang: Language) -> JobDetail:
    """Return a job with its timeline."""
    return JobDetail(
        job=job_row(life.job, lang),
        state=life.job.state.model_dump(mode="json", exclude_none=True),
        tried=list(_tried(life.timeline)),
        timeline=[event_row(told, lang) for told in life.timeline],
        missing=list(life.missing),
        fresh=life.fresh,
    )


def _tried(timeline: Sequence[Told]) -> tuple[Queueing, ...]:
    told = [(one.event.data.detail, one.event.time, one.event.data.job) for one in timeline]
    return queueings(told, told[-1][1]) if told else ()


def node_row(use: NodeUse) -> NodeRow:
    """Return a node."""
    state, shape = use.state, use.state.shape
    return NodeRow(
        pool=state.pool,
        node=state.node,
        cluster=state.cluster,
        condition=state.condition,
        schedulable=state.schedulable,
        shut=use.shut,
        cordoned=state.cordoned,
        draining=state.draining,
        suspected=state.suspected,
        excluded_until=state.excluded_until,
        spot=shape.spot,
        zone=shape.zone,
        gpu_model=shape.gpu_model,
        gpus=shape.gpus,
        gpus_used=use.gpus_used,
        gpus_foreign=use.gpus_foreign,
        gpus_free=use.gpus_free,
        cards=use.use.cards,
        taints=list(shape.taints),
        labels=shape.labels,
        deadline=state.deadline,
        since=state.since,
        jobs=[
            HoldingRow(
                tenant=each.tenant,
                job=each.job,
                workers=list(each.workers),
                gpus=each.gpus,
                cards=each.cards,
            )
            for each in use.holdings
        ],
    )


def pool_row(pool: Pool) -> PoolRow:
    """Return a pool."""
    use, said = pool.use, pool.said
    return PoolRow(
        pool=pool.name,
        nodes=use.nodes,
        schedulable=use.schedulable,
        gpus=use.gpus,
        gpus_used=use.gpus_used,
        gpus_foreign=use.gpus_foreign,
        gpus_free=use.gpus_free,
        gpus_shut=use.gpus_shut,
        fragments=use.fragments,
        jobs=use.jobs,
        decided=_dumped(said.decided) if said else None,
        summary=_dumped(said.summary) if said else None,
        stability=_dumped(said.stability) if said else None,
        spot_quota=_quota(said.spot_quota) if said else None,
    )


def _quota(found: SpotQuotaMeasured | None) -> dict[str, Any] | None:
    """Return a quota without the history that the next measurement needs."""
    if found is None:
        return None
    return found.model_dump(mode="json", exclude={"rows": {"__all__": {"history"}}})


def _dumped(fact: BaseModel | None) -> dict[str, Any] | None:
    return None if fact is None else fact.model_dump(mode="json")
