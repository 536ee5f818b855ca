"""How long jobs wait under each order of the queue: one JSON line for each trace and policy.

`make bench-queue`, or `make bench-queue ARGS="--traces 3 --jobs 300"`. Replays the four Philly
traces (docs/replay.md says where they are; MUSTER_TRACES names their folder) on 64 GPUs, and on as
many as make the offered load 0.9. Figures of others stand beside ours where the folder has them:
`golden_` of another replay without overheads, `published_` of preemptive policies in papers.

fifo, fifo_skip, sjf: the plain orders; every job on demand, nobody is evicted. default: the same
jobs in our order. default_limits: the same, and jobs say how long they run. default_qos: with the
classes of the trace, auto-queue 12h/3 for spot jobs, and people who resume what is parked.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from muster.cli.simulation.replay.engine import Engine
from muster.cli.simulation.replay.figures import document
from muster.cli.simulation.replay.settings import Queueing, Settings, policy_with
from muster.cli.simulation.replay.workload import Cut, Row, read

TRACES = (1, 2, 3, 4)
NODES = 8
LOAD = 0.9
HALF_HOUR = 1800.0
"""Between two rounds where jobs are resumed every twelve hours: they wait for weeks here."""

PLAIN = {"fifo": "fifo", "fifo_skip": "backfill", "sjf": "sjf"}
"""Our name of an order, and what the golden replay calls it."""
PUBLISHED = ("SRTF", "SRSF", "Tiresias_L", "Muri_S")


Make = Callable[[list[str]], Settings]
"""Makes the settings of a policy, with changes of the scheduler's policy as `name=value`."""


def _default(**more: Any) -> Make:
    return lambda changes: Settings(policy=policy_with(changes), **more)


def _plain(order: str) -> Make:
    limits = order == "sjf"
    return lambda changes: Settings(policy=policy_with([f"order={order}", *changes]), limits=limits)


POLICIES: dict[str, Make] = {
    **{name: _plain(name) for name in PLAIN},
    "default": _default(),
    "default_limits": _default(limits=True),
    "default_qos": _default(queueing=Queueing(resumes=True), round_every_s=HALF_HOUR),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One replay. nodes None: as many as make the offered load what LOAD says."""

    trace: int
    policy: str
    nodes: int | None
    jobs: int | None
    changes: list[str]


def measure(case: Case, root: Path) -> dict[str, Any]:
    """Replay one case."""
    folder = root / "normalized" / f"philly_muri_trace{case.trace}"
    nodes_file = root / "normalized" / "philly_muri_nodes" / "nodes.csv"
    one_class = case.policy != "default_qos"
    cut = Cut(jobs=case.jobs, nodes=NODES, one_class=one_class)
    workload = read(folder, nodes_file, cut)
    nodes = case.nodes or _for_load(workload.rows)
    workload = read(folder, nodes_file, Cut(jobs=case.jobs, nodes=nodes, one_class=one_class))
    settings = POLICIES[case.policy](case.changes)
    found = document(Engine(workload, settings).run(), workload, settings, cut)
    starved, run = found["starvation"], found["run"]
    line = {
        "bench": "queue",
        "trace": f"philly{case.trace}",
        "policy": case.policy,
        "changes": case.changes,
        "avg_jct_s": found["jct_s"]["all"]["mean"],
        "avg_queue_s": found["queue_s"]["all"]["mean"],
        "p95_queue_s": found["queue_s"]["all"]["p95"],
        "longest_wait_s": starved["longest_wait_s"],
        "bound_s": starved["bound_s"],
        "beyond_bound": starved["beyond_bound"],
        "nodes": nodes,
        "jobs": len(workload.rows),
        "offered_load": found["workload"]["offered_load"],
        "makespan_s": found["makespan_s"],
        "alloc_percent": found["allocation"]["percent"],
        "rounds": found["rounds"],
        "wall_s": run["wall_s"],
        "cpu_s": run["cpu_s"],
    }
    if not one_class:
        line |= {
            "evictions": found["evictions"]["total"],
            "lost_gpu_hours": found["lost_gpu_hours"],
            "resumed": found["ends"]["resumed"],
            "avg_jct_by_class_s": {n: s["mean"] for n, s in found["jct_s"].items()},
        }
    if nodes == NODES and case.jobs is None:
        line |= _others(case, root, line["avg_jct_s"])
    return line


def _for_load(rows: Sequence[Row]) -> int:
    work = sum(row.gpu_count * row.duration_s for row in rows)
    return max(1, math.ceil(work / (8 * rows[-1].submit_s * LOAD)))


# --- figures of others -------------------------------------------------------------------------


def _others(case: Case, root: Path, ours: float) -> dict[str, Any]:
    found: dict[str, Any] = {}
    golden = _golden(root, f"trace{case.trace}/{PLAIN.get(case.policy)}")
    if golden is not None:
        found["golden_avg_jct_s"] = float(golden["avg_jct_s"])
        found["golden_avg_queue_s"] = float(golden["avg_first_wait_s"])
        found["jct_vs_golden"] = round(ours / float(golden["avg_jct_s"]), 4)
    return found | _published(root, f"trace{case.trace}")


def _golden(root: Path, name: str) -> dict[str, str] | None:
    rows = _rows(root / "golden" / "own_queue_replay.csv")
    return next((row for row in rows if row["trace_policy"] == name), None)


def _published(root: Path, trace: str) -> dict[str, float]:
    return {
        f"published_{row['policy'].lower()}_jct_s": float(row["value"])
        for row in _rows(root / "golden" / "muri_sigcomm22_published.csv")
        if row["trace"] == trace and row["metric"] == "avg_jct_s" and row["policy"] in PUBLISHED
    }


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# --- the run -----------------------------------------------------------------------------------


def folder() -> Path | None:
    """Return the folder of traces, if there is one."""
    named = os.environ.get("MUSTER_TRACES")
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    path = Path(named) if named else beside
    return path if (path / "normalized" / "philly_muri_trace1").is_dir() else None


def cases(options: argparse.Namespace) -> Iterator[Case]:
    """Yield what to replay, the quick ones first."""
    for nodes in options.nodes:
        for trace in sorted(options.traces, key=(3, 1, 4, 2).index):
            for policy in options.policies:
                yield Case(trace, policy, nodes, options.jobs, options.set)


def _nodes(text: str) -> int | None:
    return None if text == "scaled" else int(text)


def main() -> int:
    """Print one line for each case, as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, nargs="+", choices=TRACES, default=list(TRACES))
    parser.add_argument("--policies", nargs="+", choices=list(POLICIES), default=list(POLICIES))
    parser.add_argument("--nodes", type=_nodes, nargs="+", default=[NODES, None])
    parser.add_argument("--jobs", type=int, help="only the first so many of each trace")
    parser.add_argument("--set", nargs="+", default=[], help="of the policy: reserve_max_s=86400")
    options = parser.parse_args()
    root = folder()
    if root is None:
        print("bench-queue: skipped: set MUSTER_TRACES to a folder of traces (docs/replay.md)")
        return 0
    for case in cases(options):
        print(json.dumps(measure(case, root)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
