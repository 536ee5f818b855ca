"""How long one round takes: one JSON line for each case and size.

`make bench-round`, or `make bench-round ARGS=--quick`. What is measured is what a leader does in
one turn: freeze the fold, plan, build the batch; nothing is written. The garbage collector is set
as in every service. cold_ms: a round that has no round before it to remember.

deep_queue: a hundred thousand queued jobs of fifty shapes on 4,278 nodes of six models (the counts
of Alibaba's published spot cluster); one node changes before each round. bytes_per_queued_job: by
how much the memory of the fold grew. hard_cycle: a gang of half-node workers on full nodes.
reclaim: one job of half the nodes, on nodes full of jobs of one GPU; it needs more events than one
batch takes (it would go in waves), so the limit is lifted and the search is what is measured.
peer: others on two cores.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.round_world import World, demand
from muster.domain.demand import Demand, ResourceClass
from muster.domain.edges import Owner
from muster.domain.nodes import NodeCordoned, NodeUncordoned
from muster.runtime.collector import calm_collector
from muster.scheduler.core.memory import Memory
from muster.scheduler.core.policy import Policy

CLUSTER = (
    ("A100", 432, 8, 128),
    ("A10", 2494, 1, 128),
    ("series-1", 902, 1, 192),
    ("H800", 219, 8, 192),
    ("series-2", 122, 8, 192),
    ("series-1", 77, 8, 192),
    ("A800", 22, 8, 128),
    ("series-1", 10, 4, 192),
)
"""Model, nodes, GPUs and CPU cores of each."""

TENANTS = ("acme", "bolt", "core")
MODELS = ("A100", "A10", "series-1", "H800", "series-2", None)
CLASSES = (*[ResourceClass.ON_DEMAND] * 3, ResourceClass.SPOT, ResourceClass.IDLE)

UNBOUND = Policy(max_decisions=10**6, max_looks=10**9, max_evictions_per_minute=10**6)


@dataclass(frozen=True, slots=True)
class Took:
    """Milliseconds of one round: on the wall, and of this process's CPU. evicted: so many jobs."""

    wall: float
    cpu: float
    evicted: int


