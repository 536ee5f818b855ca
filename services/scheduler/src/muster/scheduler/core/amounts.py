"""Amounts of resources: what a worker needs, what a job has, and what is left on a node.

Whole numbers only: CPU cores are kept as thousandths, so that sums are exact and equal amounts are
equal. Amounts may be negative: a node that shrank below its use has less than nothing free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from muster.domain.demand import Demand, Role
from muster.domain.nodes import ForeignUse, NodeShape

Extended = tuple[tuple[str, int], ...]

ENDLESS = 1 << 62
"""How often a worker that needs nothing fits."""

CARD = 1000
"""Thousandths of a card."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """gpus: whole cards. cpus: thousandths of a core. memory: MiB. extended: by name, sorted."""

    gpus: int = 0
    cpus: int = 0
    memory: int = 0
    extended: Extended = ()

    def __add__(self, other: Amounts) -> Amounts:
        """Return the sum."""
        return Amounts(
            self.gpus + other.gpus,
            self.cpus + other.cpus,
            self.memory + other.memory,
            _merged(self.extended, other.extended, lambda a, b: a + b),
        )

    def __sub__(self, other: Amounts) -> Amounts:
        """Return the difference, which may be negative."""
        return Amounts(
            self.gpus - other.gpus,
            self.cpus - other.cpus,
            self.memory - other.memory,
            _merged(self.extended, other.extended, lambda a, b: a - b),
        )

    def upper(self, other: Amounts) -> Amounts:
        """Return the larger of each."""
        return Amounts(
            max(self.gpus, other.gpus),
            max(self.cpus, other.cpus),
            max(self.memory, other.memory),
            _merged(self.extended, other.extended, max),
        )


NOTHING = Amounts()


class Need(NamedTuple):
    """What one worker needs: whole cards, or thousandths of one card that it shares, and more."""

    gpus: int = 0
    milli: int = 0
    cpus: int = 0
    memory: int = 0
    extended: Extended = ()


class Room(NamedTuple):
    """What may be given away on a node.

    gpus: cards that nobody uses. cards: thousandths left on each card that is shared and may be
    shared further, in rising order.
    """

    gpus: int = 0
    cards: tuple[int, ...] = ()
    cpus: int = 0
    memory: int = 0
    extended: Extended = ()

    @property
    def milli(self) -> int:
        """Return thousandths of all cards together."""
        return max(0, self.gpus) * CARD + sum(self.cards)

    def holds(self, need: Need) -> int:
        """Return how many times `need` fits in. What is not asked for is not looked at."""
        most = ENDLESS
        if need.gpus:
            most = self.gpus // need.gpus
        elif need.milli:
            most = sum([left // need.milli for left in self.cards])
            if self.gpus > 0:
                most += self.gpus * (CARD // need.milli)
        if most > 0 and need.cpus:
            most = min(most, self.cpus // need.cpus)
        if most > 0 and need.memory:
            most = min(most, self.memory // need.memory)
        if most > 0 and need.extended:
            have = dict(self.extended)
            most = min(most, *(have.get(name, 0) // amount for name, amount in need.extended))
        return max(0, most)

    def less(self, need: Need | Amounts, times: int = 1) -> Room:
        """Return what is left beside workers, cards that are shared not counted."""
        extended = self.extended
        if need.extended:
            taken = tuple((name, amount * times) for name, amount in need.extended)
            extended = _merged(extended, taken, lambda a, b: a - b)
        return Room(
            self.gpus - need.gpus * times,
            self.cards,
            self.cpus - need.cpus * times,
            self.memory - need.memory * times,
            extended,
        )

    def shared(self, left: int, milli: int) -> Room:
        """Return the room when so much of a card with so much left is taken; CARD: of a new one."""
        cards = list(self.cards)
        gpus = self.gpus
        if left == CARD:
            gpus -= 1
        else:
            cards.remove(left)
        if left > milli:
            cards.append(left - milli)
            cards.sort()
        return Room(gpus, tuple(cards), self.cpus, self.memory, self.extended)


def room(amounts: Amounts, cards: tuple[int, ...] = ()) -> Room:
    """Return amounts as room."""
    # of a node that shrank below its use no card is sure to be there
    sure = cards if amounts.gpus >= 0 else ()
    return Room(amounts.gpus, sure, amounts.cpus, amounts.memory, amounts.extended)


def _merged(one: Extended, two: Extended, join: Callable[[int, int], int]) -> Extended:
    if not one and not two:
        return ()
    left, right = dict(one), dict(two)
    joined = ((n, join(left.get(n, 0), right.get(n, 0))) for n in sorted({*left, *right}))
    return tuple((name, amount) for name, amount in joined if amount)


def _thousandths(cpus: float) -> int:
    return round(cpus * 1000)


def _extended(amounts: Mapping[str, int]) -> Extended:
    return tuple(sorted((name, amount) for name, amount in amounts.items() if amount))


def of_role(role: Role) -> Need:
    """Return what one worker of a role needs."""
    milli = 0 if role.gpus else role.gpu_milli
    cpus, memory = _thousandths(role.cpus), role.memory_mib
    return Need(role.gpus, milli, cpus, memory, _extended(role.extended))


def of_worker(demand: Demand, worker: str) -> Need:
    """Return what a worker holds; of a name that no role has, the most that any worker holds.

    Such a worker has whole cards: nobody knows which part of which card it would be on.
    """
    try:
        return of_role(demand.role_of(worker))
    except KeyError:
        most = NOTHING
        for role in demand.roles:
            need = of_role(role)
            cards = max(need.gpus, min(1, need.milli))
            most = most.upper(Amounts(cards, need.cpus, need.memory, need.extended))
        return Need(most.gpus, 0, most.cpus, most.memory, most.extended)


def of_shape(shape: NodeShape) -> Amounts:
    """Return what an empty node offers."""
    cpus = _thousandths(shape.cpus)
    return Amounts(shape.gpus, cpus, shape.memory_mib, _extended(shape.extended))


def of_foreign(use: ForeignUse | None) -> Amounts:
    """Return what others take on a node."""
    if use is None:
        return NOTHING
    return Amounts(use.gpus, _thousandths(use.cpus), use.memory_mib, _extended(use.extended))
