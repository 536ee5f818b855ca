"""Series over time: what is kept of each instant, and how it is made small enough to be drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple


class Point(NamedTuple):
    """From `at` seconds on, until the next point. used, total: thousandths of cards."""

    at: float
    used: int
    total: int
    waiting: int


@dataclass(slots=True)
class Series:
    """Points in order of time, one an instant."""

    points: list[Point] = field(default_factory=list)

    def add(self, point: Point) -> None:
        """Add a point; one of the same instant is replaced, one that says nothing new left out."""
        if self.points and self.points[-1].at == point.at:
            self.points.pop()
        if not self.points or self.points[-1][1:] != point[1:]:
            self.points.append(point)

    def spans(self, until: float) -> Iterator[tuple[Point, float]]:
        """Yield each point with the seconds for which it held, up to an instant."""
        for one, two in pairwise(self.points):
            yield one, max(0.0, min(two.at, until) - one.at)
        if self.points:
            yield self.points[-1], max(0.0, until - self.points[-1].at)

    def allocation(self, until: float) -> float:
        """Return the share of all cards that was allocated, weighted by time, 0 to 1."""
        used = total = 0.0
        for point, seconds in self.spans(until):
            used += point.used * seconds
            total += point.total * seconds
        return used / total if total else 0.0


class Bin(NamedTuple):
    """Means over one slice of time."""

    at: float
    used: float
    total: float
    waiting: float


def binned(series: Series, until: float, count: int) -> list[Bin]:
    """Return at most `count` slices of equal length."""
    if not series.points or until <= series.points[0].at:
        return []
    start = series.points[0].at
    width = (until - start) / count
    sums = [[0.0, 0.0, 0.0] for _ in range(count)]
    for point, seconds in series.spans(until):
        for index, inside in slices(point.at - start, seconds, width, count):
            for place, value in enumerate(point[1:]):
                sums[index][place] += value * inside
    return [Bin(start + i * width, *(s / width for s in each)) for i, each in enumerate(sums)]


def slices(at: float, seconds: float, width: float, count: int) -> Iterator[tuple[int, float]]:
    """Yield which slices a span touches, and the seconds inside of each."""
    end = at + seconds
    index = min(count - 1, int(at / width))
    while at < end and index < count:
        edge = (index + 1) * width if index + 1 < count else end
        inside = min(edge, end) - at
        if inside > 0:
            yield index, inside
        at, index = max(at, edge), index + 1


@dataclass(slots=True)
class NodeSeries:
    """What is used of each node, whenever that changes. used: of all of them, now."""

    used: int = 0
    capacity: dict[str, int] = field(default_factory=dict)
    steps: dict[str, list[tuple[float, int]]] = field(default_factory=dict)
    _now: dict[str, int] = field(default_factory=dict)

    def note_capacity(self, node: str, milli: int) -> None:
        """Note what a node has; a node that is gone keeps its line."""
        self.capacity[node] = milli

    def change(self, at: float, amounts: Mapping[str, int], sign: int) -> None:
        """Note that so much more or less is used."""
        for node, amount in amounts.items():
            now = self._now[node] = self._now.get(node, 0) + sign * amount
            self.used += sign * amount
            steps = self.steps.setdefault(node, [])
            if steps and steps[-1][0] == at:
                steps[-1] = (at, now)
            else:
                steps.append((at, now))


def heat(
    nodes: NodeSeries, until: float, columns: int, rows: int
) -> tuple[list[str], list[list[float]]]:
    """Return labels, and what share of each group of nodes was used in each slice of time."""
    names = list(nodes.capacity)
    if not names or until <= 0:
        return [], []
    per_row = -(-len(names) // rows)
    groups = [names[i : i + per_row] for i in range(0, len(names), per_row)]
    labels = [group[0] if len(group) == 1 else f"{group[0]} +{len(group) - 1}" for group in groups]
    return labels, [_row(nodes, group, until, columns) for group in groups]


def _row(nodes: NodeSeries, group: Sequence[str], until: float, columns: int) -> list[float]:
    width = until / columns
    sums = [0.0] * columns
    for node in group:
        steps = [*nodes.steps.get(node, ()), (until, 0)]
        for (at, used), (then, _) in pairwise(steps):
            if used:
                for index, inside in slices(at, then - at, width, columns):
                    sums[index] += used * inside
    whole = sum(nodes.capacity[node] for node in group) * width
    return [value / whole if whole else 0.0 for value in sums]
