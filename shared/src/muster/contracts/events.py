"""Every event: its versioned type, its frozen model, and how to read one from the log.

The model of an event is `Envelope[JobData[Fact]]` (or NodeData, PoolData), made from the registries
of facts in `muster.domain`. Old versions are upcast when read (`upcasters`).
"""

from __future__ import annotations

from datetime import datetime
from functools import cache, lru_cache
from typing import Any, Generic, TypeAlias, TypeVar

from pydantic import ValidationError

from muster.contracts import subjects, upcasters
from muster.contracts.envelope import Envelope
from muster.domain.clock import ClockSet
from muster.domain.demand import Demand
from muster.domain.errors import Permanent
from muster.domain.facts import FACTS, Fact
from muster.domain.incidents import INCIDENT_FACTS, IncidentFact
from muster.domain.model import Frozen, assembled, forget_set
from muster.domain.nodes import NODE_FACTS, NodeFact, NodeState
from muster.domain.pools import POOL_FACTS, EpochTaken, PoolFact
from muster.domain.state import JobState
from muster.domain.stock import STOCK_FACTS, StockChanged, StockFact, item_name
from muster.domain.tenants import TENANT_FACTS, TenantFact

F_co = TypeVar("F_co", bound=Fact, covariant=True)
N_co = TypeVar("N_co", bound=NodeFact, covariant=True)
P_co = TypeVar("P_co", bound=PoolFact, covariant=True)
S_co = TypeVar("S_co", bound=StockFact, covariant=True)
I_co = TypeVar("I_co", bound=IncidentFact, covariant=True)
T_co = TypeVar("T_co", bound=TenantFact, covariant=True)


class JobData(Frozen, Generic[F_co]):
    """The job's whole state after the event, and the event's own particulars."""

    job: JobState
    detail: F_co


class NodeData(Frozen, Generic[N_co]):
    """The node's whole state after the event, and the event's own particulars."""

    node: NodeState
    detail: N_co


class PoolData(Frozen, Generic[P_co]):
    """Facts about a pool or a cluster have particulars only."""

    detail: P_co


class StockData(Frozen, Generic[S_co]):
    """Facts about an item of stock have particulars only, and each is whole."""

    detail: S_co


class TenantData(Frozen, Generic[T_co]):
    """Facts about a tenant have particulars only, and each is whole."""

    detail: T_co


class IncidentData(Frozen, Generic[I_co]):
    """Facts about an incident have particulars only, and each is whole."""

    detail: I_co


JobEvent: TypeAlias = Envelope[JobData[Fact]]
NodeEvent: TypeAlias = Envelope[NodeData[NodeFact]]
PoolEvent: TypeAlias = Envelope[PoolData[PoolFact]]
StockEvent: TypeAlias = Envelope[StockData[StockFact]]
TenantEvent: TypeAlias = Envelope[TenantData[TenantFact]]
IncidentEvent: TypeAlias = Envelope[IncidentData[IncidentFact]]
Event: TypeAlias = Envelope[Any]
"""Any event of the log; `data` tells which: JobData, NodeData, PoolData,
StockData, TenantData or IncidentData."""


REMEMBERED = 1024
"""How many events stay parsed, the last ones that were read; and how many demands are shared."""


class UnreadableEvent(Permanent):
    """The message is not an event that this version of Muster understands."""


def event_type(kind: str, event: str, version: int) -> str:
    """Return the CloudEvents type, e.g. `muster.job.scheduled.v1`."""
    return f"muster.{kind}.{event}.v{version}"


