"""Nodes a job may use, in groups of equal ones: a thousand equal nodes are looked at once.

Made by `fitting` and `round`, read by `placement`. Says how many nodes of each kind there are, and
which, in the order of their names; and the same for the domains of a level. Does not know why a
node is there.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, merge
from typing import NamedTuple

from muster.domain.nodes import NodeShape
from muster.scheduler.core.amounts import Room

Levels = tuple[str, ...]
"""Keys of node labels, from coarse to fine; `zone` is the zone of the node's shape."""

Domain = tuple[str, ...]
"""The values of the levels down to one of them: a switch of the same name in another zone is
another one. A node without a label is a domain of its own."""

ZONE = "zone"

REMEMBERED = 10_000
"""After so many changes it is less work to score all kinds anew."""


@dataclass(frozen=True, slots=True)
class Site:
    """A node that a job may use, with the room that it would have there."""

    node: str
    shape: NodeShape
    free: Room
    second_choice: bool = False


class Kind(NamedTuple):
    """All of a node that a placement looks at, but its name."""

    free: Room
    gpu_model: str


Moved = dict[str, Kind]
"""Nodes that would be of another kind than the one they are entered with."""

Score = Callable[[Kind], float | None]
"""How good a kind is, the smaller the better; None where it will not do."""


def domain_of(node: str, shape: NodeShape, levels: Levels) -> Domain:
    """Return the domain of the last of these levels in which a node is."""
    values = []
    for level in levels:
        value = shape.zone if level == ZONE else shape.labels.get(level)
        values.append(f"={value}" if value is not None else f"node {node}")
    return tuple(values)


class Rooms:
    """Nodes by kind. shapes: of the nodes, and perhaps of others."""

    def __init__(
        self, kinds: Mapping[str, Kind], shapes: Mapping[str, NodeShape] | None = None
    ) -> None:
        self.kinds = dict(kinds)
        self.names: dict[Kind, list[str]] = {}
        for node in sorted(kinds):
            self.names.setdefault(kinds[node], []).append(node)
        self.shapes = dict(shapes or {})
        self._parts: dict[Levels, dict[Domain, Rooms]] = {}
        self._homes: dict[Levels, dict[str, Domain]] = {}
        self._changed: list[str] = []
        self._rankings: dict[Hashable, _Ranking] = {}

    def enter(self, node: str, free: Room) -> None:
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
        if self._rankings:
            self._changed.append(node)
        for levels, homes in self._homes.items():
            self._parts[levels][homes[node]].enter(node, free)

    def admit(self, node: str, kind: Kind, shape: NodeShape) -> None:
        """Add a node."""
        self.kinds[node], self.shapes[node] = kind, shape
        insort(self.names.setdefault(kind, []), node)
        self._unpart(node)

    def expel(self, node: str) -> None:
        """Take a node away, if it is there."""
        kind = self.kinds.pop(node, None)
        if kind is None:
            return
        names = self.names[kind]
        del names[bisect_left(names, node)]
        if not names:
            del self.names[kind]
        self._unpart(node)

    def _unpart(self, node: str) -> None:
        if self._rankings:
            self._changed.append(node)
        self._parts.clear()
        self._homes.clear()

    def forget_scores(self) -> None:
        """Forget which nodes were the best."""
        self._rankings.clear()
        self._changed.clear()

    def parts(self, levels: Levels) -> Mapping[Domain, Rooms]:
        """Return the nodes of each domain of the last of these levels."""
        if levels not in self._parts:
            homes = {node: domain_of(node, self.shapes[node], levels) for node in self.kinds}
            inside: dict[Domain, dict[str, Kind]] = {}
            for node in sorted(homes):
                inside.setdefault(homes[node], {})[node] = self.kinds[node]
            self._homes[levels] = homes
            self._parts[levels] = {name: Rooms(kinds) for name, kinds in sorted(inside.items())}
        return self._parts[levels]

    def home(self, node: str, levels: Levels) -> Domain:
        """Return the domain in which a node is. Only after `parts` of the same levels."""
        return self._homes[levels][node]

    def best(self, key: Hashable, score: Score) -> str | None:
        """Return the node with the best score, of equals the first by name; None if none will do.

        key: equal for equal scores. Kinds are scored once, and again when they come anew.
        """
        if len(self._changed) > REMEMBERED:
            self.forget_scores()
        ranking = self._rankings.get(key)
        if ranking is None:
            ranking = self._rankings[key] = _Ranking(score, self, len(self._changed))
        else:
            ranking.go_on(self._changed)
        return ranking.first()


class _Ranking:
    """Kinds by score, each with its first node. What is no longer so goes when it comes to the top.

    Of a kind with nodes there is always an entry that is not behind its first node.
    """

    def __init__(self, score: Score, rooms: Rooms, upto: int) -> None:
        self._score, self._rooms, self._upto = score, rooms, upto
        self._heap = [
            (worth, names[0], kind)
            for kind, names in rooms.names.items()
            if (worth := score(kind)) is not None
        ]
        heapify(self._heap)

    def go_on(self, changed: list[str]) -> None:
        """Take in the nodes that have changed since."""
        kinds, score = self._rooms.kinds, self._score
        for node in dict.fromkeys(changed[self._upto :]):
            kind = kinds.get(node)
            if kind is not None and (worth := score(kind)) is not None:
                heappush(self._heap, (worth, node, kind))
        self._upto = len(changed)

    def first(self) -> str | None:
        """Return the best."""
        heap, kinds, names = self._heap, self._rooms.kinds, self._rooms.names
        while heap:
            worth, node, kind = heap[0]
            if kinds.get(node) == kind:
                return node
            heappop(heap)
            if kind in names:
                heappush(heap, (worth, names[kind][0], kind))
        return None


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

    def enter(self, node: str, free: Room) -> None:
        """Note that a node has another room now."""
        self.every.enter(node, free)
        if self.first is not None:
            self.first.enter(node, free)


def gathered(sites: Iterable[Site]) -> Sites:
    """Put nodes into groups."""
    listed = list(sites)
    kinds = {site.node: Kind(site.free, site.shape.gpu_model) for site in listed}
    shapes = {site.node: site.shape for site in listed}
    first = {site.node: kinds[site.node] for site in listed if not site.second_choice}
    if 0 < len(first) < len(kinds):
        return Sites(Rooms(kinds, shapes), Rooms(first, shapes))
    return Sites(Rooms(kinds, shapes))
