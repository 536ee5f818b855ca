"""What nodes and pools have, what is used and what is free. Pure; GPUs are counted whole.

Free GPUs of different nodes are never added up to say that something fits: the pool shows how many
nodes have how many free. What is used comes from the jobs' `held`, the only place that knows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from muster.domain.nodes import NodeCondition, NodeState
from muster.domain.phases import Phase
from muster.domain.state import JobState

Fragments = Mapping[str, Mapping[int, int]]
"""GPU model -> free GPUs of a node -> number of schedulable nodes that have just so many."""


@dataclass(frozen=True, slots=True)
class Holding:
    """The workers of one job on one node."""

    tenant: str
    job: str
    workers: tuple[str, ...]
    gpus: int


@dataclass(frozen=True, slots=True)
class NodeUse:
    """A node and who is on it."""

    state: NodeState
    holdings: tuple[Holding, ...]

    @property
    def gpus_used(self) -> int:
        """GPUs that jobs hold."""
        return sum(holding.gpus for holding in self.holdings)

    @property
    def gpus_free(self) -> int:
        """GPUs that new work could have; 0 on a node that takes none."""
        if not self.state.schedulable:
            return 0
        return max(0, self.state.shape.gpus - self.gpus_used)


@dataclass(frozen=True, slots=True)
class PoolUse:
    """A pool at a glance."""

    nodes: int
    schedulable: int
    gpus: int
    gpus_used: int
    gpus_free: int
    fragments: Fragments
    jobs: Mapping[Phase, int]


def node_uses(nodes: Iterable[NodeState], jobs: Iterable[JobState]) -> list[NodeUse]:
    """Say who is on which node, in the order of the nodes given."""
    held: dict[tuple[str, str], list[Holding]] = defaultdict(list)
    for state in jobs:
        for node, workers in state.held.items():
            gpus = sum(state.demand.role_of(worker).gpus for worker in workers)
            held[state.pool, node].append(Holding(state.tenant, state.job, workers, gpus))
    return [NodeUse(node, tuple(held[node.pool, node.node])) for node in nodes]


def pool_use(uses: Iterable[NodeUse], jobs: Iterable[JobState]) -> PoolUse:
    """Sum up one pool: the nodes that are still part of it, and its jobs."""
    uses = [use for use in uses if use.state.condition is not NodeCondition.GONE]
    return PoolUse(
        nodes=len(uses),
        schedulable=sum(use.state.schedulable for use in uses),
        gpus=sum(use.state.shape.gpus for use in uses),
        gpus_used=sum(use.gpus_used for use in uses),
        gpus_free=sum(use.gpus_free for use in uses),
        fragments=_fragments(uses),
        jobs=Counter(state.phase for state in jobs),
    )


def _fragments(uses: Iterable[NodeUse]) -> dict[str, dict[int, int]]:
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for use in uses:
        if use.gpus_free:
            counts[use.state.shape.gpu_model][use.gpus_free] += 1
    return {model: dict(sorted(free.items())) for model, free in sorted(counts.items())}
