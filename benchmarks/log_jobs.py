"""Jobs with a life of ten events, made by the product's own rules, for benchmarks to write."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from muster.contracts import subjects
from muster.contracts.events import Event, job_event
from muster.domain import facts as f
from muster.domain.auto_queue import AutoQueueSpec
from muster.domain.causes import EvictionCause
from muster.domain.demand import ResourceClass
from muster.domain.evolve import evolve
from muster.domain.spec import JobSpec, ResourceSpec
from muster.domain.state import JobState
from muster.runtime.ids import new_id

START = datetime(2030, 1, 1, tzinfo=UTC)
TENANT = "bench"
SPEC = JobSpec(
    name="train",
    image="registry/train:1",
    command=("python", "train.py"),
    resource=ResourceSpec(type=ResourceClass.SPOT, replicas=2, gpus_per_replica=4),
    auto_queue=AutoQueueSpec(enabled=True, max_queue_hours=2, max_requeues=3),
)
PLACEMENT = {"node-1": ("worker-0",), "node-2": ("worker-1",)}


@dataclass(frozen=True, slots=True)
class Job:
    """A job's key and the events of its life, in order."""

    key: subjects.Key
    events: tuple[Event, ...]


def job(tenant: str = TENANT, events: int = 10) -> Job:
    """A job that is submitted, placed, runs, is evicted and is placed again, up to an event."""
    name = f"j{secrets.token_hex(8)}"
    facts = (
        _submitted(tenant, name),
        f.Admitted(),
        f.Scheduled(placement=PLACEMENT),
        f.Launching(attempt=1),
        f.Started(attempt=1),
        f.Preempted(cause=EvictionCause.SPOT_RECLAIM, nodes=("node-1",), grace_s=30),
        f.Signalled(attempt=1),
        f.Released(attempt=1, proofs={"worker-0": "exited", "worker-1": "exited"}),
        f.Requeued(cause=EvictionCause.SPOT_RECLAIM, counted=True),
        f.Scheduled(placement=PLACEMENT),
    )
    return Job(subjects.job_key(tenant, name), tuple(_happened(facts[:events])))


def _happened(facts: Sequence[f.Fact]) -> Iterator[Event]:
    state: JobState | None = None
    at = START
    for fact in facts:
        at += timedelta(seconds=1)
        state = evolve(state, fact, at)
        yield job_event(state, fact, event_id=new_id(), source="muster/bench", at=at)


def jobs(count: int, tenant: str = TENANT, events: int = 10) -> list[Job]:
    """So many jobs."""
    return [job(tenant, events) for _ in range(count)]


def _submitted(tenant: str, name: str) -> f.Submitted:
    return f.Submitted(
        tenant=tenant,
        job=name,
        user="ann",
        pool="default",
        request=f"r-{name}",
        digest="0" * 64,
        spec=SPEC,
        demand=SPEC.demand(),
    )
