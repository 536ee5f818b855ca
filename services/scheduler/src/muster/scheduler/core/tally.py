"""How many workers of a gang have a place, counted node by node while jobs are taken away and given
back: what a search for victims asks thousands of times.

Counts each role alone, and does not place anybody. So it says for certain when there is not enough
room; whether there is enough, only where it is `exact`. Each question costs as much as the job has
nodes, not as the pool has.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from muster.scheduler.core.amounts import Room
from muster.scheduler.core.jobs import JobKey
from muster.scheduler.core.placement import Asked
from muster.scheduler.core.rooms import Kind, Rooms

Free = Callable[[str, frozenset[JobKey]], Room]
"""The room on a node once some jobs are gone."""

NodesOf = Callable[[JobKey], Sequence[str]]

Part = Callable[[str], Hashable]
"""The domain of a node, where all workers must be in one."""


class Tally:
    """See the module. exact: enough for each role alone is enough."""

    def __init__(
        self,
        asked: Sequence[Asked],
        rooms: Rooms,
        free: Free,
        nodes_of: NodesOf,
        part: Part | None,
        *,
        exact: bool,
    ) -> None:
        self._asked, self._rooms = asked, rooms
        self._free, self._nodes_of, self._part = free, nodes_of, part
        self.exact = exact and len(asked) == 1
        self._wanted = tuple(each.role.replicas for each in asked)
        self._counts: dict[Kind, tuple[int, ...]] = {}
        self._gone: dict[str, frozenset[JobKey]] = {}
        self._now: dict[str, tuple[int, ...]] = {}
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
        for node in self._nodes_of(job):
            if node in self._rooms.kinds:
                self._recount(node, self._gone.get(node, _NOBODY) | {job})

    def give(self, job: JobKey) -> None:
        """Count a job as there again."""
        for node in self._nodes_of(job):
            if node in self._rooms.kinds:
                self._recount(node, self._gone.get(node, _NOBODY) - {job})

    def _recount(self, node: str, gone: frozenset[JobKey]) -> None:
        kind = self._rooms.kinds[node]
        before = self._now.get(node) or self._count(kind)
        self._gone[node] = gone
        after = self._count(Kind(self._free(node, gone), kind.gpu_model) if gone else kind)
        self._now[node] = after
        if after != before:
            part = self._part(node) if self._part is not None else None
            self._add(part, [new - old for new, old in zip(after, before, strict=True)])


_NOBODY: frozenset[JobKey] = frozenset()
