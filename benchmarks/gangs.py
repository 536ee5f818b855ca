"""How fast whole gangs are placed through the real bus: one JSON line for each case.

`make bench-gangs`, or `make bench-gangs ARGS="--cases b1 --nodes 125"`. Runs a nats-server that
syncs every write, and admission, scheduler, requeue and executor in processes of their own; only
the cluster is pretended. Measured from just before a request is published to its `scheduled` event
in the log. The peers' figures beside ours are those of `gangs_peers`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import signal
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog
from nats.aio.client import Client

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import gangs_peers
from benchmarks.gangs_client import Outside, gang, outside
from benchmarks.gangs_queue import enqueue
from benchmarks.gangs_stack import GPUS, ROOT, Stack, stack
from benchmarks.gangs_table import put_into, table
from benchmarks.log_server import opened

NODES = (125, 1000)
RUNS = 5
QUEUED, LONG_QUEUE, SHAPES = 10_000, 100_000, 50
READY_S, PLACED_S, QUEUED_S = 120.0, 60.0, 400.0
CASE_S = 600.0
QUIET_S = 1.0


@dataclass(frozen=True, slots=True)
class Bench:
    """One stack with a client, ready."""

    nodes: int
    stack: Stack
    outside: Outside
    options: argparse.Namespace

    def waited_ms(self, jobs: Sequence[str], event: str = "scheduled") -> list[float]:
        """Return how long each job waited for its first event of a kind, shortest first."""
        seen, asked = self.outside.watcher.seen, self.outside.asked
        return sorted((seen[job][event] - asked[job]) * 1000 for job in jobs)

    async def run(self, specs: Sequence[dict[str, object]]) -> list[str]:
        """Submit jobs that fit, and wait until they run."""
        jobs = await self.outside.submit(specs)
        await self.outside.watcher.all(jobs, "started", PLACED_S)
        return jobs


Line = dict[str, object]
Case = Callable[[Bench], Awaitable[Line]]


def _percentile(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))]


def _times(values: Sequence[float]) -> Line:
    ordered = sorted(values)
    return {
        "p50_ms": round(statistics.median(ordered), 1),
        "p99_ms": round(_percentile(ordered, 0.99), 1),
    }


async def _throughput(bench: Bench, count: int, workers: int, gpus: int) -> Line:
    """Submit so many equal gangs; those that fit must be placed, and no other."""
    fits = min(count, bench.nodes * (GPUS // gpus) // workers)
    watcher = bench.outside.watcher
    before = watcher.with_event("scheduled")
    jobs = await bench.outside.submit([gang(workers, gpus)] * count)

    def placed() -> list[str]:
        return [job for job in jobs if "scheduled" in watcher.seen[job]]

    await watcher.until(lambda: len(placed()) >= fits, PLACED_S, f"{fits} gangs placed")
    await watcher.until(lambda: _started(bench, jobs) >= fits, PLACED_S, f"{fits} gangs started")
    await asyncio.sleep(QUIET_S)
    found = placed()
    assert len(found) == fits, f"{len(found)} gangs were placed where {fits} fit"
    assert watcher.with_event("scheduled") == before | set(found)
    first = min(bench.outside.asked[job] for job in jobs)
    last = max(watcher.seen[job]["scheduled"] for job in found)
    running = max(watcher.seen[job]["started"] for job in found)
    return {
        "gangs": count,
        "placed": fits,
        "gangs_per_s": round(fits / (last - first), 1),
        **_times(bench.waited_ms(found)),
        "gangs_touched": watcher.counts["preempted"],
        "all_placed_s": round(last - first, 2),
        "all_started_s": round(running - first, 2),
    }


def _started(bench: Bench, jobs: Sequence[str]) -> int:
    return sum("started" in bench.outside.watcher.seen[job] for job in jobs)


async def b1(bench: Bench) -> Line:
    """100 gangs of ten workers with one GPU each."""
    return await _throughput(bench, 100, 10, 1)


async def b2(bench: Bench) -> Line:
    """200 gangs of eight whole nodes each: there is room for a part of them."""
    return await _throughput(bench, 200, 8, GPUS)


async def preempt(bench: Bench) -> Line:
    """A full cluster of low gangs of four nodes, and a high one of sixteen; several times over."""
    watcher, outside = bench.outside.watcher, bench.outside
    low = gang(4, GPUS, priority="low")
    await bench.run([low] * (bench.nodes // 4))
    scheduled, started, touched = [], [], []
    for _ in range(bench.options.runs):
        before = watcher.with_event("preempted")
        high = await bench.run([gang(16, GPUS, priority="high")])
        scheduled += bench.waited_ms(high)
        started += bench.waited_ms(high, "started")
        victims = watcher.with_event("preempted") - before
        touched.append(len(victims))
        await outside.stop([*high, *victims])
        await bench.run([low] * (16 // 4))
    return {
        "gangs": bench.nodes // 4,
        "runs": len(scheduled),
        **_times(scheduled),
        "gangs_touched": touched[0] if len(set(touched)) == 1 else touched,
        "started_p50_ms": round(statistics.median(started), 1),
        "started_p99_ms": round(_percentile(sorted(started), 0.99), 1),
    }


async def behind_unfit(bench: Bench) -> Line:
    """A full cluster but for four GPUs, a long queue of jobs of eight, and one of two GPUs."""
    watcher, outside = bench.outside.watcher, bench.outside
    full, rest = divmod(bench.nodes - 1, 27)
    await bench.run([gang(27, GPUS)] * full + [gang(1, GPUS)] * rest + [gang(1, GPUS - 4)])
    began = time.perf_counter()
    queued = await outside.submit([gang(1, GPUS)] * bench.options.queued)
    asked_s = time.perf_counter() - began
    await watcher.all(queued, "admitted", QUEUED_S)
    queued_s = time.perf_counter() - began
    waited = []
    for _ in range(bench.options.runs):
        small = await bench.run([gang(1, 2)])
        waited += bench.waited_ms(small)
        await outside.stop(small)
    placed = watcher.with_event("scheduled") & set(queued)
    assert not placed, f"{len(placed)} jobs were placed that cannot fit"
    return {
        "queued": len(queued),
        "runs": len(waited),
        **_times(waited),
        "gangs_touched": watcher.counts["preempted"],
        "asked_s": round(asked_s, 1),
        "queued_s": round(queued_s, 1),
    }


async def takeover(bench: Bench) -> Line:
    """A scheduler that starts with a long queue in the log: from the log, and from a checkpoint."""
    full, rest = divmod(bench.nodes - 1, 27)
    await bench.run([gang(27, GPUS)] * full + [gang(1, GPUS)] * rest + [gang(1, GPUS - 4)])
    stack = bench.stack
    await stack.stop()
    connection = await opened(stack.url, "queue")
    try:
        shapes = [gang(1 + n % 10, 8, priority=n + 1) for n in range(SHAPES)]
        await enqueue(connection, shapes, bench.options.long_queue)
        cold = await _start_over(bench, connection)
        file = stack.folder / "scheduler" / "scheduler-checkpoint.json"
        async with asyncio.timeout(PLACED_S):
            while not file.exists():
                await asyncio.sleep(0.1)
        used = stack.used().get("scheduler", {})
        await stack.stop()
        warm = await _start_over(bench, connection)
    finally:
        await connection.close()
    megabytes = used.get("mb", 0)
    return {
        "queued": bench.options.long_queue,
        "from_log_s": cold,
        "from_checkpoint_s": warm,
        "scheduler_mb": megabytes,
        "checkpoint_mb": round(file.stat().st_size / (1 << 20)),
    }


async def _start_over(bench: Bench, connection: Client) -> float:
    """Start a scheduler while a job waits that fits; return the seconds until it is placed."""
    (small,) = await enqueue(connection, [gang(1, 2)], 1)
    async with outside(bench.stack.url, only_new=True) as client:
        began = time.perf_counter()
        bench.stack.start(
            "scheduler", "muster.scheduler.service", MUSTER_SCHEDULER_CHECKPOINT_S="2"
        )
        await client.watcher.all([small], "scheduled", QUEUED_S)
        return round(client.watcher.seen[small]["scheduled"] - began, 2)


CASES: dict[str, tuple[Case, tuple[int, ...]]] = {
    "b1": (b1, NODES),
    "b2": (b2, NODES),
    "preempt": (preempt, (128,)),
    "behind_unfit": (behind_unfit, (1000,)),
    "takeover": (takeover, (1000,)),
}
"""Each with the sizes of cluster on which it is measured."""


async def measure(name: str, nodes: int, options: argparse.Namespace) -> Line:
    """Run one case on a stack of its own."""
    async with asyncio.timeout(CASE_S), stack(nodes, sync=options.sync) as running:
        async with outside(running.url) as client:
            try:
                await _ready(client, nodes)
                line = await CASES[name][0](Bench(nodes, running, client, options))
            except (TimeoutError, AssertionError) as error:
                raise SystemExit(f"{name}: {running.ended() or error}") from error
        line["processes"] = running.used()
    return {"bench": "gangs", "case": name, "nodes": nodes} | line | gangs_peers.beside(name, nodes)


async def _ready(client: Outside, nodes: int) -> None:
    """Wait for every node, and let a job go through everything once."""
    watcher = client.watcher
    await watcher.until(lambda: watcher.nodes >= nodes, READY_S, f"{nodes} nodes joined")
    jobs = await client.submit([gang(2, 1)])
    await watcher.all(jobs, "started", READY_S)
    await client.stop(jobs)
    await watcher.all(jobs, "stopped", READY_S)


async def main() -> None:
    """Print the lines."""
    options = _options()
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    lines = []
    for name in options.cases:
        for nodes in options.nodes or CASES[name][1]:
            lines.append(await measure(name, nodes, options))
            print(json.dumps(lines[-1]), flush=True)
    if options.table:
        print(table(lines, options.table))
    if options.readme:
        put_into(ROOT, lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--nodes", nargs="*", type=int, help="instead of each case's own")
    parser.add_argument("--runs", type=int, default=RUNS, help="of preempt and behind_unfit")
    parser.add_argument("--queued", type=int, default=QUEUED, help="of behind_unfit")
    parser.add_argument("--long-queue", type=int, default=LONG_QUEUE, help="of takeover")
    parser.add_argument("--table", choices=("en", "zh"), help="in the end, as Markdown")
    parser.add_argument("--readme", action="store_true", help="replace the tables there")
    parser.add_argument("--sync", choices=("always", "default"), default="always")
    return parser.parse_args()


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    try:
        asyncio.run(main())
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(130)
