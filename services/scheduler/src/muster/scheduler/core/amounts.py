"""Amounts of resources, of one worker, one node, or what is left of it.

Whole numbers only: CPU cores are kept as thousandths, so that sums are exact and equal amounts are
equal. Amounts may be negative: a node that shrank below its use has less than nothing free.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from muster.domain.demand import Demand, Role
from muster.domain.nodes import NodeShape

Extended = tuple[tuple[str, int], ...]

ENDLESS = 1 << 62
"""How often a worker that needs nothing fits."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """cpus: thousandths of a core. memory: MiB. extended: by name, sorted, without zeros."""

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

    def __mul__(self, times: int) -> Amounts:
        """Return so many of it."""
        return Amounts(
            self.gpus * times,
            self.cpus * times,
            self.memory * times,
            tuple((name, amount * times) for name, amount in self.extended),
        )

    def upper(self, other: Amounts) -> Amounts:
        """Return the larger of each."""
        return Amounts(
            max(self.gpus, other.gpus),
            max(self.cpus, other.cpus),
            max(self.memory, other.memory),
            _merged(self.extended, other.extended, max),
        )

    def holds(self, need: Amounts) -> int:
        """Return how many times `need` fits in. What is not asked for is not looked at."""
        most = ENDLESS
        if need.gpus:
            most = self.gpus // need.gpus
        if need.cpus:
            most = min(most, self.cpus // need.cpus)
        if need.memory:
            most = min(most, self.memory // need.memory)
        if need.extended:
            have = dict(self.extended)
            most = min(most, *(have.get(name, 0) // amount for name, amount in need.extended))
        return max(0, most)


NOTHING = Amounts()


def _merged(one: Extended, two: Extended, join: Callable[[int, int], int]) -> Extended:
    if not one and not two:
        return ()
    left, right = dict(one), dict(two)
    joined = ((n, join(left.get(n, 0), right.get(n, 0))) for n in sorted({*left, *right}))
    return tuple((name, amount) for name, amount in joined if amount)


def _thousandths(cpus: float) -> int:
    return round(cpus * 1000)


def of_role(role: Role) -> Amounts:
    """Return what one worker of a role needs."""
    extended = tuple(sorted((n, amount) for n, amount in role.extended.items() if amount))
    return Amounts(role.gpus, _thousandths(role.cpus), role.memory_mib, extended)


def of_worker(demand: Demand, worker: str) -> Amounts:
    """Return what a worker holds; of a name that no role has, the most that any worker holds."""
    try:
        return of_role(demand.role_of(worker))
    except KeyError:
        most = NOTHING
        for role in demand.roles:
            most = most.upper(of_role(role))
        return most


def of_shape(shape: NodeShape) -> Amounts:
    """Return what an empty node offers."""
    extended = tuple(sorted((n, amount) for n, amount in shape.extended.items() if amount))
    return Amounts(shape.gpus, _thousandths(shape.cpus), shape.memory_mib, extended)
