"""How much of spot capacity may be held: what is offered of it, and what is held of it already.

An item is a GPU model in a zone; its GPUs are those of spot nodes. Where nothing is recorded of an
item, its nodes alone tell. Made by `Round`, and changes with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations

from muster.domain.facts import Placement
from muster.domain.state import JobState
from muster.domain.stock import StockChanged
from muster.scheduler.core.amounts import CARD
from muster.scheduler.core.jobs import JobKey, key_of
from muster.scheduler.core.quota import NOBODY, Account, milli_of
from muster.scheduler.core.snapshot import Snapshot

Item = tuple[str, str]
"""(zone, GPU model)."""

EXACT = 12
"""Of so many jobs the best to give an item back are found by trying all choices."""


@dataclass(frozen=True, slots=True)
class Scarce:
    """An item that cannot give a job what it asks for. Thousandths of GPUs; used: by others."""

    zone: str
    gpu_model: str
    offered: int
    used: int
    asked: int


@dataclass(frozen=True, slots=True)
class Owed:
    """What is held of an item beyond what is offered, and until when it may stay."""

    item: Item
    milli: int
    deadline: datetime | None


@dataclass(frozen=True, slots=True)
class Holder:
    """A job that could give its part of an item back. tier: with holds on paper before all."""

    key: JobKey
    milli: int
    tier: int
    cost: tuple[float, str]


class Holdings:
    """What jobs hold of things of which there is only so much, counted by the nodes they are on.

    limits: thousandths of GPUs by item; one that is not named has no limit. places: the item of
    each node that has one. active: something is limited.
    """

    def __init__(self, limits: Mapping[Item, int], places: Mapping[str, Item]) -> None:
        self._limits = limits
        self.active = bool(limits)
        self._item = {node: item for node, item in places.items() if item in limits}
        self._accounts: dict[Item, Account] = {item: Account() for item in limits}
        self._where: dict[JobKey, dict[Item, int]] = {}

    def claim(
        self, state: JobState, placement: Placement, waits: frozenset[JobKey] = NOBODY
    ) -> None:
        """Book what a job holds, or is given."""
        if not self.active:
            return
        amounts = self._where[key_of(state)] = self._amounts(state, placement)
        for item, amount in amounts.items():
            self._accounts[item].claim(key_of(state), amount, waits)

    def drop(self, job: JobKey) -> None:
        """Take a job out of the books."""
        for item in self._where.pop(job, {}):
            self._accounts[item].drop(job)

    def _amounts(self, state: JobState, placement: Placement) -> dict[Item, int]:
        amounts: dict[Item, int] = {}
        for node, workers in placement.items():
            item = self._item.get(node)
            taken = sum(milli_of(state, worker) for worker in workers) if item else 0
            if item and taken:
                amounts[item] = amounts.get(item, 0) + taken
        return amounts

    def over(
        self, state: JobState, placement: Placement, gone: frozenset[JobKey] = NOBODY
    ) -> list[Scarce]:
        """Return the items that a placement would take too much of once those are gone."""
        found = []
        for item, asked in sorted(self._amounts(state, placement).items()):
            offered, used = self._limits[item], self._accounts[item].worst(gone)
            if used + asked > offered:
                found.append(Scarce(*item, offered, used, asked))
        return found

    def nodes_of(self, scarce: Iterable[Scarce]) -> Iterator[str]:
        """Yield the nodes whose GPUs these items are."""
        items = {(one.zone, one.gpu_model) for one in scarce}
        return (node for node, item in self._item.items() if item in items)


class Stock(Holdings):
    """The items of a pool of which something is recorded."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._offers: Mapping[Item, StockChanged] = {
            (offer.zone, offer.gpu_model): offer for offer in snapshot.stock
        }
        limits = {item: CARD * (offer.gpus or 0) for item, offer in self._offers.items()}
        nodes = snapshot.nodes if limits else ()
        places = {n.node: (n.shape.zone, n.shape.gpu_model) for n in nodes if n.shape.spot}
        super().__init__(limits, places)

    def owed(self, leaving: frozenset[JobKey]) -> Iterator[Owed]:
        """Yield what those who stay hold too much of."""
        for item, account in sorted(self._accounts.items()):
            over = account.without(leaving) - self._limits[item]
            if over > 0:
                yield Owed(item, over, self._offers[item].deadline)

    def owed_late(
        self, leaving: frozenset[JobKey], grace_ends: Mapping[JobKey, datetime]
    ) -> Iterator[Owed]:
        """Yield what is held too much of once those are gone who leave by the item's deadline."""
        for item, account in sorted(self._accounts.items()):
            deadline = self._offers[item].deadline
            if deadline is None:
                continue
            late = {job for job, end in grace_ends.items() if end > deadline}
            over = account.without(leaving - late) - self._limits[item]
            if over > 0:
                yield Owed(item, over, deadline)

    def part_of(self, job: JobKey, item: Item) -> int:
        """Return what a job has of an item, in thousandths of GPUs."""
        return self._where.get(job, {}).get(item, 0)

    def nodes_under(self, state: JobState, item: Item) -> tuple[str, ...]:
        """Return the nodes of an item on which a job is."""
        return tuple(sorted(node for node in state.held if self._item.get(node) == item))


def givers(owed: int, holders: Iterable[Holder]) -> list[Holder]:
    """Return who gives an item back: the fewest of the highest tier, then of the next; then the
    least lost work. All of them where that is not enough."""
    listed = sorted(holders, key=lambda one: (one.tier, one.cost))
    if sum(one.milli for one in listed) <= owed:
        return listed
    if len(listed) > EXACT:
        return _cheaper(owed, _largest(owed, listed), listed)
    sizes = range(1, len(listed) + 1)
    every = (some for size in sizes for some in combinations(listed, size))
    enough = (some for some in every if sum(one.milli for one in some) >= owed)
    return min((list(some) for some in enough), key=_price)


def _price(some: Sequence[Holder]) -> tuple[list[int], float]:
    tiers = [sum(one.tier == tier for one in some) for tier in (2, 1, 0, -1)]
    return tiers, sum(one.cost[0] for one in some)


def _largest(owed: int, holders: Sequence[Holder]) -> list[Holder]:
    """Of each tier, the highest first, take as few as the lower ones leave to be taken.

    The largest cover the most, so that of the lower tiers too as few as can be are needed.
    """
    chosen: list[Holder] = []
    below = sum(one.milli for one in holders)
    for tier in sorted({one.tier for one in holders}, reverse=True):
        mine = sorted((one for one in holders if one.tier == tier), key=lambda one: -one.milli)
        below -= sum(one.milli for one in mine)
        for one in mine:
            if sum(each.milli for each in chosen) + below >= owed:
                break
            chosen.append(one)
    return chosen


def _cheaper(owed: int, chosen: Sequence[Holder], holders: Sequence[Holder]) -> list[Holder]:
    """Return as many of each tier, the dearest ones put off for cheaper ones as far as these will
    do. holders: the cheapest of each tier first."""
    spare = sum(one.milli for one in chosen) - owed
    taken = {one.key for one in chosen}
    found = []
    for one in sorted(chosen, key=lambda one: (one.cost, one.tier), reverse=True):
        others = (
            other
            for other in holders
            if other.tier == one.tier
            and other.cost < one.cost
            and other.key not in taken
            and one.milli - other.milli <= spare
        )
        best = next(others, one)
        taken = taken - {one.key} | {best.key}
        spare -= one.milli - best.milli
        found.append(best)
    return sorted(found, key=lambda one: (-one.tier, one.cost))