def resident() -> int:
    """Return the bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def timed(world: World, policy: Policy) -> Took:
    """Take one round."""
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    made, _ = world.round(policy)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert made.unreached == 0, "the round was cut short"
    return Took(wall * 1e3, cpu * 1e3, made.preempted)


def middle(rounds: list[Took]) -> float:
    """Return the median on the wall."""
    return round(median(one.wall for one in rounds), 1)


def tell(case: str, nodes: int, queued: int, rounds: list[Took], **more: object) -> None:
    """Print one line. cpu_p50_ms tells how much of it a busy machine has added."""
    walls = [one.wall for one in rounds]
    line = {
        "bench": "round",
        "case": case,
        "nodes": nodes,
        "queued": queued,
        "p50_ms": middle(rounds),
        "p99_ms": round(quantiles(walls, n=100, method="inclusive")[98], 1),
        "cpu_p50_ms": round(median(one.cpu for one in rounds), 1),
        "rounds": len(rounds),
    }
    print(json.dumps({**line, **more}), flush=True)


def change(world: World, node: str, number: int) -> None:
    """Close a node, or open it again."""
    world.clock.elapsed += 1
    fact = NodeUncordoned if number % 2 else NodeCordoned
    world.about_node(node, fact(by="operator", request=f"r{number}"), Owner.ADMISSION)


# --- a deep queue --------------------------------------------------------------------------------


def shapes(dice: Random) -> list[Demand]:
    """Return fifty demands. Three of them could evict many, and not enough."""
    found = [demand(300, 8, "A100", priority=70 + extra) for extra in range(3)]
    while len(found) < 50:
        model = dice.choice(MODELS)
        gpus = 1 if model == "A10" else dice.choice([1, 2, 4, 8])
        workers, kind = dice.choice([1, 1, 2, 4, 8, 16]), dice.choice(CLASSES)
        made = demand(workers, gpus, model, kind, dice.choice([10, 50]))
        if made not in found:
            found.append(made)
    return found


def filled(dice: Random) -> tuple[World, list[str]]:
    """Return a pool that is full, and the names of its nodes."""
    world, names = World(), list[str]()
    for model, count, gpus, cpus in CLUSTER:
        for _ in range(count):
            name = f"n{len(names):05d}"
            world.join(name, gpus, model, cpus)
            names.append(name)
            _fill(world, dice, name, gpus, model)
    return world, names


def _fill(world: World, dice: Random, name: str, gpus: int, model: str) -> None:
    left = gpus
    while left:
        need = min(left, dice.choice([1, 2, 4, 8, 8, 8]))
        wanted = demand(
            1, need, model, priority=dice.choice([50, 90]), guarantee=dice.random() < 0.3
        )
        since = -dice.randint(100, 100_000)
        world.run(wanted, {name: ["worker-0"]}, since, dice.choice(TENANTS))
        left -= need


def deep_queue(queued: int, rounds: int) -> None:
    """One node changes, and a round goes through everything."""
    dice = Random(1)
    world, names = filled(dice)
    wanted = shapes(dice)
    gc.collect()
    before = resident()
    for number in range(queued):
        # over the ten hours before the start, so that no deadline has passed
        entered = -36_000 + number * 35_000 / queued
        world.enqueue(wanted[number % len(wanted)], entered, dice.choice(TENANTS))
        if number % 1000 == 0:
            world.tidy()
    world.tidy()
    gc.collect()
    grew = resident() - before
    calm_collector()
    cold = timed(world, Policy())
    took: list[Took] = []
    for number in range(rounds):
        change(world, names[number // 2 * 37 % len(names)], number)
        took.append(timed(world, Policy()))
    tell(
        "deep_queue",
        len(names),
        queued,
        took,
        running=len(world.pool.jobs) - queued,
        lines=world.lines,
        cold_ms=round(cold.wall, 1),
        bytes_per_queued_job=round(grew / queued),
    )


# --- one that needs others to leave --------------------------------------------------------------


def pressed(nodes: int, each: int, gpus: int, wanted: Demand) -> World:
    """Return a pool full of low jobs, `each` on a node, and one job that wants their room."""
    world, dice = World(), Random(nodes)
    for number in range(nodes):
        name = f"n{number:05d}"
        world.join(name, 8, "A100")
        for _ in range(each):
            low = demand(1, gpus, "A100", priority=10)
            world.run(low, {name: ["worker-0"]}, -dice.randint(100, 100_000), dice.choice(TENANTS))
    world.enqueue(wanted, -60)
    return world


def press(case: str, world: World, nodes: int, rounds: int, policy: Policy, **more: object) -> None:
    """Time rounds after a change of one node, and rounds that have nothing to remember."""
    warm: list[Took] = []
    cold: list[Took] = []
    calm_collector()
    for number in range(rounds):
        world.pool.memory = Memory()
        cold.append(timed(world, policy))
        change(world, "n00000", number)
        warm.append(timed(world, policy))
    gc.unfreeze()
    more = {"cold_p50_ms": middle(cold), "evicted": warm[-1].evicted, **more}
    tell(case, nodes, 1, warm, **more)


def main() -> None:
    """Run the cases that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--case", choices=["deep_queue", "hard_cycle", "reclaim"])
    asked = parser.parse_args()
    quick, case = asked.quick, asked.case
    if case in {None, "hard_cycle"}:
        world = pressed(1000, 2, 4, demand(200, 4, "A100", priority=90))
        press("hard_cycle", world, 1000, 5 if quick else 20, Policy(), peer="Kueue 294-444")
    if case in {None, "reclaim"}:
        peers = {500: "KAI 8970", 1000: "KAI: not done in 40 min"}
        for nodes in (10, 100, 500, 1000) if quick else (10, 100, 500, 1000, 4000):
            world = pressed(nodes, 8, 1, demand(nodes // 2, 8, "A100", priority=90))
            press("reclaim", world, nodes, 3 if quick else 5, UNBOUND, peer=peers.get(nodes))
    if case in {None, "deep_queue"}:
        deep_queue(10_000 if quick else 100_000, 20 if quick else 60)


if __name__ == "__main__":
    main()
