"""The best set of victims that there is, where the candidates are few.

Goes through the sets from the cheapest up, so the first one that is enough is the best: fewest
processes ended in the highest tier, then in the next; fewest placements on paper taken, in the same
order; then the lowest priorities, the least lost work, and the lot. Knows nothing of nodes: whether
a set is enough, it asks; how often, is bounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from muster.scheduler.core.jobs import JobKey

TIERS = (2, 1, 0)

Price = tuple[tuple[int, ...], tuple[int, ...], int, int, float, tuple[str, ...]]
"""Grows with every piece that is added to a set."""

NOTHING: Price = ((0, 0, 0), (0, 0, 0), 0, 0, 0.0, ())


@dataclass(frozen=True, slots=True)
class Piece:
    """A job that may have to go. runs: it has processes; else it is placed on paper alone."""

    key: JobKey
    runs: bool
    tier: int
    priority: int
    work: float
    lot: str


def price_of(pieces: Sequence[Piece]) -> Price:
    """Return what a set costs. Does not depend on the order of its pieces."""
    return (
        tuple(sum(one.runs and one.tier == tier for one in pieces) for tier in TIERS),
        tuple(sum(not one.runs and one.tier == tier for one in pieces) for tier in TIERS),
        sum(one.priority for one in pieces),
        max((one.priority for one in pieces), default=0),
        math.fsum(one.work for one in pieces),
        tuple(sorted(one.lot for one in pieces)),
    )


def best_set(
    pieces: Sequence[Piece],
    enough: Callable[[frozenset[JobKey]], bool],
    below: Price | None,
    tries: int,
) -> frozenset[JobKey] | None:
    """Return the cheapest set that is enough, None if none is or none was found in so many tries.

    below: a set of this price is known already; only a cheaper one is of interest.
    """
    order = sorted(pieces, key=lambda one: price_of([one]))
    heap: list[tuple[Price, tuple[int, ...]]] = [(NOTHING, ())]
    while heap and tries:
        _, indices = heappop(heap)
        chosen = frozenset(order[index].key for index in indices)
        tries -= 1
        if enough(chosen):
            return chosen
        for index in range(indices[-1] + 1 if indices else 0, len(order)):
            more = (*indices, index)
            price = price_of([order[each] for each in more])
            if below is None or price < below:
                heappush(heap, (price, more))
    return None
