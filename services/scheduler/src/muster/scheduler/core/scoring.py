"""Which of the nodes that would do is taken: the policies of placement, each a `Taste`.

A taste says how good a node would be after a worker is put there, the smaller the better, and on
which card a worker is put that shares one. It sees the kind of a node and what the pool usually
runs, never names: of equals the first by name is taken by who asks. Made by `round`; without
state but for a memory of what it has worked out.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, Protocol

from muster.scheduler.core.amounts import CARD, Need, Room
from muster.scheduler.core.rooms import Kind

POLICIES = ("default", "fgd", "best_fit", "first_fit")
"""The names of the policies that a pool may have."""


class Typical(NamedTuple):
    """A shape that the pool usually runs. models: None = any. weight: its share of all."""

    need: Need
    models: frozenset[str] | None
    weight: float


class Market(NamedTuple):
    """What a taste may know of a pool: its usual shapes, cards by model, its largest node."""

    shapes: tuple[Typical, ...] = ()
    cards: tuple[tuple[str, int], ...] = ()
    most_cpus: int = 1
    most_gpus: int = 1


class Put(NamedTuple):
    """A node after workers were put there. lefts: of the card that each shares, before it came."""

    room: Room
    lefts: tuple[int, ...] = ()


class Worth(Protocol):
    """What a policy adds: how good a node is with `after` left, compared with `kind` before."""

    def __call__(self, kind: Kind, after: Room, need: Need) -> float:
        """Return the worth, the smaller the better."""
        ...


@dataclass(slots=True)
class Taste:
    """name: equal for equal tastes. every_card: a worker that shares may go on any card, the one
    with the best worth; otherwise on the tightest."""

    name: str
    worth: Worth
    every_card: bool = False
    _known: dict[tuple[Kind, Need, int], tuple[float, Put]] = field(default_factory=dict)

    def put(self, kind: Kind, need: Need, times: int = 1) -> tuple[float, Put] | None:
        """Return the worth of putting so many workers on a node, and how; None if they do not fit.

        Every worker that shares a card goes on the one that is best for it alone.
        """
        free = kind.free
        if need.gpus > free.gpus > 0 or (need.cpus and need.cpus > free.cpus):
            return None  # most nodes are full: quickly said
        key = kind, need, times
        found = self._known.get(key)
        if found is None and free.holds(need) >= times:
            if len(self._known) > MEMORY:
                self._known.clear()
            found = self._known[key] = self._put(kind, need, times)
        return found

    def _put(self, kind: Kind, need: Need, times: int) -> tuple[float, Put]:
        free = kind.free
        if not need.milli:
            after = free.less(need, times)
            return self.worth(kind, after, need), Put(after)
        lefts = []
        rest = free
        for _ in range(times):
            rest, left = self._share(Kind(rest, kind.gpu_model), need)
            lefts.append(left)
        return self.worth(kind, rest, need), Put(rest, tuple(lefts))

    def _share(self, kind: Kind, need: Need) -> tuple[Room, int]:
        beside = kind.free.less(need)
        lefts = list(dict.fromkeys(left for left in kind.free.cards if left >= need.milli))
        if kind.free.gpus > 0:
            lefts.append(CARD)
        if not self.every_card:
            return beside.shared(lefts[0], need.milli), lefts[0]
        rooms = [(beside.shared(left, need.milli), left) for left in lefts]
        return min(rooms, key=lambda each: (self.worth(kind, each[0], need), each[1]))


MEMORY = 50_000
"""So much a taste remembers."""


def taste(policy: str, market: Market) -> Taste:
    """Return the taste of a policy in a pool. The same pool gets the same one, with its memory."""
    return _taste(policy, market if policy in _OF_THE_MARKET else Market())


@lru_cache(maxsize=8)
def _taste(policy: str, market: Market) -> Taste:
    match policy:
        case "first_fit":
            return Taste(policy, _anything)
        case "best_fit":
            return Taste(policy, _BestFit(market.most_cpus, market.most_gpus))
        case "fgd":
            return Taste(policy, _Gradient(Fragments(market.shapes)), every_card=True)
        case _:
            return Taste(policy, _Default(Fragments(market.shapes), prices(market)), True)


_OF_THE_MARKET = frozenset({"default", "fgd", "best_fit"})


def _anything(kind: Kind, after: Room, need: Need) -> float:
    return 0.0


@dataclass(frozen=True, slots=True)
class _BestFit:
    """What is left of CPU and GPUs, each as a part of the largest node, half and half."""

    most_cpus: int
    most_gpus: int

    def __call__(self, kind: Kind, after: Room, need: Need) -> float:
        left = after.cpus / self.most_cpus + after.milli / (self.most_gpus * CARD)
        return -float(int((1 - left / 2) * 100))


class Fragments:
    """How much of what is free on a node the usual shapes cannot use, in thousandths of a card.

    As in "Beware of Fragmentation" (USENIX ATC'23): for each usual shape, weighted by how usual it
    is, all free cards count if it cannot run there (no GPU asked for, another model, too few CPU
    cores or too few cards), otherwise those with less left than it asks for.
    """

    def __init__(self, shapes: Sequence[Typical]) -> None:
        self._shapes = shapes
        self._cpus = sorted({shape.need.cpus for shape in shapes})
        self._groups: dict[str, tuple[tuple[Need, float], ...]] = {}
        self._total = sum(shape.weight for shape in shapes)
        self._known: dict[tuple[str, int, int, tuple[int, ...]], float] = {}

    def of(self, model: str, free: Room) -> float:
        """Return the fragments of a node."""
        cpus = bisect_right(self._cpus, free.cpus)
        key = model, cpus, free.gpus, free.cards
        found = self._known.get(key)
        if found is None:
            if len(self._known) > MEMORY:
                self._known.clear()
            found = self._known[key] = self._of(model, free)
        return found

    def _of(self, model: str, free: Room) -> float:
        total, unused = free.milli, self._total
        amount = 0.0
        gpus = max(0, free.gpus)
        for need, weight in self._on(model):
            if need.cpus > free.cpus:
                continue
            if need.milli:
                first = bisect_left(free.cards, need.milli)
                if first == len(free.cards) and not gpus:
                    continue
                small = sum(free.cards[:first])
            elif need.gpus > gpus:
                continue
            else:
                small = sum(free.cards)
            amount += weight * small
            unused -= weight
        return amount + max(0.0, unused) * total

    def _on(self, model: str) -> tuple[tuple[Need, float], ...]:
        if model not in self._groups:
            weights: dict[Need, float] = {}
            for need, models, weight in self._shapes:
                if (need.gpus or need.milli) and (models is None or model in models):
                    plain = Need(need.gpus, need.milli, need.cpus)
                    weights[plain] = weights.get(plain, 0.0) + weight
            self._groups[model] = tuple(sorted(weights.items()))
        return self._groups[model]


@dataclass(frozen=True, slots=True)
class _Gradient:
    """Fragmentation gradient descent: the least growth of fragments, in a hundred steps."""

    fragments: Fragments

    def __call__(self, kind: Kind, after: Room, need: Need) -> float:
        before = self.fragments.of(kind.gpu_model, kind.free)
        growth = self.fragments.of(kind.gpu_model, after) - before
        return -float(int(100 / (1 + math.exp(growth / CARD))))


def prices(market: Market) -> dict[str, float]:
    """Return for each model how much of the usual demand can go nowhere else, by its cards.

    1 = as much as its part of all cards. A shape that names several models counts for each.
    """
    cards = dict(market.cards)
    total = sum(cards.values())
    wanted: dict[str, float] = dict.fromkeys(cards, 0.0)
    demand = 0.0
    for need, models, weight in market.shapes:
        size = weight * (need.gpus * CARD + need.milli)
        demand += size
        served = [model for model in sorted(models or ()) if model in cards]
        room = sum(cards[model] for model in served)
        for model in served:
            if room and len(served) < len(cards):
                wanted[model] += size * cards[model] / room
    if not demand:
        return wanted
    return {m: wanted[m] / demand * total / cards[m] if cards[m] else 0.0 for m in cards}


@dataclass(frozen=True, slots=True)
class _Default:
    """The least growth of fragments, in steps; cards of a model that the usual demand can only
    find there cost more. Why, docs/decisions/0050 says."""

    fragments: Fragments
    prices: Mapping[str, float]

    def __call__(self, kind: Kind, after: Room, need: Need) -> float:
        before = self.fragments.of(kind.gpu_model, kind.free)
        growth = (self.fragments.of(kind.gpu_model, after) - before) / CARD
        scarce = self.prices.get(kind.gpu_model, 0.0) * (kind.free.milli - after.milli) / CARD
        left = after.milli / CARD
        return math.floor(growth / STEP + 0.5) * STEP + scarce + LEFT * left


STEP = 0.0351
"""Of the growth of fragments, in cards: smaller differences do not count."""
LEFT = 1.25e-6
"""How much a card counts that is left on the node: of equals the fullest is taken."""


def usual(counts: Iterable[tuple[Need, frozenset[str] | None, int]]) -> tuple[Typical, ...]:
    """Return the most frequent shapes that make up 95 % of all, with their share of these.

    Counts are rounded to powers of two first, so that the shapes, and with them the taste of a
    pool, change with its mix and not with every job.
    """
    summed: dict[tuple[Need, tuple[str, ...] | None], int] = {}
    for need, models, count in counts:
        key = need, tuple(sorted(models)) if models is not None else None
        summed[key] = summed.get(key, 0) + count
    return covering({key: 1 << round(math.log2(count)) for key, count in summed.items()})


def covering(counts: Mapping[tuple[Need, tuple[str, ...] | None], int]) -> tuple[Typical, ...]:
    """Return the most frequent shapes that make up 95 % of all, with their share of these."""
    total = sum(counts.values())
    chosen: list[tuple[tuple[Need, tuple[str, ...] | None], int]] = []
    covered = 0
    for key, count in sorted(
        counts.items(), key=lambda item: (-item[1], item[0][0], item[0][1] or ())
    ):
        if covered * 100 >= total * COVERED:
            break
        chosen.append((key, count))
        covered += count
    return tuple(
        Typical(need, frozenset(models) if models is not None else None, count / covered)
        for (need, models), count in chosen
    )


COVERED = 95
"""Per cent of the shapes that are looked at."""
