"""How much of what is free nobody can use, seen now and then in the course of a replay.

The measure is the scheduler's own (see `scoring`), with the popular shapes of the whole workload.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from muster.cli.simulation.replay.workload import Row, Workload
from muster.domain.demand import Role
from muster.scheduler.core import scoring
from muster.scheduler.core.amounts import CARD, Need, Room
from muster.scheduler.core.market import asked_by
from muster.scheduler.core.verdicts import Plan

SAMPLES = 200


def popular(rows: Sequence[Row]) -> scoring.Fragments:
    """Return the measure for the popular shapes of a workload."""
    counts: Counter[tuple[Need, tuple[str, ...] | None]] = Counter()
    for row in rows:
        need, models = asked_by(_role(row))
        counts[need, tuple(sorted(models)) if models is not None else None] += 1
    return scoring.Fragments(scoring.covering(counts))


def _role(row: Row) -> Role:
    return Role(
        name="worker",
        replicas=1,
        gpus=row.gpus,
        gpu_milli=row.milli,
        gpu_model=row.gpu_model,
        cpus=row.cpus,
        memory_mib=row.memory_mib,
    )


def fragmentation(made: Plan, measure: scoring.Fragments) -> tuple[float, float]:
    """Return what share of all GPUs is free and of no use, and what share of the free ones."""
    kinds: Counter[tuple[Room, str]] = Counter()
    total = 0
    for node in made.snapshot.nodes:
        if node.schedulable:
            total += node.shape.gpus * CARD
            kinds[made.board.free(node.node), node.shape.gpu_model] += 1
    free = sum(max(0, room.milli) * count for (room, _), count in kinds.items())
    useless = sum(measure.of(model, room) * count for (room, model), count in kinds.items())
    return (useless / total if total else 0.0, useless / free if free else 0.0)


class Fragments:
    """Samples, at most twice SAMPLES of them: (seconds, of all GPUs, of the free ones)."""

    def __init__(self, workload: Workload) -> None:
        self.samples: list[tuple[float, float, float]] = []
        self._measure = popular(workload.rows)
        self._step = max((row.submit_s for row in workload.rows), default=0.0) / SAMPLES
        self._next = 0.0
        self._seen: Plan | None = None

    def look(self, seconds: float, made: Plan | None) -> None:
        """Take a sample of the last plan if it is time to."""
        if made is None or made is self._seen or seconds < self._next:
            return
        self._seen = made
        self.samples.append((seconds, *fragmentation(made, self._measure)))
        self._next = seconds + self._step
        if len(self.samples) >= 2 * SAMPLES:
            del self.samples[1::2]
            self._step = self._step * 2 or 1.0
