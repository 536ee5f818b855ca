"""What nodes and pools have, what is used and what is free. Pure; a shared GPU counts as one.

Free GPUs of different nodes are never added up to say that something fits: the pool shows how many
nodes have how many free. What is used comes from the jobs' `held`, the only place that knows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from muster.domain.nodes import NodeCondition, NodeState
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.domain.usage import Use, foreign_gpus, free_gpus, shut_by, total, unused_gpus, use_by

Fragments = Mapping[str, Mapping[int, int]]
"""GPU model -> free GPUs of a node -> number of schedulable nodes that have just so many."""


@dataclass(frozen=True, slots=True)
class Holding:
    """The workers of one job on one node. cards: of those that share one, which."""

    tenant: str
    job: str
    workers: tuple[str, ...]
    use: Use
    cards: Mapping[str, int]

    @property
    def gpus(self) -> int:
        """GPUs that the job has there alone."""
        return self.use.whole


@dataclass(frozen=True, slots=True)
class NodeUse:
    """A node and who is on it. blocked: whoever asks may not use it."""

    state: NodeState
    holdings: tuple[Holding, ...]
    blocked: bool = False

    @property
    def shut(self) -> str | None:
        """What keeps new work of whoever asks off the node, None if nothing does."""
        return shut_by(self.state) or ("blocked" if self.blocked else None)

    @property
    def use(self) -> Use:
        """What jobs hold."""
        return total(holding.use for holding in self.holdings)

    @property
    def gpus_used(self) -> int:
        """GPUs that jobs hold, a shared one as one."""
        return self.use.gpus

    @property
    def gpus_foreign(self) -> int:
        """GPUs that others take."""
        return foreign_gpus(self.state)

    @property
    def gpus_free(self) -> int:
        """GPUs that new work could have; 0 on a node that takes none."""
        return 0 if self.blocked else free_gpus(self.state, self.use)


@dataclass(frozen=True, slots=True)
class PoolUse:
    """A pool at a glance. gpus_shut: unused GPUs of nodes that take no work, by what shuts them."""

    nodes: int
    schedulable: int
    gpus: int
    gpus_used: int
    gpus_foreign: int
    gpus_free: int
    gpus_shut: Mapping[str, int]
    fragments: Fragments
    jobs: Mapping[Phase, int]


Blocked = Callable[[NodeState], bool]


def node_uses(
    nodes: Iterable[NodeState],
    jobs: Iterable[JobState],
    blocked: Blocked = lambda node: False,
) -> list[NodeUse]:
    """Say who is on which node, in the order of the nodes given."""
    held: dict[tuple[str, str], list[Holding]] = defaultdict(list)
    for state in jobs:
        for node, workers in state.held.items():
            cards = {worker: state.cards[worker] for worker in workers if worker in state.cards}
            use = use_by(state, node)
            held[state.pool, node].append(Holding(state.tenant, state.job, workers, use, cards))
    return [NodeUse(n, tuple(held[n.pool, n.node]), blocked(n)) for n in nodes]


def pool_use(uses: Iterable[NodeUse], jobs: Iterable[JobState]) -> PoolUse:
    """Sum up one pool: the nodes that are still part of it, and its jobs."""
    uses = [use for use in uses if use.state.condition is not NodeCondition.GONE]
    return PoolUse(
        nodes=len(uses),
        schedulable=sum(use.shut is None for use in uses),
        gpus=sum(use.state.shape.gpus for use in uses),
        gpus_used=sum(use.gpus_used for use in uses),
        gpus_foreign=sum(use.gpus_foreign for use in uses),
        gpus_free=sum(use.gpus_free for use in uses),
        gpus_shut=_shut(uses),
        fragments=_fragments(uses),
        jobs=Counter(state.phase for state in jobs),
    )


def _shut(uses: Iterable[NodeUse]) -> dict[str, int]:
    counts = Counter[str]()
    for use in uses:
        if use.shut is not None:
            counts[use.shut] += unused_gpus(use.state, use.use)
    return {why: gpus for why, gpus in sorted(counts.items()) if gpus}


def _fragments(uses: Iterable[NodeUse]) -> dict[str, dict[int, int]]:
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for use in uses:
        if use.gpus_free:
            counts[use.state.shape.gpu_model][use.gpus_free] += 1
    return {model: dict(sorted(free.items())) for model, free in sorted(counts.items())}