def _models() -> dict[tuple[str, str], tuple[str, type[Envelope[Any]]]]:
    models: dict[tuple[str, str], tuple[str, type[Envelope[Any]]]] = {}
    for name, fact in FACTS.items():
        models["job", name] = event_type("job", name, fact.version), Envelope[JobData[fact]]  # type: ignore[valid-type]
    for name, node in NODE_FACTS.items():
        models["node", name] = event_type("node", name, node.version), Envelope[NodeData[node]]  # type: ignore[valid-type]
    for name, pool in POOL_FACTS.items():
        models["pool", name] = event_type("pool", name, pool.version), Envelope[PoolData[pool]]  # type: ignore[valid-type]
    for name, stock in STOCK_FACTS.items():
        kind = event_type("stock", name, stock.version)
        models["stock", name] = kind, Envelope[StockData[stock]]  # type: ignore[valid-type]
    for name, tenant in TENANT_FACTS.items():
        kind = event_type("tenant", name, tenant.version)
        models["tenant", name] = kind, Envelope[TenantData[tenant]]  # type: ignore[valid-type]
    for name, incident in INCIDENT_FACTS.items():
        kind = event_type("incident", name, incident.version)
        models["incident", name] = kind, Envelope[IncidentData[incident]]  # type: ignore[valid-type]
    for cluster in (EpochTaken, ClockSet):
        models["cluster", cluster.event] = (
            event_type("cluster", cluster.event, cluster.version),
            Envelope[PoolData[cluster]],  # type: ignore[valid-type]
        )
    return models


EVENT_MODELS = _models()
"""(kind, event name) -> (current type, model)."""


def job_event(
    state: JobState,
    fact: Fact,
    *,
    event_id: str,
    source: str,
    at: datetime,
    traceparent: str | None = None,
    key: subjects.Key | None = None,
) -> JobEvent:
    """Wrap a fact and the state after it. key: the job's, where it is at hand."""
    kind, model = EVENT_MODELS["job", fact.event]
    return assembled(
        model,
        {
            "specversion": "1.0",
            "id": event_id,
            "source": source,
            "type": kind,
            "subject": (key or subjects.job_key(state.tenant, state.job)).subject(fact.event),
            "time": at,
            "datacontenttype": "application/json",
            "traceparent": traceparent,
            "data": assembled(_job_data(type(fact)), {"job": state, "detail": fact}),
        },
    )


@cache
def _job_data(fact: type[Fact]) -> type[JobData[Fact]]:
    return JobData[fact]  # type: ignore[valid-type]


def node_event(
    state: NodeState, fact: NodeFact, *, event_id: str, source: str, at: datetime
) -> NodeEvent:
    """Wrap a fact about a node and the state after it."""
    kind = EVENT_MODELS["node", fact.event]
    return kind[1].model_construct(
        id=event_id,
        source=source,
        type=kind[0],
        subject=subjects.node_key(state.pool, state.node).subject(fact.event),
        time=at,
        traceparent=None,
        data=NodeData[type(fact)].model_construct(node=state, detail=fact),  # type: ignore[misc]
    )


def pool_event(
    pool: str, fact: PoolFact, *, event_id: str, source: str, at: datetime, kind: str = "pool"
) -> PoolEvent:
    """Wrap a fact about a pool (kind "pool") or a cluster (kind "cluster")."""
    key = subjects.pool_key if kind == "pool" else subjects.cluster_key
    model = EVENT_MODELS[kind, fact.event]
    return model[1].model_construct(
        id=event_id,
        source=source,
        type=model[0],
        subject=key(pool, fact.event).subject(fact.event),
        time=at,
        traceparent=None,
        data=PoolData[type(fact)].model_construct(detail=fact),  # type: ignore[misc]
    )


def stock_event(fact: StockChanged, *, event_id: str, source: str, at: datetime) -> StockEvent:
    """Wrap a fact about an item of stock."""
    model = EVENT_MODELS["stock", fact.event]
    item = item_name(fact.zone, fact.gpu_model)
    return model[1].model_construct(
        id=event_id,
        source=source,
        type=model[0],
        subject=subjects.stock_key(fact.pool, item).subject(fact.event),
        time=at,
        traceparent=None,
        data=StockData[type(fact)].model_construct(detail=fact),  # type: ignore[misc]
    )


