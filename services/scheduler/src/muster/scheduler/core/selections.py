"""Selections of nodes, kept while the nodes and the room on them change.

A selection is made for jobs with the same doors, once; afterwards only nodes are looked at again
of which something has changed. Used by rounds one after the other: see `memory`. Does not know
what room is meant: it is told with each question.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import NamedTuple

from muster.domain.nodes import NodeState
from muster.scheduler.core.amounts import Room
from muster.scheduler.core.rooms import Kind, Rooms, Sites

KNOWN = 96
"""So many selections are remembered at a time."""

BEHIND = 20_000
"""A selection that has missed more changes than this is made anew when it is asked for."""


Opens = Callable[[NodeState], bool]

Names = tuple[str, ...] | None
"""None = all there are."""


class Wanted(NamedTuple):
    """What tells nodes apart. Of equal keys all must be equal but for `room`, which is asked anew
    where something has changed.

    among: the nodes worth looking at. second: used only if it does not fit without.
    """

    key: Hashable
    opens: Opens
    room: Callable[[str], Room]
    second: Opens | None = None
    among: Names = None


class _Selection:
    """rooms_upto, doors_upto: so many of the changes are taken in."""

    __slots__ = ("doors_upto", "every", "first", "rooms_upto", "seconds")

    def __init__(self) -> None:
        self.every = Rooms({}, {})
        self.first: Rooms | None = None
        self.seconds: set[str] = set()
        self.rooms_upto = self.doors_upto = 0

    def gather(self, wanted: Wanted, nodes: Iterable[NodeState]) -> None:
        """Look at every node."""
        kinds, shapes = {}, {}
        for node in nodes:
            if wanted.opens(node):
                kinds[node.node] = Kind(wanted.room(node.node), node.shape.gpu_model)
                shapes[node.node] = node.shape
                if wanted.second is not None and wanted.second(node):
                    self.seconds.add(node.node)
        self.every = Rooms(kinds, shapes)
        self._part()

    def _part(self) -> None:
        """Keep those of first choice apart where there are some, and others."""
        if not 0 < len(self.seconds) < len(self.every.kinds):
            self.first = None
        elif self.first is None:
            every, seconds = self.every, self.seconds
            kinds = {name: kind for name, kind in every.kinds.items() if name not in seconds}
            self.first = Rooms(kinds, every.shapes)

    def admit(self, wanted: Wanted, name: str, node: NodeState | None) -> None:
        """Look again at a node of which more than the room has changed."""
        for rooms in (self.every, self.first):
            if rooms is not None:
                rooms.expel(name)
        self.seconds.discard(name)
        if node is not None and wanted.opens(node):
            kind = Kind(wanted.room(name), node.shape.gpu_model)
            self.every.admit(name, kind, node.shape)
            if wanted.second is not None and wanted.second(node):
                self.seconds.add(name)
            elif self.first is not None:
                self.first.admit(name, kind, node.shape)
        self._part()


class Selections:
    """See the module. looks: how many nodes were looked at."""

    def __init__(self, nodes: Mapping[str, NodeState]) -> None:
        self.nodes = nodes
        self.looks = 0
        self._known: dict[Hashable, _Selection] = {}
        self._rooms: list[str] = []
        self._doors: list[str] = []

    def touch(self, names: Iterable[str]) -> None:
        """Note that the room on nodes may have changed."""
        self._rooms += names

    def change(self, nodes: Mapping[str, NodeState], names: Iterable[str]) -> None:
        """Note that nodes have come, gone or changed: `nodes` are all there are now."""
        self.nodes = nodes
        self._doors += names

    def get(self, wanted: Wanted) -> Sites:
        """Return the nodes, as they are now."""
        found = self._known.pop(wanted.key, None)
        if found is None:
            found = self._gathered(wanted)
        elif found.rooms_upto < len(self._rooms) or found.doors_upto < len(self._doors):
            self._catch_up(found, wanted)
        self._known[wanted.key] = found  # the one asked for last comes last
        while len(self._known) > KNOWN:
            del self._known[next(iter(self._known))]
        self.looks += len(found.every.names)
        return Sites(found.every, found.first)

    def _gathered(self, wanted: Wanted) -> _Selection:
        found = _Selection()
        names = self.nodes if wanted.among is None else wanted.among
        nodes = [self.nodes[name] for name in names if name in self.nodes]
        found.gather(wanted, nodes)
        self.looks += len(nodes)
        found.rooms_upto, found.doors_upto = len(self._rooms), len(self._doors)
        return found

    def _catch_up(self, found: _Selection, wanted: Wanted) -> None:
        doors = dict.fromkeys(self._doors[found.doors_upto :])
        for name in doors:
            found.admit(wanted, name, self.nodes.get(name))
        rooms = dict.fromkeys(self._rooms[found.rooms_upto :])
        for name in rooms:
            if name in found.every.kinds and name not in doors:
                Sites(found.every, found.first).enter(name, wanted.room(name))
        self.looks += len(doors) + len(rooms)
        found.rooms_upto, found.doors_upto = len(self._rooms), len(self._doors)

    def forget_scores(self) -> None:
        """Nodes are chosen by another taste from now on."""
        for found in self._known.values():
            found.every.forget_scores()
            if found.first is not None:
                found.first.forget_scores()

    def tidy(self) -> None:
        """Drop changes that nobody needs any more, and who is too far behind."""
        if len(self._rooms) < 2 * BEHIND and len(self._doors) < 2 * BEHIND:
            return
        rooms, doors = max(0, len(self._rooms) - BEHIND), max(0, len(self._doors) - BEHIND)
        for key, found in list(self._known.items()):
            if found.rooms_upto < rooms or found.doors_upto < doors:
                del self._known[key]
            else:
                found.rooms_upto -= rooms
                found.doors_upto -= doors
        del self._rooms[:rooms], self._doors[:doors]
