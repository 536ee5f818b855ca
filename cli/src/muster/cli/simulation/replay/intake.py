"""A row of a workload as a submission: the specification, and what admission says to it.

The shape is checked as every submission's is, the rules are admission's own.
"""

from __future__ import annotations

import json
import math
from typing import Any

from muster.cli.simulation.replay.settings import Settings
from muster.cli.simulation.replay.workload import Row
from muster.contracts.checking import check
from muster.domain import facts as f
from muster.domain import spec_rules
from muster.domain.demand import ResourceClass
from muster.domain.spec import JobSpec
from muster.domain.violations import Violation

POOL, TENANT, USER = "replay", "replay", "replay"

_CLASSES = {
    "guaranteed": ResourceClass.RESERVED,
    "on_demand": ResourceClass.ON_DEMAND,
    "spot": ResourceClass.SPOT,
    "idle": ResourceClass.IDLE,
}


def job_of(row: Row) -> str:
    """Return the job's id: equal submissions go by it, so it keeps the order of the file."""
    return f"{row.number:09d}"


def submission(row: Row, settings: Settings) -> f.Submitted | tuple[Violation, ...]:
    """Return the fact of a well-formed submission, or what is wrong with its shape."""
    text = json.dumps(_spec(row, settings))
    spec, violations = check(JobSpec, text, "$.spec")
    if spec is None:
        return tuple(violations)
    return f.Submitted(
        tenant=TENANT,
        job=job_of(row),
        user=USER,
        pool=POOL,
        request=job_of(row),
        digest="",
        spec=spec,
        demand=spec.demand(),
    )


def judged(submitted: f.Submitted) -> f.Admitted | f.Rejected:
    """Return what admission decides about it."""
    violations = spec_rules.violations_of(submitted.spec)
    return f.Rejected(violations=violations) if violations else f.Admitted()


def _spec(row: Row, settings: Settings) -> dict[str, Any]:
    kind = _CLASSES[row.qos]
    spec: dict[str, Any] = {
        "name": f"job-{row.number}",
        "image": "replay",
        "command": ["replay"],
        "grace_s": 1,
        "resource": _resource(row, kind),
    }
    queue = settings.queueing.of(kind)
    if queue is not None:
        spec["auto_queue"] = {"enabled": True, **queue.model_dump()}
    if settings.limits:
        spec["max_runtime_s"] = max(1, math.ceil(row.duration_s))
    return spec


def _resource(row: Row, kind: ResourceClass) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "type": kind.value,
        "pool": POOL,
        "replicas": row.workers,
        "gpus_per_replica": row.gpus,
        "gpu_milli_per_replica": row.milli,
        "gpu_model": row.gpu_model,
        "cpus_per_replica": row.cpus,
        "memory_mib_per_replica": row.memory_mib,
        "guarantee": row.qos == "guaranteed",
    }
    if kind is not ResourceClass.IDLE and row.priority is not None:
        resource["priority"] = row.priority
    if row.stability_level is not None:
        resource["stability_level"] = row.stability_level
    return resource
