"""What a replay came to, as one document of plain values; the keys are stable.

`run` alone differs between two replays of the same input.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from muster.cli.simulation.replay.engine import Ended
from muster.cli.simulation.replay.meters import Meters, Trail
from muster.cli.simulation.replay.settings import Settings
from muster.cli.simulation.replay.starvation import judged
from muster.cli.simulation.replay.workload import CLASSES, Cut, Workload
from muster.testing.virtual_time import START

Document = dict[str, Any]

ALL = "all"

SHOWN = 5
"""So many jobs that never fit are named; all are counted."""


def document(ended: Ended, workload: Workload, settings: Settings, cut: Cut) -> Document:
    """Return the figures."""
    meters = ended.meters
    until = (ended.ended_at - START).total_seconds()
    served = meters.workload
    first = served.rows[0].submit_s if served.rows else 0.0
    meters.close(ended.ended_at)
    return {
        "workload": _workload(workload, served),
        "settings": _settings(settings, cut),
        "allocation": _allocation(meters, _last(served), until),
        "fragmentation": _fragmentation(meters),
        "queue_s": _by_class(meters, _queued),
        "first_wait_s": _by_class(meters, lambda trail: trail.first_wait_s),
        "jct_s": _by_class(meters, lambda trail: trail.jct_s),
        "never_fit": _misfits(meters),
        "ends": _ends(meters),
        "evictions": _evictions(meters),
        "lost_gpu_hours": _hours(sum(t.lost_gpu_s for t in meters.trails.values())),
        "starvation": _starvation(meters, ended.ended_at),
        "makespan_s": _last_end(meters, first),
        "rounds": ended.rounds.count,
        "events": ended.events,
        "run": {
            "wall_s": round(ended.seconds, 2),
            "cpu_s": round(ended.cpu_seconds, 2),
            "jobs_per_s": round(len(workload.rows) / max(ended.seconds, 1e-9), 1),
        },
    }


def _workload(workload: Workload, served: Workload) -> Document:
    """Return what was asked for. served: without what never fits, which is no load."""
    gpus = sum(shape.gpus for shape in workload.nodes.values())
    work = sum(row.gpu_count * row.duration_s for row in served.rows)
    last = _last(served)
    return {
        "name": workload.name,
        "jobs": len(workload.rows),
        "nodes": len(workload.nodes),
        "gpus": gpus,
        "gpu_hours": _hours(work),
        "offered_load": round(work / (gpus * last), 3) if gpus and last else None,
    }


def _last(workload: Workload) -> float:
    return workload.rows[-1].submit_s if workload.rows else 0.0


def _misfits(meters: Meters) -> Document:
    first = meters.misfits[:SHOWN]
    return {
        "jobs": len(meters.misfits),
        "first": [{"job": m.job_id, "why": m.why.en, "why_zh": m.why.zh} for m in first],
    }


def _settings(settings: Settings, cut: Cut) -> Document:
    policy = dataclasses.asdict(settings.policy)
    shown = {name: sorted(v) if isinstance(v, frozenset) else v for name, v in policy.items()}
    limits = settings.queueing.limits
    return {
        **dataclasses.asdict(cut),
        "auto_queue": "off" if settings.queueing.off else limits and limits.model_dump(),
        "resume": settings.queueing.resumes,
        "checkpoint_s": settings.checkpoint_s,
        "limits": settings.limits,
        "round_every_s": settings.round_every_s,
        "policy": shown,
    }


def _allocation(meters: Meters, last: float, until: float) -> Document:
    used = sum(point.used * seconds for point, seconds in meters.series.spans(until)) / 1000
    return {
        "percent": round(100 * meters.series.allocation(until), 2),
        "until_last_submission_percent": round(100 * meters.series.allocation(last), 2),
        "gpu_hours": _hours(used),
    }


def _fragmentation(meters: Meters) -> Document:
    samples = meters.fragments.samples
    if not samples:
        return {"mean_percent": None, "max_percent": None, "of_free_percent": None}
    return {
        "mean_percent": round(100 * sum(s[1] for s in samples) / len(samples), 2),
        "max_percent": round(100 * max(s[1] for s in samples), 2),
        "of_free_percent": round(100 * sum(s[2] for s in samples) / len(samples), 2),
    }


def _queued(trail: Trail) -> float:
    return trail.queued_s


def _by_class(meters: Meters, measure: Any) -> Document:
    found: Document = {}
    for name in (*CLASSES, ALL):
        trails = (t for t in meters.trails.values() if name in {t.row.qos, ALL})
        values = [value for t in trails if (value := measure(t)) is not None]
        if values:
            found[name] = spread(values)
    return found


def spread(values: Iterable[float]) -> Document:
    """Return count, mean, median, 95th percentile (nearest rank) and the largest."""
    ordered = sorted(values)
    return {
        "jobs": len(ordered),
        "mean": round(math.fsum(ordered) / len(ordered), 1),
        "p50": round(ranked(ordered, 0.50), 1),
        "p95": round(ranked(ordered, 0.95), 1),
        "max": round(ordered[-1], 1),
    }


def ranked(ordered: Sequence[float], share: float) -> float:
    """Return the value below or at which this share of sorted values lies."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _ends(meters: Meters) -> Document:
    open_jobs = [t for t in meters.trails.values() if t.ended is None]
    left = {phase.value: 0 for phase in sorted({t.phase for t in open_jobs})}
    for trail in open_jobs:
        left[trail.phase.value] += 1
    return {
        **dict(sorted(meters.ends.items())),
        **left,
        "refused": dict(sorted(meters.refusals.items())),
        "resumed": meters.resumed,
    }


def _evictions(meters: Meters) -> Document:
    causes: dict[str, int] = {}
    classes: dict[str, int] = {}
    for (qos, cause), number in sorted(meters.evictions.items()):
        causes[cause] = causes.get(cause, 0) + number
        classes[qos] = classes.get(qos, 0) + number
    periods = meters.periods
    total = periods.kept + periods.broken
    return {
        "total": sum(causes.values()),
        "by_cause": causes,
        "by_class": classes,
        "hour_eviction_rate": round(periods.broken / total, 5) if total else None,
    }


def _starvation(meters: Meters, until: datetime) -> Document:
    """longest_wait_s is of one queueing; a job may have had several before it ran at all."""
    found = judged(meters.entries, until)
    longest = max(found, key=lambda one: one.waited_s, default=None)
    trails = meters.trails
    return {
        "longest_wait_s": round(longest.waited_s, 1) if longest else 0.0,
        "job": trails[longest.job].row.job_id if longest else None,
        "bound_s": round(longest.bound_s, 1) if longest else 0.0,
        "beyond_bound": sum(one.beyond for one in found),
        "longest_without_running_s": round(
            max((t.longest_s for t in trails.values()), default=0), 1
        ),
    }


def _last_end(meters: Meters, first: float) -> float:
    ends = [t.ended for t in meters.trails.values() if t.ended]
    return round((max(ends) - START).total_seconds() - first, 1) if ends else 0.0


def _hours(seconds: float) -> float:
    return round(seconds / 3600, 2)
