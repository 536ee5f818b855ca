"""What a pool usually runs, and on what: all that the policies of placement know of it.

A pure function of nodes and jobs, so that the same snapshot always gives the same plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from muster.domain.demand import ResourceClass, Role
from muster.domain.nodes import NodeState
from muster.domain.state import JobState
from muster.scheduler.core.amounts import Amounts, Need, of_role, of_shape
from muster.scheduler.core.scoring import Market, usual

Asked = tuple[Need, frozenset[str] | None]
"""The shape of a worker: what it needs, and the GPU models that serve it; None = any."""


def market_of(nodes: Iterable[NodeState], jobs: Iterable[tuple[JobState, int]]) -> Market:
    """Return what policies may know of a pool. Idle jobs do not count: they take what is left.

    jobs: each stands for so many equal ones.
    """
    return market(
        fleet_of((node.shape.gpu_model, of_shape(node.shape)) for node in nodes), counted(jobs)
    )


class Fleet(NamedTuple):
    """What a pool has: cards by model, and the most cores and cards of one node."""

    cards: tuple[tuple[str, int], ...]
    most_cpus: int
    most_gpus: int


def fleet_of(nodes: Iterable[tuple[str, Amounts]]) -> Fleet:
    """Return what a pool has. nodes: the model of each, and what it offers."""
    cards: dict[str, int] = {}
    most_cpus = most_gpus = 1
    for model, amounts in nodes:
        cards[model] = cards.get(model, 0) + amounts.gpus
        most_cpus, most_gpus = max(most_cpus, amounts.cpus), max(most_gpus, amounts.gpus)
    return Fleet(tuple(sorted(cards.items())), most_cpus, most_gpus)


def market(fleet: Fleet, workers: Mapping[Asked, int]) -> Market:
    """Put together what a pool has and runs."""
    shapes = usual((need, models, n) for (need, models), n in workers.items())
    return Market(shapes, *fleet)


def counted(jobs: Iterable[tuple[JobState, int]], *, idle: bool = False) -> dict[Asked, int]:
    """Return how many workers of each shape jobs have. idle: whether idle jobs count."""
    known: dict[tuple[object, ...], Asked] = {}
    counts: dict[Asked, int] = {}
    for state, times in jobs:
        if state.demand.resource_class is ResourceClass.IDLE and not idle:
            continue
        for role in state.demand.roles:
            key = role.gpus, role.gpu_milli, role.gpu_model, role.cpus, role.memory_mib
            if key not in known:
                known[key] = asked_by(role)
            shape = known[key]
            counts[shape] = counts.get(shape, 0) + times * role.replicas
    return counts


def asked_by(role: Role) -> Asked:
    """Return the shape of a role's workers, without its extended resources."""
    need = of_role(role)._replace(extended=())
    model = role.gpu_model if need.gpus or need.milli else None
    return need, frozenset(model.split("|")) if model else None
