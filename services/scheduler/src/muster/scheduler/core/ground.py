"""Where a job may go: the nodes open to it with the room they have now, or would have.

The one place where the doors of a line are decided. Knows the board; moves nothing on it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from muster.domain.demand import ResourceClass, StabilityLevel
from muster.domain.nodes import NodeState
from muster.domain.state import JobState
from muster.domain.survival import Outlook
from muster.scheduler.core.amounts import NOTHING, Room, room
from muster.scheduler.core.board import NOBODY, Board
from muster.scheduler.core.doors import second_choice, shut
from muster.scheduler.core.fitting import Fitting, among, doors_of
from muster.scheduler.core.jobs import JobKey
from muster.scheduler.core.memory import Memory
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rank import Level
from muster.scheduler.core.rooms import Kind, Moved, Sites
from muster.scheduler.core.selections import Wanted
from muster.scheduler.core.snapshot import Snapshot
from muster.scheduler.core.stability import allows, risks
from muster.scheduler.core.stays import level_of
from muster.scheduler.core.steadiness import bounds, outlook


class Ground:
    """The nodes of a pool during one round. looks: so many of them were looked at."""

    def __init__(self, memory: Memory, board: Board, policy: Policy, snapshot: Snapshot) -> None:
        self._memory, self._board, self._policy = memory, board, policy
        self._snapshot = snapshot
        self._selections = memory.selections
        self._bounds = bounds(snapshot.stability)
        self._steady: dict[StabilityLevel, frozenset[str]] = {}
        self._risk: Mapping[str, float] | None = None
        self._before = self._selections.looks
        self._looks = 0
        self.fitting = Fitting(memory.nodes, policy, snapshot, self._selections)

    @property
    def looks(self) -> int:
        """Return how many nodes, or groups of equal ones, were looked at so far."""
        return self._looks + self._selections.looks - self._before

    def touch(self, nodes: Iterable[str]) -> None:
        """Note that the board has changed there."""
        self._memory.touch(nodes)

    def open_to(
        self, state: JobState, *, avoiding: bool = True, but_for: frozenset[JobKey] = NOBODY
    ) -> Sites:
        """Return the nodes that a job may use now; not avoiding: those it should avoid too.

        but_for: jobs that do not count.
        """
        avoided = self.fitting.avoided_by(state) if avoiding else frozenset[str]()
        blocked, steady = self._snapshot.blocked(state), self._steady_for(state)

        def opens(node: NodeState) -> bool:
            if steady is not None and node.node not in steady:
                return False
            return shut(node, state, self._policy, avoided, blocked) is None

        def second(node: NodeState) -> bool:
            return second_choice(node, state)

        def left(node: str) -> Room:
            return self._board.free(node, but_for)

        doors = doors_of(state.demand, self._policy)
        avoids, spotty = frozenset(state.avoid), state.demand.tier < 2
        key = "open", but_for, doors, avoided, blocked, avoids, spotty, steady
        names = among(state.demand)
        return self._selections.get(Wanted(key, opens, left, second, names))

    def _steady_for(self, state: JobState) -> frozenset[str] | None:
        """Return the nodes that are steady enough for an idle job, as they are when a round first
        asks; None = all."""
        if state.demand.resource_class is not ResourceClass.IDLE:
            return None
        level = level_of(state)
        bound = self._bounds[level]
        if bound is None:
            return None
        if level not in self._steady:
            risk = self._risks()
            self._steady[level] = frozenset(n for n, value in risk.items() if allows(bound, value))
        return self._steady[level]

    def _risks(self) -> Mapping[str, float]:
        """Return the risk of each node that takes new work, as it is when a round first asks."""
        if self._risk is None:
            wanted = Wanted(("risk",), lambda node: node.schedulable, self._board.free)
            rooms = self._selections.get(wanted).every
            sizes = {kind: len(names) for kind, names in rooms.names.items()}
            by_kind = risks(sizes, self._memory.market)
            self._risk = {name: by_kind[kind] for name, kind in rooms.kinds.items()}
        return self._risk

    def outlook(self, state: JobState, nodes: Iterable[str]) -> Outlook | None:
        """Return how long an idle job is likely to stay on nodes; None for other jobs."""
        if state.demand.resource_class is not ResourceClass.IDLE:
            return None
        risk = max((self._risks().get(node, 0.0) for node in nodes), default=0.0)
        told = self._snapshot.stability
        return outlook(told, level_of(state), risk, self._snapshot.now)

    def at_best(self, state: JobState, top: Level, leaving: Collection[JobKey]) -> Sites:
        """Return the nodes as they would be if all were gone who leave or may be sent off, up to
        a level: more room than any search can find. leaving: told to in this round, among others.
        """
        avoided, blocked = self.fitting.avoided_by(state), self._snapshot.blocked(state)
        holders = self._memory.holders

        def opens(node: NodeState) -> bool:
            return shut(node, state, self._policy, avoided, blocked) is None

        def free(node: str) -> Room:
            there = self._board.claimants(node)
            return self._board.free(node, holders.who_may_go(there, top, leaving))

        key = "best", doors_of(state.demand, self._policy), avoided, blocked, top
        return self._selections.get(Wanted(key, opens, free, among=among(state.demand)))

    def emptied(self, sites: Sites, nodes: Iterable[str]) -> Moved:
        """Return these nodes as if they had no room at all."""
        kinds = sites.every.kinds
        nothing = room(NOTHING)
        return {node: Kind(nothing, kinds[node].gpu_model) for node in nodes if node in kinds}

    def without(
        self, sites: Sites, gone: frozenset[JobKey], touched: set[str] | None = None
    ) -> Moved:
        """Return the nodes that would have another room if some jobs were gone. touched: on which
        they have something, where that is known."""
        if touched is None:
            touched = {node for job in gone for node in self._board.nodes_of(job)}
        self._looks += len(touched) + len(sites.every.names)
        kinds = sites.every.kinds
        return {
            node: Kind(self._board.free(node, gone), kinds[node].gpu_model)
            for node in touched
            if node in kinds
        }
