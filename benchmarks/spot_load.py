"""A load for the benchmark of spot quotas: nodes as a published cluster has them, jobs made up.

The job trace of that cluster is not public. So guaranteed demand goes with the hour and the day of
the week, on top of long jobs; spot jobs come all day. Lengths of spot jobs have the median and the
ninth decile that are published (1 h, 6.4 h). The same seed gives the same jobs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from muster.cli.simulation.replay.workload import Row, Workload
from muster.domain.nodes import NodeShape

HOUR, DAY = 3600.0, 86_400.0

MODELS: dict[str, dict[int, int]] = {
    "A100": {8: 432},
    "A10": {1: 2494},
    "H800": {8: 219},
    "GPU-series-1": {1: 902, 4: 10, 8: 77},
    "GPU-series-2": {8: 122},
    "A800": {8: 22},
}
"""GPU model -> GPUs of a node -> nodes: 4,278 nodes with 10,412 GPUs."""

ZONE = 16
"""Spot nodes come and go together, so many at once: as the statistics were taken."""

WIDE = {(1, 1): 0.30, (2, 1): 0.15, (4, 1): 0.15, (8, 1): 0.24, (8, 2): 0.08, (8, 4): 0.05}
WIDE[8, 8] = 0.03
NARROW = {(1, 1): 0.75, (1, 2): 0.13, (1, 4): 0.08, (1, 8): 0.04}
"""(GPUs of a worker, workers) -> part of the jobs."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What is asked for, as parts of all GPUs, and for how long.

    base: by long guaranteed jobs, always; peak: by short ones, at the busiest hour; spot: by spot
    jobs. weekend: how much of a working day's peak there is. spot_nodes: of all nodes.
    """

    base: float = 0.45
    peak: float = 0.35
    weekend: float = 0.4
    spot: float = 0.30
    days: float = 14.0
    spot_nodes: float = 0.0


@dataclass(frozen=True, slots=True)
class _Kind:
    """qos; hours: median length; spread: of its logarithm; most: no longer than so many hours."""

    qos: str
    hours: float
    spread: float
    most: float

    @property
    def mean(self) -> float:
        return self.hours * math.exp(self.spread**2 / 2)

    def length(self, dice: Random) -> float:
        return min(self.most, dice.lognormvariate(math.log(self.hours), self.spread)) * HOUR


LONG = _Kind("guaranteed", 18.0, 1.0, 240.0)
SHORT = _Kind("guaranteed", 1.5, 1.0, 48.0)
SPOT = _Kind("spot", 1.0, math.log(6.4) / 1.2816, 72.0)


def cluster(model: str, scale: int, shape: Shape) -> dict[str, NodeShape]:
    """Return the nodes of one model, every `scale`th of them; the last ones are spot nodes."""
    sizes = [size for size, count in MODELS[model].items() for _ in range(_part(count, scale))]
    spot = round(len(sizes) * shape.spot_nodes)
    return {
        f"n{index:05d}": NodeShape(
            gpus=size,
            gpu_model=model,
            cpus=1e6,
            memory_mib=1 << 40,
            spot=index >= len(sizes) - spot,
            zone=_zone(index - (len(sizes) - spot)),
        )
        for index, size in enumerate(sizes)
    }


def _part(count: int, scale: int) -> int:
    return max(1, round(count / scale))


def _zone(index: int) -> str:
    return f"spot-{index // ZONE}" if index >= 0 else "default"


def workload(model: str, nodes: dict[str, NodeShape], shape: Shape, seed: int) -> Workload:
    """Return the jobs for these nodes."""
    dice = Random(f"{seed}/{model}")
    gpus = sum(node.gpus for node in nodes.values() if not node.spot)
    sizes = _sizes(nodes)
    jobs = [
        *_arrivals(dice, LONG, shape, sizes, lambda at: gpus * shape.base, 5 * DAY),
        *_arrivals(dice, SHORT, shape, sizes, lambda at: gpus * _busy(at, shape), DAY),
        *_arrivals(dice, SPOT, shape, sizes, lambda at: gpus * shape.spot, 0.0),
    ]
    jobs.sort()
    rows = (
        Row(
            number=number,
            place="",
            job_id=f"{number}",
            submit_s=at,
            duration_s=length,
            workers=workers,
            gpus=each,
            gpu_model=model,
            qos=qos,
        )
        for number, (at, length, each, workers, qos) in enumerate(jobs)
    )
    return Workload(model, tuple(rows), nodes)


_Sizes = dict[tuple[int, int], float]
_Wanted = Callable[[float], float]
"""Instant -> GPUs that are asked for."""
_Job = tuple[float, float, int, int, str]


def _sizes(nodes: dict[str, NodeShape]) -> _Sizes:
    """Return the sizes of jobs: none takes more than a quarter of the nodes."""
    wide = [node for node in nodes.values() if node.gpus == 8 and not node.spot]
    mixed = len(wide) < len(nodes) / 2
    sizes = NARROW if mixed else WIDE
    most = max(1, len(nodes) // 4)
    return {size: part for size, part in sizes.items() if size[1] <= most}


def _busy(at: float, shape: Shape) -> float:
    """Return what is asked for beyond the base: most at three in the afternoon, little by night."""
    hour, day = at / HOUR % 24, int(at // DAY) % 7
    wave = max(0.0, math.cos((hour - 15) / 24 * 2 * math.pi) * 0.6 + 0.4)
    return shape.peak * wave * (shape.weekend if day in {5, 6} else 1.0)


def _arrivals(
    dice: Random, kind: _Kind, shape: Shape, sizes: _Sizes, wanted: _Wanted, before: float
) -> Iterator[_Job]:
    """Yield jobs so that as many GPUs are asked for at a time as wanted. Those that began before
    the first instant come with what is left of them."""
    total = sum(sizes.values())
    each = sum(gpus * workers * part for (gpus, workers), part in sizes.items()) / total
    most = max(wanted(hour * HOUR) for hour in range(168)) / (each * kind.mean * HOUR)
    at, end = -before, shape.days * DAY
    names, weights = list(sizes), list(sizes.values())
    while most > 0 and (at := at + dice.expovariate(most)) < end:
        length, (gpus, workers) = kind.length(dice), dice.choices(names, weights)[0]
        if dice.random() * most > wanted(max(0.0, at)) / (each * kind.mean * HOUR):
            continue
        if at + length > 0:
            yield max(0.0, at), length + min(0.0, at), gpus, workers, kind.qos
