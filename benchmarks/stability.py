"""How long idle jobs of each stability level keep their places, and how true what they are told is.

`make bench-stability`, or `make bench-stability ARGS="--days 2 --nodes 16"`. A day's rhythm of jobs
of higher classes on one pool, through the scheduler itself in virtual time, and idle jobs of the
three levels that come all the time. The same work once with the fixed bounds and once with those
that are measured. One JSON line for each level: the chance of keeping a place for 1 h and 6 h
(Kaplan-Meier over every stay that began after the warm-up), what was predicted on average when they
were placed, and how long they waited to be placed. One line more for each set of bounds: the
calibration of all predictions after the warm-up.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from muster.cli.simulation.replay.book import Change
from muster.cli.simulation.replay.engine import Engine
from muster.cli.simulation.replay.settings import Queueing, Settings
from muster.cli.simulation.replay.workload import Row, Workload
from muster.domain.demand import ResourceClass, StabilityLevel
from muster.domain.facts import Scheduled
from muster.domain.nodes import NodeShape
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.stays import Stay, ended, level_of
from muster.scheduler.core.steadiness import bounds
from muster.scheduler.core.survival import calibration, estimate, interval
from muster.testing.virtual_time import START

DAY_S = 86_400.0
HOUR_S = 3600.0
SIZES = ((1, 0.45), (2, 0.2), (4, 0.15), (8, 0.2))
"""GPUs of the higher jobs' workers, and how usual they are."""
LENGTH_S, LENGTH_SPREAD = 2400.0, 1.0
"""Of the higher jobs: the median, and sigma of its logarithm."""
IDLE_SIZES = ((1, 0.6), (2, 0.3), (4, 0.1))
IDLE_LENGTH_S, IDLE_SPREAD = 14_400.0, 0.8
WARM_UP = 0.25
"""Of the time: what comes before is learned from and not counted."""


@dataclass(frozen=True, slots=True)
class Load:
    """nodes: of eight cards. peak, trough: GPUs that higher jobs want, of all there are, at noon
    and at midnight. idle_per_hour: of each level."""

    days: float = 6.0
    nodes: int = 24
    peak: float = 0.95
    trough: float = 0.35
    idle_per_hour: float = 1.5
    seed: int = 1


def workload(load: Load) -> Workload:
    """Return the work and the nodes. The same load is always the same."""
    dice = Random(load.seed)
    rows = sorted([*_higher(load, dice), *_idle(load, dice)], key=lambda row: row.submit_s)
    numbered = (replace(row, number=n, job_id=f"{n}") for n, row in enumerate(rows))
    shape = NodeShape(gpus=8, gpu_model="A100", cpus=1e6, memory_mib=1 << 40)
    return Workload("stability", tuple(numbered), {f"n{i:03d}": shape for i in range(load.nodes)})


def _higher(load: Load, dice: Random) -> Iterator[Row]:
    mean = LENGTH_S * math.exp(LENGTH_SPREAD**2 / 2)
    each = sum(size * share for size, share in SIZES)
    most = load.peak * load.nodes * 8 / (mean * each)
    at = 0.0
    while (at := at + dice.expovariate(most)) < load.days * DAY_S:
        part = load.trough + (load.peak - load.trough) * (0.5 - math.cos(math.tau * at / DAY_S) / 2)
        if dice.random() < part / load.peak:
            length = dice.lognormvariate(math.log(LENGTH_S), LENGTH_SPREAD)
            yield _row(at, min(length, DAY_S), _size(dice, SIZES), "on_demand")


def _idle(load: Load, dice: Random) -> Iterator[Row]:
    for level in StabilityLevel:
        at = 0.0
        while (at := at + dice.expovariate(load.idle_per_hour / HOUR_S)) < load.days * DAY_S:
            length = dice.lognormvariate(math.log(IDLE_LENGTH_S), IDLE_SPREAD)
            row = _row(at, min(length, DAY_S), _size(dice, IDLE_SIZES), "idle")
            yield replace(row, stability_level=level.value)


def _row(at: float, length: float, gpus: int, qos: str) -> Row:
    return Row(0, "", "", round(at, 3), round(length, 3), 1, gpus=gpus, qos=qos)


