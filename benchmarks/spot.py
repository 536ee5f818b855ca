"""How spot jobs fare under each way to admit them: one JSON line for each policy.

`make bench-spot` (a quarter of one model, minutes on one core), or all 4,278 nodes, ten minutes for
each policy, with
`make bench-spot ARGS="--scale 1 --models A100 A10 H800 GPU-series-1 GPU-series-2 A800 --days 1"`.
Replays made-up jobs (`spot_load`) and outages (`spot_outages`) on the nodes of a published cluster,
one pool for each GPU model, through the scheduler and requeue that run in the product.

fifo: spot jobs start in the order in which they came, whatever is free; nobody of them passes
another. skip: who fits may pass (the product without a quota). no_forecast: as skip, and spot jobs
leave what all others ask for now. forecast: they leave what others are expected to ask for.
forecast_10: the same with the target of 10 % evictions that is published; forecast_no_eta: without
feedback. Guaranteed jobs are served alike in all of them. Figures: docs/decisions/0079.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.spot_figures import Sums, Watch
from benchmarks.spot_load import DAY, MODELS, Shape, cluster, workload
from benchmarks.spot_outages import MEASURED, statistics, steps
from muster.cli.simulation.replay.engine import Engine
from muster.cli.simulation.replay.settings import Queueing, Settings, policy_with

POLICIES: dict[str, list[str]] = {
    "fifo": ["order=fifo_spot"],
    "skip": [],
    "no_forecast": ["spot_quota=no_forecast"],
    "forecast": ["spot_quota=forecast"],
    "forecast_10": ["spot_quota=forecast", "spot_evictions=0.1"],
    "forecast_no_eta": ["spot_quota=forecast", "spot_eta_min=1", "spot_eta_max=1"],
}

ALL = ["reserve_max_s=0"]
"""Room is kept for nobody, as in the published replays: a wide gang waits until there is enough."""

ROUND_EVERY_S = 60.0

COMPARED = (
    "eviction_rate",
    "eviction_rate_without_outages",
    "spot_queue_s",
    "lost_gpu_h",
    "guaranteed_queue_s",
)


def measure(policy: str, shape: Shape, options: argparse.Namespace, seed: int) -> dict[str, Any]:
    """Replay all pools under one policy."""
    began, sums, capacity, nodes_in_all = perf_counter(), Sums(), 0.0, 0
    for model in options.models:
        nodes = cluster(model, options.scale, shape)
        nodes_in_all += len(nodes)
        watch = Watch(options.learned * DAY, shape.days * DAY)
        settings = Settings(
            policy=policy_with([*ALL, *POLICIES[policy], *options.set]),
            queueing=Queueing(resumes=True),
            round_every_s=ROUND_EVERY_S,
        )
        jobs = workload(model, nodes, shape, seed)
        outages = steps(nodes, shape.days * DAY, seed)
        ended = Engine(jobs, settings, outages, [watch.hear]).run()
        ended.meters.close(ended.ended_at)
        sums.add(watch, ended.meters.trails.values())
        capacity += sum(node.gpus for node in nodes.values()) * (watch.last_s - watch.first_s)
    return {
        "bench": "spot",
        "policy": policy,
        **sums.line(capacity),
        "seed": seed,
        "scale": options.scale,
        "nodes": nodes_in_all,
        "gpus": round(capacity / ((shape.days - options.learned) * DAY)),
        "spot_load": shape.spot,
        "spot_nodes": shape.spot_nodes,
        "changes": options.set,
        "wall_s": round(perf_counter() - began, 1),
    }


def against(line: dict[str, Any], fifo: dict[str, Any] | None) -> dict[str, Any]:
    """Return a line with what it changes against fifo, in percent."""
    if fifo is None or line is fifo:
        return line
    return line | {f"{name}_vs_fifo": _change(line[name], fifo[name]) for name in COMPARED}


def _change(value: float, before: float) -> float | None:
    return round(100 * (value / before - 1), 1) if before else None


def main() -> int:
    """Print one line for each case, as soon as it is known."""
    options = _options().parse_args()
    outages = {"generated": statistics(1), "measured": MEASURED}
    print(json.dumps({"bench": "spot_outages", **outages}), flush=True)
    base = Shape(days=options.learned + options.days)
    for nodes in options.spot_nodes:
        for load in options.loads:
            for seed in options.seeds:
                _case(replace(base, spot=load, spot_nodes=nodes), options, seed)
    return 0


def _case(shape: Shape, options: argparse.Namespace, seed: int) -> None:
    fifo = None
    for policy in options.policies:
        line = measure(policy, shape, options, seed)
        fifo = line if policy == "fifo" else fifo
        print(json.dumps(against(line, fifo)), flush=True)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    names: Sequence[str] = list(POLICIES)
    parser.add_argument("--policies", nargs="+", choices=names, default=names)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=["H800"])
    parser.add_argument(
        "--scale", type=int, default=4, help="every so manieth node; 1 = all of them"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--days", type=float, default=7.0, help="that are counted")
    parser.add_argument("--learned", type=float, default=3.0, help="days before, not counted")
    parser.add_argument("--loads", type=float, nargs="+", default=[0.3], help="of spot jobs")
    parser.add_argument("--spot-nodes", type=float, nargs="+", default=[0.0], help="part of all")
    parser.add_argument("--set", nargs="+", default=[], help="of the policy: spot_horizon_h=2")
    return parser


if __name__ == "__main__":
    sys.exit(main())
