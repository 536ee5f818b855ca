"""Nodes, jobs and snapshots for the tests of the scheduler. States come from `evolve` alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.demand import (
    Demand,
    JobType,
    NodePolicy,
    NodePolicyType,
    QueueLimits,
    ResourceClass,
    Role,
)
from muster.domain.evolve import evolve
from muster.domain.nodes import NodeCondition, NodeShape, NodeState
from muster.domain.phases import Phase
from muster.domain.state import DeadlineKind, JobState, Wait
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.snapshot import Listed, Snapshot
from muster.scheduler.core.verdicts import Plan, Waiting

NOW = datetime(2030, 1, 1, tzinfo=UTC)
POOL = "default"
CLASSES = {
    "reserved": ResourceClass.RESERVED,
    "on_demand": ResourceClass.ON_DEMAND,
    "spot": ResourceClass.SPOT,
    "idle": ResourceClass.IDLE,
}


def at(seconds: float) -> datetime:
    """Return an instant so many seconds from the worlds' now."""
    return NOW + timedelta(seconds=seconds)


def node(name: str, gpus: int = 8, **more: Any) -> NodeState:
    """Make a node; what the shape does not know is of the state."""
    shape_fields = {k: more.pop(k) for k in list(more) if k in NodeShape.model_fields}
    shape = NodeShape(
        gpus=gpus,
        **{"gpu_model": "A100", "cpus": 64, "memory_mib": 512_000, **shape_fields},
    )
    return NodeState(
        pool=POOL, node=name, cluster="c", shape=shape, **{"since": at(-100_000), **more}
    )


def reclaiming(name: str, seconds: float, gpus: int = 8, **more: Any) -> NodeState:
    """Make a node that is taken away in so many seconds."""
    return node(name, gpus, condition=NodeCondition.RECLAIMING, deadline=at(seconds), **more)


def role(name: str = "worker", replicas: int = 1, gpus: int = 8, **more: Any) -> Role:
    """Make a role."""
    return Role(name=name, replicas=replicas, gpus=gpus, **more)


def demand(
    workers: int = 1,
    gpus: int = 8,
    kind: str = "on_demand",
    priority: int = 50,
    auto: bool = True,
    **more: Any,
) -> Demand:
    """Make a demand of one role, or of the `roles` given."""
    fields: dict[str, Any] = {
        "type": JobType.PYTORCH,
        "resource_class": CLASSES[kind],
        "roles": (role(replicas=workers, gpus=gpus),),
        "priority": None if kind == "idle" else priority,
        "queue": QueueLimits(max_queue_hours=2, max_requeues=3) if auto else None,
    }
    return Demand(**{**fields, **more})


def queued(
    name: str, workers: int = 1, gpus: int = 8, entered: float = -100, **more: Any
) -> JobState:
    """Make a job that entered the queue so many seconds from now."""
    own = ("avoid", "not_before", "tenant")
    state_fields: dict[str, Any] = {k: more.pop(k) for k in own if k in more}
    wanted = demand(workers, gpus, **more)
    submitted = JobState(
        **{"tenant": "t", **state_fields},
        job=name,
        user="u",
        name=name,
        pool=POOL,
        demand=wanted,
        submitted_at=at(entered),
        since=at(entered),
    )
    state = evolve(submitted, f.Admitted(), at(entered))
    return state.model_copy(update=state_fields)


def held(
    state: JobState,
    placement: Mapping[str, Iterable[str]] | list[str],
    waits: Iterable[JobState] = (),
    when: float = -50,
    grace_s: int = 30,
) -> JobState:
    """Place a queued job: on paper only. A list of nodes takes one worker each."""
    if isinstance(placement, list):
        workers = state.demand.workers
        placement = {
            name: tuple(w for w, n in zip(workers, placement, strict=True) if n == name)
            for name in placement
        }
    fact = f.Scheduled(
        placement={n: tuple(ws) for n, ws in placement.items()},
        waits_for=tuple(Wait(tenant=v.tenant, job=v.job, attempt=v.attempt) for v in waits),
        grace_s=grace_s,
    )
    return evolve(state, fact, at(when))


def launched(state: JobState, when: float = -45) -> JobState:
    """Let a placed job launch."""
    return evolve(state, f.Launching(attempt=state.attempt), at(when))


def running(
    name: str, nodes: list[str], gpus: int = 8, since: float = -40, **more: Any
) -> JobState:
    """Make a running job with one worker on each of these nodes."""
    placed = launched(
        held(queued(name, len(nodes), gpus, **more), nodes, when=since - 2), since - 1
    )
    return evolve(placed, f.Started(attempt=placed.attempt), at(since))


def preempted(
    state: JobState,
    cause: EvictionCause = EvictionCause.PRIORITY,
    grace_s: int = 30,
    when: float = -10,
    by: str | None = None,
) -> JobState:
    """Order a job off its nodes."""
    return evolve(state, f.Preempted(cause=cause, grace_s=grace_s, by=by), at(when))


def world(
    nodes: Iterable[NodeState], jobs: Iterable[JobState], now: float = 0, **more: Any
) -> Snapshot:
    """Make a snapshot."""
    listed = tuple(Listed(state, index, state.attempt) for index, state in enumerate(jobs, start=1))
    return Snapshot(pool=POOL, now=at(now), upto=1000, nodes=tuple(nodes), jobs=listed, **more)


def decide(
    nodes: Iterable[NodeState], jobs: Iterable[JobState], now: float = 0, **more: Any
) -> Plan:
    """Plan a round by the usual policy."""
    return plan(world(nodes, jobs, now, **more), Policy())


def decisions(made: Plan) -> dict[str, f.Fact]:
    """Return the decision about each job; a job has one at most."""
    found = [one for move in made.moves for one in move.decisions]
    assert len({one.job for one in found}) == len(found)
    return {one.job[1]: one.fact for one in found}


def placements(made: Plan) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return where each placed job goes."""
    return {
        job: dict(fact.placement)
        for job, fact in decisions(made).items()
        if isinstance(fact, f.Scheduled)
    }


def victims(made: Plan) -> set[str]:
    """Return who is evicted."""
    return {job for job, fact in decisions(made).items() if isinstance(fact, f.Preempted)}


def unreached(made: Plan) -> set[str]:
    """Return whom the round did not get to; the plan counts them without looking at each."""
    found = {key[1] for key, v in made.verdicts.items() if v.why is Waiting.NOT_REACHED}
    assert made.unreached == len(found)
    return found


def only(*nodes: str) -> NodePolicy:
    """A policy of these nodes alone."""
    return NodePolicy(type=NodePolicyType.NODE_IN, nodes=nodes)


def but(*nodes: str) -> NodePolicy:
    """A policy of any nodes but these."""
    return NodePolicy(type=NodePolicyType.NODE_NOT_IN, nodes=nodes)


__all__ = ["DeadlineKind", "EvictionCause", "NodeCondition", "Phase"]
