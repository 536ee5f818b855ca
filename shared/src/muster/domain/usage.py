"""What is used and what is free on a node, counted as placement counts it. Pure.

For everybody who shows capacity: a shared card counts as one GPU as soon as one worker is on it,
and what others take is nobody's to give.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from muster.domain.nodes import NodeState
from muster.domain.state import JobState

CARD = 1000
"""Thousandths of one GPU."""


@dataclass(frozen=True, slots=True)
class Use:
    """What jobs have on one node. whole: GPUs that one worker has alone.

    cards: thousandths given of each shared card, by its number on the node.
    """

    whole: int = 0
    cards: Mapping[int, int] = field(default_factory=dict)

    @property
    def gpus(self) -> int:
        """GPUs that are in use, a shared one as one."""
        return self.whole + len(self.cards)

    @property
    def shared_milli(self) -> int:
        """Thousandths that are given of all shared cards together."""
        return sum(self.cards.values())

    def __add__(self, other: Use) -> Use:
        """Return what both have, on the same node."""
        numbers = sorted({*self.cards, *other.cards})
        cards = {n: self.cards.get(n, 0) + other.cards.get(n, 0) for n in numbers}
        return Use(self.whole + other.whole, cards)


def use_by(state: JobState, node: str) -> Use:
    """Return what a job has on a node. Who shares a card without a number has it alone."""
    used = Use()
    for worker in state.held.get(node, ()):
        role = state.demand.role_of(worker)
        card = state.cards.get(worker)
        if not role.gpu_milli or card is None:
            used += Use(role.gpus or min(1, role.gpu_milli))
        else:
            used += Use(0, {card: role.gpu_milli})
    return used


def total(uses: Iterable[Use]) -> Use:
    """Return what several jobs have together on the same node."""
    return sum(uses, Use())


def foreign_gpus(node: NodeState) -> int:
    """Return the GPUs that others take on a node."""
    return node.foreign.gpus if node.foreign else 0


def unused_gpus(node: NodeState, use: Use) -> int:
    """Return the GPUs of a node that nobody has, whether new work may go there or not."""
    return max(0, node.shape.gpus - use.gpus - foreign_gpus(node))


def free_gpus(node: NodeState, use: Use) -> int:
    """Return the GPUs that new work could have on a node."""
    return unused_gpus(node, use) if node.schedulable else 0


def shut_by(node: NodeState) -> str | None:
    """Return why a node takes no new work at all, None if it does."""
    if node.schedulable:
        return None
    if node.condition.value != "ready":
        return node.condition.value
    if node.cordoned:
        return "draining" if node.draining else "cordoned"
    return "excluded"
