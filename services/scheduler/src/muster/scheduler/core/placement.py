"""The placement core: a node for every worker of a gang, or how many of which role fell short.

All or nothing. Used for free room, for room after an eviction, and for an empty pool alike. Does
not know why a node is there or not: it is given the nodes that a job may use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import groupby

from muster.domain.demand import Role
from muster.domain.facts import Placement
from muster.scheduler.core.amounts import of_role
from muster.scheduler.core.doors import has_model
from muster.scheduler.core.rooms import Kind, Rooms, Sites, View

UNCHANGED: Mapping[str, Kind] = {}

Tightness = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Of `need` workers of a role only `fits` have a node."""

    role: Role
    fits: int
    need: int


def place(
    roles: Sequence[Role], sites: Sites, moved: Mapping[str, Kind] = UNCHANGED
) -> Placement | Shortfall:
    """Place every worker of every role. Does not depend on the order of roles or sites.

    moved: nodes with another room than the sites say.
    """
    if sites.first is not None:
        found = _place(roles, sites.first, moved)
        if not isinstance(found, Shortfall):
            return found
    return _place(roles, sites.every, moved)


def _place(roles: Sequence[Role], rooms: Rooms, moved: Mapping[str, Kind]) -> Placement | Shortfall:
    largest_first = sorted((r for r in roles if r.replicas), key=_size, reverse=True)
    found = _fill(largest_first, View.of(rooms, moved))
    if isinstance(found, Shortfall) and len(largest_first) > 1:
        # what is left between large workers may be no room for a small one: the other way round
        other = _fill(largest_first[::-1], View.of(rooms, moved))
        return found if isinstance(other, Shortfall) else other
    return found


def _size(role: Role) -> tuple[int, int, int, str]:
    need = of_role(role)
    return need.gpus, need.cpus, need.memory, role.name


def _fill(roles: Sequence[Role], view: View) -> Placement | Shortfall:
    placed: dict[str, list[str]] = {}
    for role in roles:
        need = of_role(role)
        counts = _counts(role, view)
        total = sum(count * view.sizes[kind] for kind, count in counts.items())
        if total < role.replicas:
            return Shortfall(role, total, role.replicas)
        workers = list(role.workers)
        for node, count in _share(role.replicas, counts, view):
            placed.setdefault(node, []).extend(workers[:count])
            del workers[:count]
            kind = view.kind(node)
            view.move(node, kind._replace(free=kind.free - need * count))
    return {node: tuple(workers) for node, workers in sorted(placed.items())}


def _counts(role: Role, view: View) -> dict[Kind, int]:
    """Return how many workers a node of each kind holds."""
    need = of_role(role)
    return {
        kind: min(count, role.replicas)
        for kind, size in view.sizes.items()
        if size and has_model(kind.gpu_model, role) and (count := kind.free.holds(need))
    }


def _tightness(kind: Kind) -> Tightness:
    return kind.free.gpus, kind.free.cpus, kind.free.memory


def _share(replicas: int, counts: Mapping[Kind, int], view: View) -> list[tuple[str, int]]:
    """Return how many workers each node gets: few nodes, and the tightest that will do."""
    shares: list[tuple[str, int]] = []
    left, taken = replicas, set[str]()
    for kinds in _ranks(counts):
        count = counts[kinds[0]]
        for node in merge(*(view.nodes(kind) for kind in kinds)):
            if count >= left:
                enough = [kind for kind, holds in counts.items() if holds >= left]
                return [*shares, (_tightest(enough, view, taken), left)]
            shares.append((node, count))
            taken.add(node)
            left -= count
    return shares


def _ranks(counts: Mapping[Kind, int]) -> Iterator[list[Kind]]:
    """Yield kinds that go together: those that hold the most first, then the tightest."""

    def order(kind: Kind) -> tuple[int, Tightness]:
        return -counts[kind], _tightness(kind)

    return (list(kinds) for _, kinds in groupby(sorted(counts, key=order), key=order))


def _tightest(kinds: Sequence[Kind], view: View, taken: set[str]) -> str:
    firsts = (
        (_tightness(kind), next((n for n in view.nodes(kind) if n not in taken), None))
        for kind in kinds
    )
    return min((tight, node) for tight, node in firsts if node is not None)[1]
