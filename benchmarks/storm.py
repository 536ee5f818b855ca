"""A storm of reclaims through the real bus: one JSON line for each case.

`make bench-storm`, or `make bench-storm ARGS="--cases stock --nodes 1000"`. Every node is spot and
full with one job. Then all are taken back: by a notice for each node, spread over ten seconds or at
once; or by stock that falls to zero, one request. Runs a nats-server that syncs every write, and
admission, scheduler, requeue and executor in processes of their own; only the cluster is pretended.

Checked: each job is evicted once and queued once, none is lost, and when half of the nodes come
back as many run again as there is room for.
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
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog
from nats.aio.msg import Msg

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.gangs_client import Outside, Watcher, gang, outside
from benchmarks.gangs_stack import GPUS, SERVICES, Stack, stack
from muster.contracts import subjects

NODES = (200, 1000)
SPREAD_S = 10.0
NOTICE_S = 60
READY_S, STORM_S, CASE_S = 180.0, 120.0, 600.0
QUIET_S = 2.0

Line = dict[str, object]


@dataclass(slots=True)
class Witness:
    """What became of each job and node, read from the log beside the watcher's own notes.

    rounds: evictions of each round that had some. told: node -> when its job was told to leave.
    """

    rounds: list[int] = field(default_factory=list)
    told: dict[str, float] = field(default_factory=dict)
    times: dict[tuple[str, str], int] = field(default_factory=dict)

    def note(self, message: Msg) -> None:
        """Take in one message of the log."""
        address = subjects.parse(message.subject)
        if address.event not in {"decided", "preempted", "requeued"}:
            return
        if address.event == "requeued":
            self._count(address.names[-1], "requeued")
            return
        detail: dict[str, Any] = json.loads(message.data)["data"]["detail"]
        if address.event == "decided" and detail["preempted"]:
            self.rounds.append(detail["preempted"])
        elif address.event == "preempted":
            self._count(address.names[-1], "preempted")
            self.told |= dict.fromkeys(detail["nodes"], time.perf_counter())

    def _count(self, job: str, event: str) -> None:
        self.times[job, event] = self.times.get((job, event), 0) + 1


class Watching(Watcher):
    """A watcher whose messages a witness reads too."""

    def __init__(self) -> None:
        super().__init__()
        self.witness = Witness()

    async def receive(self, message: Msg) -> None:
        """See Watcher."""
        self.witness.note(message)
        await super().receive(message)


@dataclass(frozen=True, slots=True)
class Storm:
    """One stack full of spot jobs. said: node -> when its notice was about to be published."""

    nodes: tuple[str, ...]
    jobs: tuple[str, ...]
    stack: Stack
    outside: Outside
    watcher: Watching
    said: dict[str, float] = field(default_factory=dict)

    async def notice(self, node: str) -> None:
        """Say that one node goes."""
        self.said[node] = time.perf_counter()
        await self.outside.ask("reclaim_node", node=node, notice_s=NOTICE_S)


async def spread(storm: Storm) -> None:
    """A notice for each node, one after the other."""
    pause = SPREAD_S / len(storm.nodes)
    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for number, node in enumerate(storm.nodes):
            await asyncio.sleep(max(0.0, began + number * pause - time.perf_counter()))
            group.create_task(storm.notice(node))


async def at_once(storm: Storm) -> None:
    """All notices at the same time."""
    await asyncio.gather(*map(storm.notice, storm.nodes))


async def killed(storm: Storm) -> None:
    """As `spread`; every service but the executor is killed in the middle, and started again."""

    async def kill() -> None:
        for number, name in enumerate(SERVICES):
            await asyncio.sleep(SPREAD_S / (len(SERVICES) + 1) if number else SPREAD_S / 4)
            storm.stack.processes[name].kill()
            await asyncio.to_thread(storm.stack.processes[name].wait)
            storm.stack.start(name, f"muster.{name}.service")

    async with asyncio.TaskGroup() as group:
        group.create_task(spread(storm))
        group.create_task(kill())


async def stock(storm: Storm) -> None:
    """One word of the provider: none is left."""
    storm.said.update(dict.fromkeys(storm.nodes, time.perf_counter()))
    await _say_stock(storm, 0)


async def _say_stock(storm: Storm, gpus: int) -> None:
    item = {"zone": "default", "gpu_model": "virtual"}
    await storm.outside.ask("set_stock", **item, gpus=gpus, notice_s=NOTICE_S)


async def half_back_nodes(storm: Storm) -> None:
    """Half of the nodes serve again."""
    back = storm.nodes[: len(storm.nodes) // 2]
    await asyncio.gather(*(storm.outside.ask("uncordon_node", node=node) for node in back))


async def half_back_stock(storm: Storm) -> None:
    """Half of the stock is there again."""
    await _say_stock(storm, GPUS * (len(storm.nodes) // 2))


Act = Callable[[Storm], Awaitable[None]]

CASES: dict[str, tuple[Act, Act]] = {
    "spread": (spread, half_back_nodes),
    "at_once": (at_once, half_back_nodes),
    "stock": (stock, half_back_stock),
    "killed": (killed, half_back_nodes),
}
"""How capacity goes, and how half of it comes back."""


async def measure(name: str, nodes: int) -> Line:
    """Run one case on a stack of its own."""
    takes, gives = CASES[name]
    async with asyncio.timeout(CASE_S), _full(nodes) as storm:
        watcher, jobs, half = storm.watcher, storm.jobs, nodes // 2
        began = time.perf_counter()
        await takes(storm)
        await watcher.all(jobs, "requeued", STORM_S)
        line = _line(storm, began)
        began = time.perf_counter()
        before = watcher.counts["started"]
        await gives(storm)
        await watcher.until(
            lambda: watcher.counts["started"] >= before + half, STORM_S, f"{half} jobs run again"
        )
        back_ms = round((time.perf_counter() - began) * 1000)
        await asyncio.sleep(QUIET_S)
        again = watcher.counts["started"] - before
        assert again == half, f"{again} jobs run again, and there is room for {half}"
        _once(storm)
        line |= {"back": half, "back_ms": back_ms, "processes": storm.stack.used()}
    return {"bench": "storm", "case": name, "nodes": nodes} | line


@asynccontextmanager
async def _full(nodes: int) -> AsyncIterator[Storm]:
    """Have a stack whose every node is full with one spot job."""
    spec = gang(1, GPUS)
    spec["resource"] = {"type": "spot", "replicas": 1, "gpus_per_replica": GPUS}
    async with stack(nodes, spot=True) as running, outside(running.url, Watching()) as client:
        watcher = client.watcher
        assert isinstance(watcher, Watching)
        try:
            await watcher.until(lambda: watcher.nodes >= nodes, READY_S, f"{nodes} nodes joined")
            jobs = await client.submit([spec] * nodes)
            await watcher.all(jobs, "started", READY_S)
            names = tuple(f"n{number:04d}" for number in range(nodes))
            yield Storm(names, tuple(jobs), running, client, watcher)
        except (TimeoutError, AssertionError) as error:
            raise SystemExit(f"storm: {running.ended() or error}") from error


def _line(storm: Storm, began: float) -> Line:
    seen, witness = storm.watcher.seen, storm.watcher.witness
    waits = sorted((at - storm.said[node]) * 1000 for node, at in witness.told.items())

    def last(event: str) -> int:
        return round((max(seen[job][event] for job in storm.jobs) - began) * 1000)

    return {
        "jobs": len(storm.jobs),
        "plans": len(witness.rounds),
        "largest_plan": max(witness.rounds),
        "evicted": storm.watcher.counts["preempted"],
        "requeued": storm.watcher.counts["requeued"],
        "all_evicting_ms": last("preempted"),
        "all_queued_ms": last("requeued"),
        "told_p50_ms": round(statistics.median(waits), 1),
        "told_max_ms": round(waits[-1], 1),
    }


def _once(storm: Storm) -> None:
    """Raises AssertionError unless each job was evicted and queued once."""
    times = storm.watcher.witness.times
    for event in ("preempted", "requeued"):
        odd = [job for job in storm.jobs if times.get((job, event)) != 1]
        assert not odd, f"{len(odd)} jobs were {event} more than once, or never"


async def main() -> None:
    """Print the lines."""
    options = _options()
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    for nodes in options.nodes:
        for name in options.cases:
            print(json.dumps(await measure(name, nodes)), flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--nodes", nargs="*", type=int, default=list(NODES))
    return parser.parse_args()


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    try:
        asyncio.run(main())
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(130)
