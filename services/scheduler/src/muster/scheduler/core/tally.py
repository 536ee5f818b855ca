"""How many workers of a gang have a place, counted node by node while jobs are taken away and given
back: what a search for victims asks thousands of times.

Counts each role alone, and does not place anybody. So it says for certain when there is not enough
room; whether there is enough, only where it is `exact`. Each question costs as much as the job has
nodes, not as the pool has.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from muster.scheduler.core.amounts import Amounts
from muster.scheduler.core.board import Board, Claims
from muster.scheduler.core.jobs import JobKey
from muster.scheduler.core.placement import Asked
from muster.scheduler.core.rooms import Kind, Rooms

Part = Callable[[str], Hashable]
"""The domain of a node, where all workers must be in one."""


class Tally:
    """See the module. rooms: as on the board. exact: enough for each role alone is enough."""

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
        self._stages: dict[Kind, _Stage] = {}
        self._nodes: dict[str, _Node] = {}
        self._awaited = board.awaited_from()
        self._totals: dict[Hashable, list[int]] = {}
        self._enough: set[Hashable] = set()
        for kind, names in rooms.names.items():
            counts = self._stage(kind).counts
            if any(counts):
                self._begin(counts, names)

    def _begin(self, counts: Sequence[int], names: Sequence[str]) -> None:
        if self._part is None:
            self._add(None, [count * len(names) for count in counts])
            return
        for name in names:
            self._add(self._part(name), counts)

    def _stage(self, kind: Kind) -> _Stage:
        found = self._stages.get(kind)
        if found is None:
            counts = tuple(each.count(kind) for each in self._asked)
            found = self._stages[kind] = _Stage(kind, counts)
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

    def take(self, job: JobKey, nodes: Sequence[str]) -> None:
        """Count as if a job were gone. nodes: on which it has something."""
        for node in self._concerned(job, nodes):
            there = self._nodes.get(node) or self._look_at(node)
            if there is not None:
                after = self._freed(node, there, job)
                there.gone += 1
                self._become(node, there, after)

    def give(self, job: JobKey, nodes: Sequence[str]) -> None:
        """Count a job as there again."""
        for node in self._concerned(job, nodes):
            there = self._nodes.get(node)
            if there is not None:
                after = self._filled(node, there, job)
                there.gone -= 1
                there.who.discard(job)
                self._become(node, there, after)

    def needs(self, job: JobKey, nodes: Sequence[str]) -> bool:
        """Tell whether there is not enough without the room of a job that was taken away."""
        lost: dict[Hashable, list[int]] = {}
        for node in self._concerned(job, nodes):
            there = self._nodes.get(node)
            if there is None:
                continue
            before, after = there.stage.counts, self._filled(node, there, job).counts
            if before != after:
                less = lost.setdefault(self._domain(node), [0] * len(self._wanted))
                for index, count in enumerate(after):
                    less[index] += before[index] - count
        return not any(
            part not in lost or self._holds_without(part, lost[part]) for part in self._enough
        )

    def _concerned(self, job: JobKey, own: Sequence[str]) -> Sequence[str]:
        """Return the nodes on which it matters that a job is gone."""
        also = self._awaited.get(job) if self._awaited else None
        return tuple(dict.fromkeys((*own, *also))) if also else own

    def _holds_without(self, part: Hashable, lost: Sequence[int]) -> bool:
        numbers = zip(self._totals[part], lost, self._wanted, strict=True)
        return all(total - less >= wanted for total, less, wanted in numbers)

    def _look_at(self, node: str) -> _Node | None:
        kind = self._rooms.kinds.get(node)
        if kind is None:
            return None
        there = self._nodes[node] = _Node(self._stage(kind), self._board.apart(node))
        return there

    def _freed(self, node: str, there: _Node, job: JobKey) -> _Stage:
        if there.apart is None:
            there.who.add(job)
            return self._afresh(node, there, there.who)
        amounts = there.apart[job].taken.amounts
        stage = there.stage
        found = stage.freed.get(amounts)
        if found is None:
            found = stage.freed[amounts] = self._after(stage, amounts, -1)
        return found

    def _filled(self, node: str, there: _Node, job: JobKey) -> _Stage:
        if there.gone == 1:
            return there.first
        if there.apart is None:
            return self._afresh(node, there, there.who - {job})
        amounts = there.apart[job].taken.amounts
        stage = there.stage
        found = stage.filled.get(amounts)
        if found is None:
            found = stage.filled[amounts] = self._after(stage, amounts, 1)
        return found

    def _afresh(self, node: str, there: _Node, gone: Iterable[JobKey]) -> _Stage:
        free = self._board.free(node, frozenset(gone))
        return self._stage(Kind(free, there.first.kind.gpu_model))

    def _after(self, stage: _Stage, amounts: Amounts, times: int) -> _Stage:
        return self._stage(Kind(stage.kind.free.less(amounts, times), stage.kind.gpu_model))

    def _become(self, node: str, there: _Node, after: _Stage) -> None:
        old, new = there.stage.counts, after.counts
        there.stage = after
        if old != new:
            self._add(self._domain(node), [n - o for n, o in zip(new, old, strict=True)])

    def _domain(self, node: str) -> Hashable:
        return self._part(node) if self._part is not None else None


class _Stage:
    """A kind of node, with how many workers of each role it holds. freed, filled: what it becomes
    when so much is taken away, or given back: looked up, as few are different."""

    __slots__ = ("counts", "filled", "freed", "kind")

    def __init__(self, kind: Kind, counts: tuple[int, ...]) -> None:
        self.kind, self.counts = kind, counts
        self.freed: dict[Amounts, _Stage] = {}
        self.filled: dict[Amounts, _Stage] = {}


class _Node:
    """A node that somebody was taken from: gone = how many. apart: its claims, where each counts
    for itself; elsewhere, who is gone."""

    __slots__ = ("apart", "first", "gone", "stage", "who")

    def __init__(self, first: _Stage, apart: Claims | None) -> None:
        self.first = self.stage = first
        self.apart, self.gone = apart, 0
        self.who = set[JobKey]()
