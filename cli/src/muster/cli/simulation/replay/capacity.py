"""Nodes that come and go in the course of a replay: spot capacity in steps, losses, drains.

Says to the log what an executor or an operator would; what follows for jobs is the scheduler's and
fault tolerance's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from muster.cli.simulation.replay.book import Book
from muster.cli.simulation.replay.intake import POOL
from muster.cli.simulation.replay.machines import Machines
from muster.domain.edges import Owner
from muster.domain.nodes import (
    NodeCondition,
    NodeDrained,
    NodeFenced,
    NodeJoined,
    NodeLeft,
    NodeLost,
    NodeReclaiming,
    NodeShape,
    NodeUncordoned,
)
from muster.scheduler.core.snapshot import JobKey

CLUSTER = "replay"


class Happens(StrEnum):
    """What may happen to a node."""

    RECLAIM = "reclaim"
    LOST = "lost"
    BACK = "back"
    DRAIN = "drain"
    UNCORDON = "uncordon"


@dataclass(frozen=True, slots=True)
class NodeStep:
    """One thing that happens to one node."""

    at_s: float
    node: str
    happens: Happens


class Capacity:
    """The nodes of a replay. changed: since somebody last set it to False."""

    def __init__(self, book: Book, machines: Machines, shapes: Mapping[str, NodeShape]) -> None:
        self._book, self._machines, self._shapes = book, machines, shapes
        self._going: dict[str, None] = {}
        self.changed = False
        self._acts: dict[Happens, Callable[[str], None]] = {
            Happens.RECLAIM: self._reclaim,
            Happens.LOST: self._lose,
            Happens.BACK: self._join,
            Happens.DRAIN: self._drain,
            Happens.UNCORDON: self._uncordon,
        }

    def open(self) -> None:
        """Let every node join."""
        for node in self._shapes:
            self._join(node)

    def take(self, step: NodeStep) -> None:
        """Let one thing happen. What cannot happen to a node as it is, does not."""
        self._acts[step.happens](step.node)

    def tidy(self) -> None:
        """Let nodes go that were taken back and hold nothing any more."""
        if not self._going:
            return
        used = {node for last in self._book.jobs.values() for node in last.job.held}
        for node in [node for node in self._going if node not in used]:
            del self._going[node]
            self._book.write_node(Owner.EXECUTOR, node, NodeLeft())

    def _condition(self, node: str) -> NodeCondition | None:
        last = self._book.fold.nodes.get(node)
        return last.node.condition if last else None

    def _join(self, node: str) -> None:
        if self._condition(node) is NodeCondition.READY:
            return
        self._going.pop(node, None)
        joined = NodeJoined(pool=POOL, node=node, cluster=CLUSTER, shape=self._shapes[node])
        self._book.write_node(Owner.EXECUTOR, node, joined)

    def _reclaim(self, node: str) -> None:
        if self._condition(node) is not NodeCondition.READY:
            return
        now = self._book.clock.now()
        self._book.write_node(Owner.EXECUTOR, node, NodeReclaiming(deadline=now))
        self._going[node] = None

    def _lose(self, node: str) -> None:
        if self._condition(node) not in {NodeCondition.READY, NodeCondition.RECLAIMING}:
            return
        self._going.pop(node, None)
        self._book.write_node(Owner.EXECUTOR, node, NodeLost())
        self._book.write_node(Owner.EXECUTOR, node, NodeFenced())
        if self._shapes[node].spot:
            return  # the scheduler takes it for a reclaim, with notice or without
        for key in self._on(node):
            self._machines.lose(key, node)

    def _on(self, node: str) -> list[JobKey]:
        return [key for key, last in self._book.jobs.items() if node in last.job.held]

    def _drain(self, node: str) -> None:
        self._book.write_node(Owner.ADMISSION, node, NodeDrained())

    def _uncordon(self, node: str) -> None:
        self._book.write_node(Owner.ADMISSION, node, NodeUncordoned())
