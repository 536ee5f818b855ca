"""Whether a job can ever run in its pool, room aside: the question before "is there room now?"."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from muster.domain.demand import Demand, LocalityMode, NodePolicyType
from muster.domain.nodes import NodeState
from muster.domain.state import JobState
from muster.scheduler.core.amounts import Room, of_shape, room
from muster.scheduler.core.doors import barred, shut, wants_absent
from muster.scheduler.core.jobs import role_shape
from muster.scheduler.core.placement import PLAIN, How, Placed, Shortfall, how_for, place
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rooms import Sites
from muster.scheduler.core.selections import Names, Opens, Selections, Wanted
from muster.scheduler.core.snapshot import Snapshot
from muster.scheduler.core.verdicts import Verdict, Waiting

Shape = tuple[object, ...]
"""Equal for jobs that the same nodes would suit in the same way."""


def shape_of(state: JobState, policy: Policy) -> Shape:
    """Return everything of a job that placement looks at, but not its rank."""
    return (
        tuple(sorted(role_shape(role) for role in state.demand.roles)),
        doors_of(state.demand, policy),
        (state.avoid, state.since) if state.avoid else None,
        state.demand.tier < 2,
        state.demand.locality,
        state.demand.stability_level if state.demand.tier == 0 else None,
    )


def doors_of(demand: Demand, policy: Policy) -> Hashable:
    """Return everything by which `barred` tells nodes apart for a job."""
    nodes = demand.node_policy
    return (
        (nodes.type, nodes.nodes) if nodes else None,
        demand.zone,
        demand.resource_class in policy.on_spot and not demand.guarantee,
        demand.tolerations,
    )


def among(demand: Demand) -> Names:
    """Return the nodes worth looking at: of a `NodeIn` those that it names, else all (None)."""
    policy = demand.node_policy
    if policy is None or policy.type is not NodePolicyType.NODE_IN:
        return None
    return tuple(sorted(set(policy.nodes)))


class Fitting:
    """The pool with every node empty. selections: where there are some that remember it."""

    def __init__(
        self,
        nodes: Mapping[str, NodeState],
        policy: Policy,
        snapshot: Snapshot,
        selections: Selections | None = None,
    ) -> None:
        self._nodes, self._policy, self._snapshot = nodes, policy, snapshot
        self._selections = selections or Selections(nodes)

    def never_fits(self, state: JobState) -> Verdict | None:
        """Say what keeps a job out even with every node empty and open, if anything does for
        certain."""
        demand = state.demand
        key = "ever", doors_of(demand, self._policy)
        sites = self._empty(key, demand, lambda node: barred(node, demand, self._policy) is None)
        found = place(demand.roles, sites, how=self._how(demand))
        if not isinstance(found, Shortfall) or not found.sure:
            return None
        if absent := wants_absent(demand, frozenset(self._nodes)):
            return Verdict(Waiting.NODES_ABSENT, found, absent)
        return Verdict(Waiting.NEVER_FITS, found)

    def shut_out(self, state: JobState, avoided: frozenset[str]) -> bool:
        """Tell whether shut nodes keep a job out for certain: the open ones are too few even if
        empty."""
        found = self._in_open(state, avoided)
        return isinstance(found, Shortfall) and found.sure

    def _in_open(self, state: JobState, avoided: frozenset[str]) -> Placed | Shortfall:
        demand = state.demand
        blocked = self._snapshot.blocked(state)
        key = "empty", doors_of(demand, self._policy), avoided, blocked

        def opens(node: NodeState) -> bool:
            return shut(node, state, self._policy, avoided, blocked) is None

        return place(demand.roles, self._empty(key, demand, opens), how=self._how(demand))

    def _how(self, demand: Demand) -> How:
        """Return what a job must have; what it would rather have is not looked at."""
        locality = demand.locality
        if locality is None or locality.mode is LocalityMode.PREFERRED:
            return PLAIN
        return how_for(demand, PLAIN.taste, self._policy.levels)

    def avoided_by(self, state: JobState) -> frozenset[str]:
        """Return the nodes that a job must avoid, as far as it can.

        A node that came anew since the job was queued is only its second choice. So are all of
        them where no place for the gang is found on the other open nodes even if empty: avoiding
        would be waiting for ever.
        """
        avoided = frozenset(name for name in state.avoid if not self._came_anew(name, state))
        if avoided and isinstance(self._in_open(state, avoided), Shortfall):
            return frozenset()
        return avoided

    def _came_anew(self, name: str, state: JobState) -> bool:
        node = self._nodes.get(name)
        return node is not None and node.since > state.since

    def _empty(self, key: Hashable, demand: Demand, opens: Opens) -> Sites:
        return self._selections.get(Wanted(key, opens, self._room, among=among(demand)))

    def _room(self, node: str) -> Room:
        return room(of_shape(self._nodes[node].shape))
