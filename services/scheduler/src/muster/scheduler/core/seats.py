"""Where the few workers of the small roles of a gang sit, so that the many of its large role fit.

Asked where placing role by role has failed: the head of a gang may have taken the very node that
its workers need. The kinds of node for the few are gone through; how many of the many fit beside
them is then a count, and exact. Knows kinds of node, no names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from muster.scheduler.core.amounts import CARD, Need
from muster.scheduler.core.rooms import Kind

FEW = 6
"""The search is for gangs with no more workers than this beside those of one role."""
LOOKS = 2_000
"""So many kinds of node are looked at, and all of them for the first worker."""

Sizes = Mapping[Kind, int]
"""How many nodes of each kind there are."""


class Seat(NamedTuple):
    """A worker of a role on a node of a kind, with the kind that the node is then."""

    role: int
    kind: Kind
    after: Kind


class Part(NamedTuple):
    """A role: what a worker needs, how many there are, and how many of them a kind holds."""

    need: Need
    replicas: int
    count: Callable[[Kind], int]
    put: Callable[[Kind], tuple[float, Kind] | None]
    """The worth of one worker on a node of a kind, and the kind that the node is then."""


def too_little(parts: Sequence[Part], sizes: Sizes) -> bool:
    """Tell whether there is too little room for certain: for a role alone, or for all in sum."""
    every: dict[Kind, int] = {}
    for part in parts:
        fits = 0
        for kind, size in sizes.items():
            if size > 0 and (count := part.count(kind)):
                fits += count * size
                every[kind] = size
        if fits < part.replicas:
            return True
    have: dict[str, int] = {}
    for kind, size in every.items():
        free = kind.free
        amounts = {"cards": free.milli, "cpus": free.cpus, "memory": free.memory}
        for name, amount in (*amounts.items(), *_own(free.extended)):
            have[name] = have.get(name, 0) + max(0, amount) * size
    want: dict[str, int] = {}
    for part in parts:
        need = part.need
        amounts = {"cards": need.gpus * CARD + need.milli, "cpus": need.cpus, "memory": need.memory}
        for name, amount in (*amounts.items(), *_own(need.extended)):
            want[name] = want.get(name, 0) + amount * part.replicas
    return any(amount > have.get(name, 0) for name, amount in want.items())


def _own(extended: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    return [(f"own {name}", amount) for name, amount in extended]


class Search:
    """Looks for seats once. whole: all there is was looked at, so what was not found is not."""

    def __init__(self, parts: Sequence[Part], sizes: Sizes) -> None:
        self._parts = parts
        self.many = max(range(len(parts)), key=lambda index: (parts[index].replicas, -index))
        self._few = [
            index
            for index, part in enumerate(parts)
            if index != self.many
            for _ in range(part.replicas)
        ]
        # of a card that is shared it is not asked which one, so that is left open
        self.whole = not any(parts[index].need.milli for index in self._few)
        self._sizes = dict(sizes)
        self._left = LOOKS
        self._seen: set[tuple[int, frozenset[tuple[Kind, int]]]] = set()

    def seats(self) -> list[Seat] | None:
        """Return a seat for each of the few, in the order in which they are taken."""
        if len(self._few) > FEW:
            self.whole = False
            return None
        many = self._parts[self.many]
        holds = sum(many.count(kind) * size for kind, size in self._sizes.items() if size > 0)
        return self._seat(0, holds - many.replicas)

    def _seat(self, number: int, spare: int) -> list[Seat] | None:
        if number == len(self._few):
            return []
        if self._left <= 0:
            self.whole = False
            return None
        taken = number, frozenset(self._sizes.items())
        if taken in self._seen:
            return None
        self._seen.add(taken)
        for loss, _, seat in self._options(self._few[number], spare):
            self._move(seat.kind, seat.after)
            rest = self._seat(number + 1, spare - loss)
            self._move(seat.after, seat.kind)
            if rest is not None:
                return [seat, *rest]
        return None

    def _options(self, role: int, spare: int) -> list[tuple[int, float, Seat]]:
        """Return the seats that leave enough for the many: those that cost them least first."""
        part, many = self._parts[role], self._parts[self.many]
        found: list[tuple[int, float, Seat]] = []
        for kind, size in self._sizes.items():
            put = part.put(kind) if size > 0 and part.count(kind) else None
            if put is not None:
                loss = many.count(kind) - many.count(put[1])
                if loss <= spare:
                    found.append((loss, put[0], Seat(role, kind, put[1])))
        self._left -= len(self._sizes)
        return sorted(found)

    def _move(self, kind: Kind, other: Kind) -> None:
        self._sizes[kind] -= 1
        if not self._sizes[kind]:
            del self._sizes[kind]
        self._sizes[other] = self._sizes.get(other, 0) + 1
