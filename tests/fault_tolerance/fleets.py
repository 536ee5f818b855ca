"""Nodes and failures as the tests of suspicion, brakes, incidents and silence need them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from muster.domain.demand import Demand, JobType, ResourceClass, Role
from muster.domain.diagnosis import Blame
from muster.domain.nodes import NodeCondition, NodeShape, NodeState
from muster.fault_tolerance.core.attributed import Attributed, Mark, Shared
from muster.fault_tolerance.core.suspicion import Fault

NOW = datetime(2025, 3, 1, 8, 0, tzinfo=UTC)
NFS = Mark(Shared.STORAGE, "nfs-1")


def ago(**span: float) -> datetime:
    return NOW - timedelta(**span)


def node(name: str = "n1", **values: Any) -> NodeState:
    """A ready node with 8 H100."""
    serial = values.pop("serial", None)
    model = values.pop("gpu_model", "H100")
    shape = NodeShape(gpus=8, gpu_model=model, cpus=64, memory_mib=1024, serial=serial)
    base: dict[str, Any] = {
        "pool": "default",
        "cluster": "c",
        "shape": shape,
        "since": ago(days=9),
    }
    return NodeState(node=name, **(base | values))


def fleet(count: int, **values: Any) -> list[NodeState]:
    return [node(f"n{number}", **values) for number in range(count)]


def lost(name: str, seconds: float) -> NodeState:
    """A node of which nothing is heard since so many seconds after NOW."""
    since = NOW + timedelta(seconds=seconds)
    return node(name, condition=NodeCondition.LOST, since=since)


def fault(job: str, user: str = "ann", **values: Any) -> Fault:
    base: dict[str, Any] = {"at": ago(hours=1), "rule": "cuda.error"} | values
    return Fault(job=("t", job), user=("t", user), **base)


def demand(workers: int, gpus: int = 8, **values: Any) -> Demand:
    role = Role(name="worker", replicas=workers, gpus=gpus)
    return Demand(
        type=JobType.PYTORCH, resource_class=ResourceClass.RESERVED, roles=(role,), **values
    )


def failed(job: str, user: str = "ann", **values: Any) -> Attributed:
    """A failure by storage nfs-1, just now."""
    base: dict[str, Any] = {
        "tenant": "t",
        "job": job,
        "attempt": 1,
        "user": user,
        "pool": "default",
        "at": ago(seconds=10),
        "rule": "storage.stale",
        "blame": Blame.STORAGE,
        "nodes": ("n1",),
        "marks": (NFS,),
    }
    return Attributed(**(base | values))
