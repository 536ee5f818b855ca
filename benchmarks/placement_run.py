"""One run of the benchmark of placement: tasks arrive one by one, and the product places them."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from random import Random

from benchmarks.placement_data import Trace
from muster.domain.demand import Demand
from muster.scheduler.core.amounts import CARD, of_role, of_shape, room
from muster.scheduler.core.board import Board, claim_on
from muster.scheduler.core.market import asked_by
from muster.scheduler.core.placement import Asked, How, Placed, Shortfall, place
from muster.scheduler.core.rooms import Kind, Rooms, Site, Sites, gathered
from muster.scheduler.core.scoring import POLICIES as OF_THE_PRODUCT
from muster.scheduler.core.scoring import Fragments, Market, Taste, covering, taste

POLICIES = (*OF_THE_PRODUCT, "random")
"""`random` takes any node that will do: a baseline, no policy of the product."""

LOAD = 1.3
"""So much of the cluster is asked for."""

DRAWS = 40
"""So often a random node is drawn; then all nodes are looked at."""


@dataclass(frozen=True, slots=True)
class Result:
    """Per cent of all GPUs that are allocated when 100 % and 130 % are asked for; and fragments."""

    alloc_100: float
    alloc_130: float
    frag_130: float
    us_per_task: float


def size(task: Demand) -> int:
    """Return thousandths of cards that a task asks for."""
    role = task.roles[0]
    return role.gpus * CARD + role.gpu_milli


def arrivals(trace: Trace, seed: int) -> list[Demand]:
    """Return the tasks in the order in which they come, until the load is asked for."""
    dice = Random(seed)
    most = LOAD * sum(shape.gpus for shape in trace.nodes.values()) * CARD
    tasks = list(trace.tasks)
    asked = sum(size(task) for task in tasks)
    while True:
        more = dice.choice(trace.tasks)
        if asked + size(more) > most:
            break
        tasks.append(more)
        asked += size(more)
    dice.shuffle(tasks)
    return tasks


def market(trace: Trace) -> Market:
    """Return what the policies know: the shapes of the trace, and the cluster."""
    counts: Counter[tuple[object, ...]] = Counter()
    for task in trace.tasks:
        need, models = asked_by(task.roles[0])
        counts[need._replace(memory=0), tuple(sorted(models)) if models else None] += 1
    cards: Counter[str] = Counter()
    for shape in trace.nodes.values():
        cards[shape.gpu_model] += shape.gpus
    return Market(
        shapes=covering(dict(counts)),  # type: ignore[arg-type]
        cards=tuple(sorted(cards.items())),
        most_cpus=max(of_shape(shape).cpus for shape in trace.nodes.values()),
        most_gpus=max(shape.gpus for shape in trace.nodes.values()),
    )


class Cluster:
    """The cluster as it fills."""

    def __init__(self, trace: Trace, policy: str, seed: int) -> None:
        self._board = Board({name: of_shape(shape) for name, shape in trace.nodes.items()})
        self._sites = gathered(
            Site(name, shape, room(of_shape(shape))) for name, shape in trace.nodes.items()
        )
        self._names = sorted(trace.nodes)
        self._dice = Random(seed) if policy == "random" else None
        self._known = market(trace)
        dice = self._dice
        own = Taste("random", lambda *_: dice.random(), True) if dice else None
        self._how = How(own or taste(policy, self._known))
        self._count = 0
        self._fits: dict[int, dict[Kind, bool]] = {}

    def submit(self, task: Demand) -> bool:
        """Place a task, or drop it; tell which."""
        sites = self._sites if self._dice is None else self._drawn(task, self._dice)
        found = place(task.roles, sites, how=self._how)
        if isinstance(found, Shortfall):
            return False
        self._take(task, found)
        return True

    def _take(self, task: Demand, placed: Placed) -> None:
        self._count += 1
        cards = self._board.cards(placed.shares)
        self._board.claim(("t", str(self._count)), claim_on(placed, task, cards))
        for node in placed:
            self._sites.enter(node, self._board.free(node))

    def _drawn(self, task: Demand, dice: Random) -> Sites:
        """Return one random node on which a task fits, any if it fits on none."""
        asked = Asked(task.roles[0], of_role(task.roles[0]))
        known = self._fits.setdefault(id(task), {})
        kinds = self._sites.every.kinds

        def fits(node: str) -> bool:
            kind = kinds[node]
            if kind not in known:
                known[kind] = asked.count(kind) > 0
            return known[kind]

        drawn = (dice.choice(self._names) for _ in range(DRAWS))
        node = next((node for node in drawn if fits(node)), None)
        if node is None:
            node = dice.choice([name for name in self._names if fits(name)] or self._names)
        return Sites(Rooms({node: kinds[node]}))

    def fragments(self) -> float:
        """Return what the usual shapes cannot use of what is free, in thousandths of cards."""
        measure = Fragments(self._known.shapes)
        kinds = self._sites.every.names.items()
        return sum(measure.of(kind.gpu_model, kind.free) * len(names) for kind, names in kinds)


def run(trace: Trace, policy: str, seed: int) -> Result:
    """Let the tasks arrive."""
    cluster = Cluster(trace, policy, seed)
    capacity = sum(shape.gpus for shape in trace.nodes.values()) * CARD
    asked = allocated = 0
    at_100: int | None = None
    began, tasks = time.process_time(), 0
    for task in arrivals(trace, seed):
        if at_100 is None and asked + size(task) > capacity:
            at_100 = allocated
        if asked + size(task) > LOAD * capacity:
            break
        asked += size(task)
        tasks += 1
        if cluster.submit(task):
            allocated += size(task)
    spent = time.process_time() - began
    return Result(
        alloc_100=100 * (at_100 if at_100 is not None else allocated) / capacity,
        alloc_130=100 * allocated / capacity,
        frag_130=100 * cluster.fragments() / capacity,
        us_per_task=spent / max(1, tasks) * 1e6,
    )
