"""One written event of every kind, as subject and JSON: what tests break in their ways."""

from __future__ import annotations

import json
from random import Random
from typing import Any, TypeAlias

from muster.contracts.events import (
    Event,
    incident_event,
    job_event,
    node_event,
    pool_event,
    stock_event,
    tenant_event,
)
from muster.domain import incidents as i
from muster.domain import nodes as n
from muster.domain import pools as p
from muster.domain import stock as s
from muster.domain import tenants as t
from muster.domain.clock import ClockSet
from muster.domain.demand import StabilityLevel
from muster.domain.edges import EDGES
from muster.domain.evolve import evolve
from muster.domain.facts import FACTS
from muster.domain.incidents import Incident, IncidentKind, incident_id
from muster.domain.survival import BandSurvival, Calibration, Chance, Foretold, LevelSurvival
from tests.domain.making import make
from tests.domain.stages import stage
from tests.support.lives import START, Life

Json: TypeAlias = Any

SHAPE = n.NodeShape(gpus=8, gpu_model="H100", cpus=64, memory_mib=1024, labels={"zone": "西"})
NODE_FACTS: tuple[n.NodeFact, ...] = (
    n.NodeJoined(pool="default", node="gpu-7.rack_3", cluster="c1", shape=SHAPE),
    n.NodeChanged(shape=SHAPE),
    n.NodeOccupied(foreign=n.ForeignUse(gpus=1, cpus=4, memory_mib=16)),
    n.NodeReclaiming(deadline=START),
    n.NodeReclaimLapsed(deadline=START),
    n.NodeLost(),
    n.NodeLeft(),
    n.NodeFenced(request="r1", by="ann"),
    n.NodeCordoned(request="r2", by="ann"),
    n.NodeUncordoned(request="r3", by="ann"),
    n.NodeDrained(request="r4", by="ann"),
    n.NodeSuspected(why="three failures"),
    n.NodeExcluded(until=START, why="three failures", why_zh="三次故障"),
    n.NodeReadmitted(),
)
WAITING = p.WaitingJob(tenant="acme", job="j1", code="WAITING", en="busy", zh="繁忙", ahead=3)
POOL_FACTS: tuple[p.PoolFact, ...] = (
    p.EpochTaken(epoch=3, holder="h1"),
    p.RoundDecided(epoch=3, round=9, upto=100, at=START),
    p.PoolSummary(nodes=2, gpus=16, gpus_free=3, waiting=1, queue=(WAITING,)),
    p.FragmentsMeasured(
        free_milli=3500,
        fragmented_milli=1200,
        rows=(
            p.FragmentRow(
                gpus=0,
                gpu_milli=500,
                gpu_model="A100|H100",
                cpus=4,
                memory_mib=32_768,
                level=StabilityLevel.HIGH,
                free_milli=1500,
                gang=3,
                nodes=2,
            ),
        ),
    ),
    p.StabilityMeasured(
        levels=(
            LevelSurvival(level=StabilityLevel.LOW, stays=12),
            LevelSurvival(
                level=StabilityLevel.HIGH,
                bound=0.1,
                measured=True,
                stays=99,
                survive_1h=Chance(chance=0.97, low=0.91, high=0.99, known=80),
            ),
        ),
        bands=(BandSurvival(upto=0.0, stays=99), BandSurvival(above=5.0, stays=12)),
        calibration=(
            Calibration(
                hours=1,
                known=80,
                brier=0.05,
                error=0.02,
                rows=(
                    Foretold(
                        predicted=0.95,
                        observed=Chance(chance=0.97, low=0.91, high=0.99, known=80),
                    ),
                ),
            ),
        ),
    ),
    p.SpotQuotaMeasured(
        at=START,
        upto=START,
        rows=(
            p.SpotQuotaRow(
                gpu_model="H100",
                capacity=64,
                demand=20,
                forecast=31.5,
                held=8,
                quota=29.25,
                eta=0.9,
                evicted=1.5,
                kept=40,
                history=p.DemandHistory(hour=490_000, peak=20, whole=True, hours=50),
            ),
        ),
    ),
)

TENANT_FACTS: tuple[t.TenantFact, ...] = (
    t.QuotaSet(
        by="ann",
        request="r5",
        shares=(t.Share(pool="default", gpu_model="H100", guaranteed=8, ceiling=16),),
    ),
    t.BlocklistSet(
        by="ann",
        request="r6",
        nodes={"default": ("gpu-1",)},
        users={"bob": {"default": ("gpu-2",)}},
    ),
    t.SpotSet(by="ann", request="r7", enabled=False, pools={"default": True}),
)

STOCK = s.StockChanged(
    pool="default", zone="z1", gpu_model="H100", gpus=16, deadline=START, price=2.5, network="IB"
)


def _tenant(fact: t.TenantFact) -> Event:
    return tenant_event("acme", fact, event_id="e1", source="muster/x", at=START)


def _job(event: str) -> Event:
    if event == "submitted":
        state = Life().state
        fact = make(event, state, Random(1))
        return _wrap(evolve(None, fact, START), fact)
    phase = min(EDGES[event].sources)
    life = stage(phase, event)
    fact = make(event, life.state, Random(1))
    return _wrap(life.then(fact).state, fact)


def _wrap(state: Any, fact: Any) -> Event:
    return job_event(state, fact, event_id="e1", source="muster/x", at=START)


def _node(fact: n.NodeFact) -> Event:
    state = n.evolve_node(None, NODE_FACTS[0], START)
    if not isinstance(fact, n.NodeJoined):
        state = n.evolve_node(state, fact, START)
    return node_event(state, fact, event_id="e1", source="muster/x", at=START)


def _pool(fact: p.PoolFact, kind: str = "pool") -> Event:
    return pool_event("default", fact, event_id="e1", source="muster/x", at=START, kind=kind)


INCIDENT = Incident(
    id=incident_id(IncidentKind.STORAGE, "nfs-1"),
    kind=IncidentKind.STORAGE,
    name="nfs-1",
    opened_at=START,
    last_at=START,
    jobs=3,
    users=2,
    nodes=("n1",),
    en="storage nfs-1",
    zh="存储 nfs-1",
)
INCIDENT_FACTS: tuple[i.IncidentFact, ...] = (
    i.IncidentOpened(incident=INCIDENT),
    i.IncidentUpdated(incident=INCIDENT),
    i.IncidentClosed(incident=INCIDENT.model_copy(update={"closed_at": START})),
)


def _incident(fact: i.IncidentFact) -> Event:
    return incident_event(fact, event_id="e1", source="muster/x", at=START)


EVENTS: dict[str, Event] = {
    **{f"job.{event}": _job(event) for event in FACTS},
    **{f"node.{fact.event}": _node(fact) for fact in NODE_FACTS},
    **{f"pool.{fact.event}": _pool(fact) for fact in POOL_FACTS},
    "stock.changed": stock_event(STOCK, event_id="e1", source="muster/x", at=START),
    **{f"tenant.{fact.event}": _tenant(fact) for fact in TENANT_FACTS},
    **{f"incident.{fact.event}": _incident(fact) for fact in INCIDENT_FACTS},
    "cluster.epoch": _pool(POOL_FACTS[0], "cluster"),
    "cluster.clock": _pool(ClockSet(offset=3600.0, at=START, stepped=3600.0), "cluster"),
}
"""kind.event -> an event."""


def written(name: str) -> tuple[str, Json]:
    """The subject of an event, and its JSON to change."""
    event = EVENTS[name]
    return event.subject, json.loads(event.to_bytes())


def body(value: Json) -> bytes:
    """JSON as bytes."""
    return json.dumps(value).encode()