def _size(dice: Random, sizes: Sequence[tuple[int, float]]) -> int:
    return dice.choices([size for size, _ in sizes], [share for _, share in sizes])[0]


@dataclass(slots=True)
class Seen:
    """Hears of every fact: stays, and how long idle jobs waited for each placement.

    What begins before `since` or after `until` is not looked at, and nothing is known after it.
    """

    since: datetime
    until: datetime
    stays: list[Stay] = field(default_factory=list)
    waited: dict[StabilityLevel, list[float]] = field(
        default_factory=lambda: {level: [] for level in StabilityLevel}
    )

    def hear(self, change: Change) -> None:
        """Take in a fact about a job."""
        before, after = change.before, change.after
        if before is None or after.demand.resource_class is not ResourceClass.IDLE:
            return
        if isinstance(change.fact, Scheduled):
            assert before.entered_at is not None
            if self.since <= before.entered_at < self.until:
                until = min(change.at, self.until)
                waited = (until - before.entered_at).total_seconds()
                self.waited[level_of(after)].append(waited)
        stay = ended(before, after, change.fact, change.at)
        if stay is not None and self.since <= stay.outlook.at < self.until:
            over = stay.ended > self.until
            self.stays.append(replace(stay, ended=self.until, lost=False) if over else stay)


def measure(load: Load, kind: str) -> Iterator[dict[str, Any]]:
    """Yield what one replay tells."""
    work = workload(load)
    length = timedelta(days=load.days)
    seen = Seen(START + length * WARM_UP, START + length)
    settings = Settings(
        policy=Policy(stability=kind), queueing=Queueing(off=True), checkpoint_s=HOUR_S
    )
    engine = Engine(work, settings, watchers=[seen.hear])
    run = engine.run()
    said = {"bench": "stability", "bounds": kind}
    within = bounds(engine.book.fold.told_stability)
    for level in StabilityLevel:
        mine = [stay for stay in seen.stays if stay.level is level]
        yield (
            said
            | {"level": level.value, "bound": within[level]}
            | _survival(mine)
            | _waits(seen.waited[level])
        )
    yield said | {
        "level": "all",
        "calibration": _calibrations(seen.stays),
        "cpu_s": run.cpu_seconds,
    }


def _survival(stays: Sequence[Stay]) -> dict[str, Any]:
    found: dict[str, Any] = {"n": len(stays), "lost": sum(stay.lost for stay in stays)}
    for hours in (1, 6):
        lasted = estimate((stay.lasted for stay in stays), hours * HOUR_S)
        told = [p for s in stays if (p := _told(s, hours)) is not None]
        found[f"survive_{hours}h"] = round(lasted.chance, 4)
        found[f"interval_{hours}h"] = [round(end, 4) for end in interval(lasted)]
        found[f"predicted_{hours}h"] = round(statistics.fmean(told), 4) if told else None
    return found


def _told(stay: Stay, hours: int) -> float | None:
    return stay.outlook.survive_1h if hours == 1 else stay.outlook.survive_6h


def _waits(waits: Sequence[float]) -> dict[str, Any]:
    if not waits:
        return {"waited_s": None, "waited_p90_s": None}
    ranked = sorted(waits)
    return {
        "waited_s": round(statistics.fmean(ranked), 1),
        "waited_p90_s": round(ranked[math.ceil(len(ranked) * 0.9) - 1], 1),
    }


def _calibrations(stays: Sequence[Stay]) -> list[dict[str, Any]]:
    found = (calibration(stays, partial(_told, hours=hours), hours) for hours in (1, 6))
    return [one.model_dump(mode="json") for one in found if one is not None]


def main() -> None:
    """Print one JSON line after the other."""
    usual = Load()
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--days", type=float, default=usual.days)
    asked.add_argument("--nodes", type=int, default=usual.nodes)
    asked.add_argument("--peak", type=float, default=usual.peak)
    asked.add_argument("--trough", type=float, default=usual.trough)
    asked.add_argument("--idle-per-hour", type=float, default=usual.idle_per_hour)
    asked.add_argument("--seed", type=int, default=usual.seed)
    asked.add_argument("--bounds", choices=("fixed", "measured"), action="append")
    given = vars(asked.parse_args())
    kinds = given.pop("bounds") or ["fixed", "measured"]
    for kind in kinds:
        for line in measure(Load(**given), kind):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
