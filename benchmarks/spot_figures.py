"""What a replay was like for spot jobs, and for those that they give way to.

Counts the jobs that came after the days that forecasts were learned in. As published replays of
spot clusters do: each full hour that a spot job ran is an hour kept, so is its end, an eviction is
one broken; the rate is broken / (broken + kept).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import fmean
from typing import Any

from muster.cli.simulation.replay.book import Change
from muster.cli.simulation.replay.meters import Trail
from muster.domain.demand import ResourceClass
from muster.domain.state import JobState
from muster.testing.virtual_time import START

PERIOD_S = 3600.0
OUTAGE = "spot_reclaim"


@dataclass(slots=True)
class Watch:
    """Hears every fact about a job. first_s, last_s: jobs that came between these are counted."""

    first_s: float
    last_s: float
    kept: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    gpu_s: float = 0.0
    preempted_gpu_s: float = 0.0
    _runs: dict[str, datetime] = field(default_factory=dict)
    _held: dict[str, datetime] = field(default_factory=dict)

    def hear(self, change: Change) -> None:
        """See the module."""
        state = change.after
        self._use(change.before, state, change.at)
        if state.demand.resource_class is not ResourceClass.SPOT or not self.counts(state):
            return
        match change.fact.event:
            case "started":
                self._runs[state.job] = change.at
            case "preempted":
                self.preempted_gpu_s += self._end(state, change.at) * state.demand.gpus
                assert state.eviction is not None
                self.broken[state.eviction.cause.value] += 1
            case "succeeded":
                self._end(state, change.at)
                self.kept += 1

    def counts(self, state: JobState) -> bool:
        """Tell whether a job is one of those that are counted."""
        at = (state.submitted_at - START).total_seconds()
        return self.first_s <= at < self.last_s

    def _end(self, state: JobState, at: datetime) -> float:
        began = self._runs.pop(state.job, at)
        seconds = (at - began).total_seconds()
        self.kept += int(seconds // PERIOD_S)
        return seconds

    def _use(self, before: JobState | None, state: JobState, at: datetime) -> None:
        had = bool(before and before.held)
        if state.held and not had:
            self._held[state.job] = at
        elif had and not state.held:
            first, last = (START + timedelta(seconds=s) for s in (self.first_s, self.last_s))
            since = max(first, self._held.pop(state.job))
            self.gpu_s += max(0.0, (min(at, last) - since).total_seconds()) * state.demand.gpus


@dataclass(slots=True)
class Sums:
    """Figures of several pools together."""

    kept: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    gpu_s: float = 0.0
    preempted_gpu_s: float = 0.0
    spot: list[Trail] = field(default_factory=list)
    guaranteed: list[Trail] = field(default_factory=list)

    def add(self, watch: Watch, trails: Iterable[Trail]) -> None:
        """Take in one pool."""
        self.kept += watch.kept
        self.broken += watch.broken
        self.gpu_s += watch.gpu_s
        self.preempted_gpu_s += watch.preempted_gpu_s
        for trail in trails:
            if watch.first_s <= trail.row.submit_s < watch.last_s:
                (self.spot if trail.row.qos == "spot" else self.guaranteed).append(trail)

    def line(self, capacity_gpu_s: float) -> dict[str, Any]:
        """Return the figures."""
        broken = self.broken.total()
        others = broken - self.broken[OUTAGE]
        waits = [trail.queued_s for trail in self.spot]
        theirs = [trail.queued_s for trail in self.guaranteed]
        done = [trail.jct_s for trail in self.spot if trail.jct_s is not None]
        return {
            "eviction_rate": _rate(broken, self.kept),
            "spot_queue_s": _mean(waits),
            "lost_gpu_h": round(sum(trail.lost_gpu_s for trail in self.spot) / 3600, 1),
            "guaranteed_queue_s": _mean(theirs),
            "eviction_rate_without_outages": _rate(others, self.kept),
            "evictions": dict(sorted(self.broken.items())),
            "evictions_per_job": round(broken / max(1, len(self.spot)), 4),
            "spot_queue_p50_s": _quantile(waits, 0.5),
            "spot_queue_p95_s": _quantile(waits, 0.95),
            "spot_jct_s": _mean(done),
            "guaranteed_queue_p95_s": _quantile(theirs, 0.95),
            "preempted_gpu_h": round(self.preempted_gpu_s / 3600, 1),
            "alloc_percent": round(100 * self.gpu_s / capacity_gpu_s, 2),
            "spot_jobs": len(self.spot),
            "spot_done": len(done),
            "guaranteed_jobs": len(self.guaranteed),
        }


def _rate(broken: int, kept: int) -> float:
    return round(broken / max(1, broken + kept), 5)


def _mean(values: Sequence[float]) -> float:
    return round(fmean(values), 1) if values else 0.0


def _quantile(values: Sequence[float], part: float) -> float:
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(part * len(ordered)))], 1) if ordered else 0.0
