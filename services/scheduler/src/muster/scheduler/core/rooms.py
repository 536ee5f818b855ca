"""Nodes a job may use, in groups of equal ones: a thousand equal nodes are looked at once.

Made by `fitting` and `round`, read by `placement`. Says how many nodes of each kind there are, and
which, in the order of their names. Does not know why a node is there.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import merge
from typing import NamedTuple

from muster.domain.nodes import NodeShape
from muster.scheduler.core.amounts import Amounts


@dataclass(frozen=True, slots=True)
class Site:
    """A node that a job may use, with the room that it would have there."""

    node: str
    shape: NodeShape
    free: Amounts
    second_choice: bool = False


class Kind(NamedTuple):
    """All of a node that a placement looks at, but its name."""

    free: Amounts
    gpu_model: str


Moved = dict[str, Kind]
"""Nodes that would be of another kind than the one they are entered with."""


class Rooms:
    """Nodes by kind. They change kind, but none is added or taken away."""

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        self.kinds = dict(kinds)
        self.names: dict[Kind, list[str]] = {}
        for node in sorted(kinds):
            self.names.setdefault(kinds[node], []).append(node)

    def enter(self, node: str, free: Amounts) -> None:
        """Note that a node has another room now."""
        old = self.kinds.get(node)
        if old is None or old.free == free:
            return
        names = self.names[old]
        del names[bisect_left(names, node)]
        if not names:
            del self.names[old]
        kind = self.kinds[node] = Kind(free, old.gpu_model)
        insort(self.names.setdefault(kind, []), node)


@dataclass(frozen=True, slots=True)
class View:
    """Rooms as they would be if some nodes were of another kind."""

    rooms: Rooms
    moved: Moved
    sizes: dict[Kind, int] = field(default_factory=dict)
    came: dict[Kind, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, rooms: Rooms, moved: Mapping[str, Kind]) -> View:
        """Make the view. Nodes that the rooms do not have are left out."""
        view = cls(rooms, {}, {kind: len(names) for kind, names in rooms.names.items()})
        for node, kind in moved.items():
            if node in rooms.kinds:
                view.move(node, kind)
        return view

    def kind(self, node: str) -> Kind:
        """Return the kind of a node."""
        return self.moved.get(node) or self.rooms.kinds[node]

    def move(self, node: str, kind: Kind) -> None:
        """Make a node one of another kind."""
        old = self.kind(node)
        self.sizes[old] -= 1
        self.sizes[kind] = self.sizes.get(kind, 0) + 1
        if node in self.moved:
            self.came[old].remove(node)
        self.moved[node] = kind
        insort(self.came.setdefault(kind, []), node)

    def nodes(self, kind: Kind) -> Iterator[str]:
        """Yield the nodes of a kind in the order of their names."""
        stay = (n for n in self.rooms.names.get(kind, ()) if n not in self.moved)
        return merge(stay, tuple(self.came.get(kind, ())))


@dataclass(frozen=True, slots=True)
class Sites:
    """The nodes a job may use. first: without those of second choice, if that leaves fewer."""

    every: Rooms
    first: Rooms | None = None

    def enter(self, node: str, free: Amounts) -> None:
        """Note that a node has another room now."""
        self.every.enter(node, free)
        if self.first is not None:
            self.first.enter(node, free)


@dataclass(slots=True)
class Known:
    """Nodes for jobs of one kind. upto: so many of the changes on the board are entered."""

    sites: Sites
    upto: int


def gathered(sites: Iterable[Site]) -> Sites:
    """Put nodes into groups."""
    listed = list(sites)
    kinds = {site.node: Kind(site.free, site.shape.gpu_model) for site in listed}
    first = {site.node: kinds[site.node] for site in listed if not site.second_choice}
    if 0 < len(first) < len(kinds):
        return Sites(Rooms(kinds), Rooms(first))
    return Sites(Rooms(kinds))
