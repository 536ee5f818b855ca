"""The placement core: a node for every worker of a gang, or how many of which role fell short.

All or nothing. Used for free room, for room after an eviction, and for an empty pool alike. Does
not know why a node is there or not: it is given the nodes that a job may use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from muster.domain.demand import Role
from muster.domain.facts import Placement
from muster.domain.nodes import NodeShape
from muster.scheduler.core.amounts import Amounts, of_role
from muster.scheduler.core.doors import serves


@dataclass(frozen=True, slots=True)
class Site:
    """A node that a job may use, with the room that it would have there."""

    node: str
    shape: NodeShape
    free: Amounts
    second_choice: bool = False


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Of `need` workers of a role only `fits` have a node."""

    role: Role
    fits: int
    need: int


def place(roles: Sequence[Role], sites: Sequence[Site]) -> Placement | Shortfall:
    """Place every worker of every role. Does not depend on the order of roles or sites."""
    first = [site for site in sites if not site.second_choice]
    if 0 < len(first) < len(sites):
        found = _place(roles, first)
        if not isinstance(found, Shortfall):
            return found
    return _place(roles, sites)


def _place(roles: Sequence[Role], sites: Iterable[Site]) -> Placement | Shortfall:
    largest_first = sorted((r for r in roles if r.replicas), key=_size, reverse=True)
    found = _fill(largest_first, sites)
    if isinstance(found, Shortfall) and len(largest_first) > 1:
        # what is left between large workers may be no room for a small one: the other way round
        other = _fill(largest_first[::-1], sites)
        return found if isinstance(other, Shortfall) else other
    return found


def _size(role: Role) -> tuple[int, int, int, str]:
    need = of_role(role)
    return need.gpus, need.cpus, need.memory, role.name


def _fill(roles: Sequence[Role], sites: Iterable[Site]) -> Placement | Shortfall:
    rooms = {site.node: site for site in sites}
    free = {node: site.free for node, site in rooms.items()}
    placed: dict[str, list[str]] = {}
    for role in roles:
        need = of_role(role)
        counts = {
            node: min(count, role.replicas)
            for node, room in free.items()
            if serves(rooms[node].shape, role) and (count := room.holds(need))
        }
        total = sum(counts.values())
        if total < role.replicas:
            return Shortfall(role, total, role.replicas)
        workers = list(role.workers)
        for node, count in _share(role.replicas, counts, free):
            placed.setdefault(node, []).extend(workers[:count])
            del workers[:count]
            free[node] -= need * count
    return {node: tuple(workers) for node, workers in sorted(placed.items())}


def _share(
    replicas: int, counts: Mapping[str, int], free: Mapping[str, Amounts]
) -> Iterable[tuple[str, int]]:
    """Yield how many workers each node gets: few nodes, and the tightest that will do."""

    def tightness(node: str) -> tuple[int, int, int, str]:
        room = free[node]
        return room.gpus, room.cpus, room.memory, node

    left = replicas
    order = sorted(counts, key=lambda node: (-counts[node], tightness(node)))
    for index, node in enumerate(order):
        if counts[node] >= left:
            last = min((n for n in order[index:] if counts[n] >= left), key=tightness)
            yield last, left
            return
        yield node, counts[node]
        left -= counts[node]
