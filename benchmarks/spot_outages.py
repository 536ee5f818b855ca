"""Spot nodes that go and come back, fitted to published series of spot capacity.

Of 16 nodes asked for at once on a public cloud these were measured: obtainable 42-46 % of the time,
up for 1,200-1,500 s at the median, away for 1,200-3,300 s at the median; 19-42 % of the outages
longer than an hour, 7-12 % than four, 3-5 % than twelve. Run alone, it prints both.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from muster.cli.simulation.replay.capacity import Happens, NodeStep
from muster.domain.nodes import NodeShape

MEASURED = {
    "obtainable": (0.42, 0.46),
    "up_median_s": (1200, 1500),
    "outage_median_s": (1200, 3300),
    "gt_1h": (0.19, 0.42),
    "gt_4h": (0.07, 0.12),
    "gt_12h": (0.03, 0.05),
}

UP = 1350.0, 1.71
"""Median and spread of the logarithm: few stretches are long, and these make up for most."""
SHORT, LONG, LONG_PART = (1700.0, 1.2), (28_800.0, 0.9), 0.1
"""Most outages are short; one of ten is a matter of a night."""


def stretches(dice: Random, seconds: float) -> Iterator[tuple[float, float]]:
    """Yield from when to when one group of nodes is there."""
    at = 0.0
    while at < seconds:
        up = _draw(dice, UP)
        yield at, at + up
        at += up + _draw(dice, LONG if dice.random() < LONG_PART else SHORT)


def _draw(dice: Random, law: tuple[float, float]) -> float:
    return dice.lognormvariate(math.log(law[0]), law[1])


def steps(nodes: Mapping[str, NodeShape], seconds: float, seed: int) -> list[NodeStep]:
    """Return what happens to spot nodes: those of one zone go together."""
    zones: dict[str, list[str]] = {}
    for name, shape in nodes.items():
        if shape.spot:
            zones.setdefault(shape.zone, []).append(name)
    found = [step for zone, names in zones.items() for step in _zone(zone, names, seconds, seed)]
    return sorted(found, key=lambda step: (step.at_s, step.node))


def _zone(zone: str, names: Iterable[str], seconds: float, seed: int) -> Iterator[NodeStep]:
    for start, end in stretches(Random(f"{seed}/{zone}"), seconds):
        for name in names:
            yield NodeStep(start, name, Happens.BACK)
            yield NodeStep(end, name, Happens.RECLAIM)


def statistics(seed: int, days: float = 400.0) -> dict[str, Any]:
    """Return what a long run of the generator gives."""
    seconds = days * 86_400
    there = list(stretches(Random(seed), seconds))
    ups = [end - start for start, end in there]
    gaps = [later - end for (_, end), (later, _) in pairwise(there)]
    return {
        "obtainable": round(sum(ups) / (sum(ups) + sum(gaps)), 3),
        "up_median_s": round(median(ups)),
        "outage_median_s": round(median(gaps)),
        **{f"gt_{h}h": round(sum(g > h * 3600 for g in gaps) / len(gaps), 3) for h in (1, 4, 12)},
    }


if __name__ == "__main__":
    line = {"bench": "spot_outages", "generated": statistics(1), "measured": MEASURED}
    print(json.dumps(line))