def tenant_event(
    tenant: str, fact: TenantFact, *, event_id: str, source: str, at: datetime
) -> TenantEvent:
    """Wrap a fact about a tenant."""
    model = EVENT_MODELS["tenant", fact.event]
    return model[1].model_construct(
        id=event_id,
        source=source,
        type=model[0],
        subject=subjects.tenant_key(tenant, fact.event).subject(fact.event),
        time=at,
        traceparent=None,
        data=TenantData[type(fact)].model_construct(detail=fact),  # type: ignore[misc]
    )


def incident_event(
    fact: IncidentFact, *, event_id: str, source: str, at: datetime
) -> IncidentEvent:
    """Wrap a fact about an incident."""
    model = EVENT_MODELS["incident", fact.event]
    return model[1].model_construct(
        id=event_id,
        source=source,
        type=model[0],
        subject=subjects.incident_key(fact.incident.id).subject(fact.event),
        time=at,
        traceparent=None,
        data=IncidentData[type(fact)].model_construct(detail=fact),  # type: ignore[misc]
    )


@lru_cache(maxsize=REMEMBERED)
def read_event(subject: str, body: bytes) -> Event:
    """Parse a message of the log. Raises UnreadableEvent, which says what is wrong with it.

    The same bytes are the same event: a trigger and the read that follows it, or several services
    in one process, parse it once and share it. Events are never changed.
    """
    try:
        address = subjects.parse(subject)
        current, model = EVENT_MODELS[address.kind, address.event]
    except (subjects.BadSubject, KeyError) as error:
        raise UnreadableEvent(f"no event is known on subject {subject!r}") from error
    try:
        event = model.model_validate_json(body)
        if event.type == current:
            return _lean(_belongs(event, subject))
    except ValidationError as error:
        if upcasters.type_of(body) == current:
            raise UnreadableEvent(f"{subject}: {first_error(error)}") from error
    return _lean(_belongs(_read_old(subject, body, current, model), subject))


def _lean(event: Event) -> Event:
    """Make an event small for as long as somebody keeps it: nobody asks which fields stood in the
    message, and jobs that ask for the same share what says so."""
    for part in (event, event.data):
        forget_set(part)
    if isinstance(event.data, JobData):
        job = event.data.job
        forget_set(job)
        # in place: the event was made a moment ago, and nobody else has seen it
        job.__dict__["demand"] = _shared(job.demand.__pydantic_serializer__.to_json(job.demand))
    return event


@lru_cache(maxsize=REMEMBERED)
def _shared(text: bytes) -> Demand:
    """Return the demand that is written so: always the same one, as long as it is remembered."""
    demand = Demand.model_validate_json(text)
    forget_set(demand)
    return demand


def _read_old(subject: str, body: bytes, current: str, model: type[Envelope[Any]]) -> Event:
    try:
        return model.model_validate_json(upcasters.upcast(body, current))
    except (upcasters.NoUpcaster, ValueError) as error:
        raise UnreadableEvent(f"{subject}: {first_error(error)}") from error


def _belongs(event: Event, subject: str) -> Event:
    if event.subject != subject:
        raise UnreadableEvent(f"an event for {event.subject} came on {subject}")
    match event.data:
        case JobData(job=job) if (job.tenant, job.job) != subjects.parse(subject).names:
            raise UnreadableEvent(f"the job inside is not the job of {subject}")
        case StockData(detail=d) if (d.pool, item_name(d.zone, d.gpu_model)) != subjects.parse(
            subject
        ).names:
            raise UnreadableEvent(f"the item inside is not the item of {subject}")
        case IncidentData(detail=d) if (d.incident.id,) != subjects.parse(subject).names:
            raise UnreadableEvent(f"the incident inside is not the incident of {subject}")
        case NodeData(node=node) if (node.pool, node.node) != subjects.parse(subject).names:
            raise UnreadableEvent(f"the node inside is not the node of {subject}")
    return event


def first_error(error: Exception) -> str:
    """Return the first thing wrong, as path and message, without the offending value."""
    if isinstance(error, ValidationError):
        entry = error.errors(include_url=False, include_input=False)[0]
        return ": ".join(filter(None, (".".join(map(str, entry["loc"])), entry["msg"])))
    return str(error)
