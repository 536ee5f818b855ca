"""How much of what is free nobody can use, seen now and then in the course of a replay.

The measure is FGD's: for each of the workload's popular shapes, weighted by how popular it is, the
free GPUs that a job of that shape could not use; their sum over the nodes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from muster.cli.simulation.replay.workload import Row, Workload
from muster.domain.demand import Role
from muster.scheduler.core.amounts import Amounts, of_role
from muster.scheduler.core.doors import has_model
from muster.scheduler.core.verdicts import Plan

SAMPLES = 200
POPULAR = 0.95
"""Shapes are taken, the most popular first, until they make up so much of the jobs."""


@dataclass(frozen=True, slots=True)
class Typical:
    """A popular shape of one worker, and its share of all jobs."""

    role: Role
    need: Amounts
    weight: float


def typical(workload: Workload) -> list[Typical]:
    """Return the popular shapes of a workload."""
    shapes = Counter(_role(row) for row in workload.rows)
    ordered = sorted(shapes.items(), key=lambda one: (-one[1], repr(one[0])))
    found, seen, total = list[Typical](), 0, sum(shapes.values())
    for shape, count in ordered:
        if seen >= POPULAR * total:
            break
        role = Role.model_validate({"name": "worker", "replicas": 1, **dict(shape)})
        found.append(Typical(role, of_role(role), count / total))
        seen += count
    return found


def _role(row: Row) -> tuple[tuple[str, object], ...]:
    return (
        ("gpus", row.gpus),
        ("gpu_milli", row.milli),
        ("gpu_model", row.gpu_model),
        ("cpus", row.cpus),
        ("memory_mib", row.memory_mib),
    )


def fragmentation(made: Plan, shapes: list[Typical]) -> tuple[float, float]:
    """Return what share of all GPUs is free and of no use, and what share of the free ones."""
    kinds: Counter[tuple[Amounts, str]] = Counter()
    total = 0
    for node in made.snapshot.nodes:
        if node.schedulable:
            total += node.shape.gpus
            kinds[made.board.free(node.node), node.shape.gpu_model] += 1
    idle = useless = 0.0
    for (free, model), count in kinds.items():
        gpus = max(0, free.gpus) * count
        idle += gpus
        useless += gpus * sum(one.weight for one in shapes if not _serves(free, model, one))
    weight = sum(one.weight for one in shapes) or 1.0
    useless /= weight
    return (useless / total if total else 0.0, useless / idle if idle else 0.0)


def _serves(free: Amounts, model: str, one: Typical) -> bool:
    asks = one.role.gpus or one.role.gpu_milli
    return bool(asks) and has_model(model, one.role) and free.holds(one.need) > 0


class Fragments:
    """Samples, at most twice SAMPLES of them: (seconds, of all GPUs, of the free ones)."""

    def __init__(self, workload: Workload) -> None:
        self.samples: list[tuple[float, float, float]] = []
        self._shapes = typical(workload)
        self._step = max((row.submit_s for row in workload.rows), default=0.0) / SAMPLES
        self._next = 0.0
        self._seen: Plan | None = None

    def look(self, seconds: float, made: Plan | None) -> None:
        """Take a sample of the last plan if it is time to."""
        if made is None or made is self._seen or seconds < self._next:
            return
        self._seen = made
        self.samples.append((seconds, *fragmentation(made, self._shapes)))
        self._next = seconds + self._step
        if len(self.samples) >= 2 * SAMPLES:
            del self.samples[1::2]
            self._step = self._step * 2 or 1.0
