"""How much of a cluster the policies of placement fill: one JSON line a trace and policy.

`make bench-placement`, or `ARGS="--traces default --policies fgd default --seeds 3"` for a part.
The method is that of the FGD paper (USENIX ATC'23) on the cluster and the tasks of its "openb"
trace: all tasks, and more drawn from them, in a random order, until 130 % of the cluster's GPUs
are asked for; nothing departs, and what fits nowhere is dropped. The tasks go through the very
placement of the product. Published figures stand beside ours where there are any.

Reads the traces from the folder that MUSTER_TRACES names, or from a folder beside the project;
where the public originals are, docs/replay.md says.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import mean, pstdev

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.placement_data import NoTraces, Published, Trace, folder, published, trace
from benchmarks.placement_run import POLICIES, Result, run

TRACES = ("default", "gpuspec33", "multigpu20", "multigpu50")
FIRST_SEED = 42
SEEDS = 10


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", nargs="+", choices=TRACES, default=list(TRACES))
    parser.add_argument("--policies", nargs="+", choices=POLICIES, default=list(POLICIES))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--processes", type=int, default=2)
    return parser.parse_args()


def _one(root: Path, name: str, policy: str, seed: int) -> Result:
    return run(_trace(root, name), policy, seed)


_KNOWN: dict[str, Trace] = {}


def _trace(root: Path, name: str) -> Trace:
    if name not in _KNOWN:
        _KNOWN[name] = trace(root, name)
    return _KNOWN[name]


def _line(name: str, policy: str, results: list[Result], theirs: Published | None) -> str:
    line: dict[str, object] = {
        "bench": "placement",
        "trace": name,
        "policy": policy,
        "alloc_100": round(mean(one.alloc_100 for one in results), 2),
        "alloc_130": round(mean(one.alloc_130 for one in results), 2),
        "frag_130": round(mean(one.frag_130 for one in results), 2),
        "sd_100": round(pstdev(one.alloc_100 for one in results), 2),
        "seeds": len(results),
        "us_per_task": round(mean(one.us_per_task for one in results)),
    }
    if theirs is not None:
        line["published"] = theirs._asdict()
    return json.dumps(line)


def main() -> int:
    """Run it."""
    asked = _asked()
    try:
        root = folder()
    except NoTraces as why:
        print(why, file=sys.stderr)
        return 2
    known = published(root)
    began = time.perf_counter()
    with ProcessPoolExecutor(asked.processes) as pool:
        waiting = {
            (name, policy): [
                pool.submit(_one, root, name, policy, FIRST_SEED + n) for n in range(asked.seeds)
            ]
            for name in asked.traces
            for policy in asked.policies
        }
        for (name, policy), futures in waiting.items():
            results = [future.result() for future in futures]
            print(_line(name, policy, results, known.get((name, policy))), flush=True)
    print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
