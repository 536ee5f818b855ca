"""Where a job may go: the nodes open to it with the room they have now, or would have.

The one place where the doors of a line are decided. Knows the board; moves nothing on it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from muster.domain.nodes import NodeState
from muster.domain.state import JobState
from muster.scheduler.core.board import Board
from muster.scheduler.core.doors import second_choice, shut
from muster.scheduler.core.fitting import KNOWN_DOORS, Fitting, doors_of, reachable
from muster.scheduler.core.jobs import JobKey
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rooms import Kind, Known, Moved, Site, Sites, gathered
from muster.scheduler.core.snapshot import Snapshot


class Ground:
    """The nodes of a pool during one round. looks: so many of them were looked at."""

    def __init__(
        self, nodes: Mapping[str, NodeState], board: Board, policy: Policy, snapshot: Snapshot
    ) -> None:
        self.fitting = Fitting(nodes, policy, snapshot)
        self._nodes, self._board, self._policy = nodes, board, policy
        self._snapshot = snapshot
        self._looks = 0
        self._known: dict[Hashable, Known] = {}
        self._touched: list[str] = []

    @property
    def looks(self) -> int:
        """Return how many nodes, or groups of equal ones, were looked at so far."""
        return self._looks + self.fitting.looks

    def touch(self, nodes: Iterable[str]) -> None:
        """Note that the board has changed there."""
        self._touched += nodes

    def open_to(self, state: JobState, *, avoiding: bool = True) -> Sites:
        """Return the nodes that a job may use now; not avoiding: those it should avoid too."""
        avoided = self.fitting.avoided_by(state) if avoiding else frozenset[str]()
        key = (
            doors_of(state.demand, self._policy),
            avoided,
            self._snapshot.blocked(state),
            frozenset(state.avoid),
            state.demand.tier < 2,
        )
        if key not in self._known:
            if len(self._known) >= KNOWN_DOORS:
                self._known.clear()
            self._known[key] = Known(self._gather(state, avoided), len(self._touched))
        return self._fresh(self._known[key])

    def _fresh(self, known: Known) -> Sites:
        for node in dict.fromkeys(self._touched[known.upto :]):
            if node in self._nodes:
                known.sites.enter(node, self._board.free(node))
        known.upto = len(self._touched)
        self._looks += len(known.sites.every.names)
        return known.sites

    def _gather(self, state: JobState, avoided: frozenset[str]) -> Sites:
        listed = list(reachable(self._nodes, state.demand))
        blocked = self._snapshot.blocked(state)
        self._looks += len(listed)
        return gathered(
            Site(name, node.shape, self._board.free(name), second_choice(node, state))
            for name, node in listed
            if shut(node, state, self._policy, avoided, blocked) is None
        )

    def without(self, sites: Sites, gone: frozenset[JobKey]) -> Moved:
        """Return the nodes that would have another room if some jobs were gone."""
        touched = {node for job in gone for node in self._board.nodes_of(job)}
        self._looks += len(touched) + len(sites.every.names)
        kinds = sites.every.kinds
        return {
            node: Kind(self._board.free(node, gone), kinds[node].gpu_model)
            for node in touched
            if node in kinds
        }
