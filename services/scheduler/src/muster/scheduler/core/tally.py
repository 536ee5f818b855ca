"""How many workers of a gang have a place, counted node by node while jobs are taken away and given
back: what a search for victims asks thousands of times.

Counts each role alone, and does not place anybody. So it says for certain when there is not enough
room; whether there is enough, only where it is `exact`. Each question costs as much as the job has
nodes, not as the pool has.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from muster.scheduler.core.amounts import Room
from muster.scheduler.core.board import Board, Claims
from muster.scheduler.core.jobs import JobKey
from muster.scheduler.core.placement import Asked
from muster.scheduler.core.rooms import Kind, Rooms

Part = Callable[[str], Hashable]
"""The domain of a node, where all workers must be in one."""


class Tally:
    """See the module. exact: enough for each role alone is enough."""

    def __init__(
        self,
        asked: Sequence[Asked],
        rooms: Rooms,
        board: Board,
        part: Part | None,
        *,
        exact: bool,
    ) -> None:
        self._asked, self._rooms, self._board, self._part = asked, rooms, board, part
        self.exact = exact and len(asked) == 1
        self._wanted = tuple(each.role.replicas for each in asked)
        self._counts: dict[Kind, tuple[int, ...]] = {}
        self._nodes: dict[str, _Node] = {}
        self._awaited = board.awaited_from()
        self._totals: dict[Hashable, list[int]] = {}
        self._enough: set[Hashable] = set()
        for kind, names in rooms.names.items():
            counts = self._count(kind)
            if any(counts):
                self._begin(counts, names)

    def _begin(self, counts: Sequence[int], names: Sequence[str]) -> None:
        if self._part is None:
            self._add(None, [count * len(names) for count in counts])
            return
        for name in names:
            self._add(self._part(name), counts)

    def _count(self, kind: Kind) -> tuple[int, ...]:
        found = self._counts.get(kind)
        if found is None:
            found = self._counts[kind] = tuple(each.count(kind) for each in self._asked)
        return found

    def _add(self, part: Hashable, counts: Sequence[int]) -> None:
        totals = self._totals.setdefault(part, [0] * len(self._wanted))
        holds = True
        for index, count in enumerate(counts):
            totals[index] += count
            holds = holds and totals[index] >= self._wanted[index]
        if holds:
            self._enough.add(part)
        else:
            self._enough.discard(part)

    @property
    def enough(self) -> bool:
        """Tell whether there may be enough room; if it is exact, whether there is."""
        return bool(self._enough)

    def take(self, job: JobKey) -> None:
        """Count as if a job were gone."""
        for node in self._concerned(job):
            there = self._nodes.get(node) or self._look_at(node)
            if there is not None:
                there.free = self._freed(node, there, job)
                there.gone.add(job)
                self._recount(node, there)

    def give(self, job: JobKey) -> None:
        """Count a job as there again."""
        for node in self._concerned(job):
            there = self._nodes.get(node)
            if there is not None:
                there.free = self._filled(node, there, job)
                there.gone.discard(job)
                self._recount(node, there)

    def needs(self, job: JobKey) -> bool:
        """Tell whether there is not enough without the room of a job that was taken away."""
        lost: dict[Hashable, list[int]] = {}
        for node in self._concerned(job):
            there = self._nodes.get(node)
            if there is not None:
                last = len(there.gone) == 1
                kind = there.kind if last else there.with_room(self._filled(node, there, job))
                less = lost.setdefault(self._domain(node), [0] * len(self._wanted))
                for index, after in enumerate(self._count(kind)):
                    less[index] += there.counts[index] - after
        return not any(
            part not in lost or self._holds_without(part, lost[part]) for part in self._enough
        )

    def _concerned(self, job: JobKey) -> Sequence[str]:
        """Return the nodes on which it matters that a job is gone."""
        own = self._board.nodes_of(job)
        also = self._awaited.get(job)
        return tuple(dict.fromkeys((*own, *also))) if also else own

    def _holds_without(self, part: Hashable, lost: Sequence[int]) -> bool:
        numbers = zip(self._totals[part], lost, self._wanted, strict=True)
        return all(total - less >= wanted for total, less, wanted in numbers)

    def _look_at(self, node: str) -> _Node | None:
        kind = self._rooms.kinds.get(node)
        if kind is None:
            return None
        there = _Node(kind, self._count(kind), self._board.apart(node), self._board.free(node))
        self._nodes[node] = there
        return there

    def _freed(self, node: str, there: _Node, job: JobKey) -> Room:
        if there.apart is not None:
            return there.free.less(there.apart[job].taken.amounts, -1)
        return self._board.free(node, frozenset(there.gone | {job}))

    def _filled(self, node: str, there: _Node, job: JobKey) -> Room:
        if there.apart is not None:
            return there.free.less(there.apart[job].taken.amounts)
        return self._board.free(node, frozenset(there.gone - {job}))

    def _recount(self, node: str, there: _Node) -> None:
        after = self._count(there.with_room(there.free) if there.gone else there.kind)
        before = there.counts
        if after != before:
            there.counts = after
            self._add(
                self._domain(node), [new - old for new, old in zip(after, before, strict=True)]
            )

    def _domain(self, node: str) -> Hashable:
        return self._part(node) if self._part is not None else None


@dataclass(slots=True)
class _Node:
    """A node that somebody was taken from. apart: its claims, where each counts for itself."""

    kind: Kind
    counts: tuple[int, ...]
    apart: Claims | None
    free: Room
    gone: set[JobKey] = field(default_factory=set)

    def with_room(self, free: Room) -> Kind:
        """Return its kind with another room."""
        return Kind(free, self.kind.gpu_model)
