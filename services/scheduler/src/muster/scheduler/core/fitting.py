"""Whether a job can ever run in its pool, room aside: the question before "is there room now?"."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping

from muster.domain.demand import Demand, LocalityMode, NodePolicyType
from muster.domain.nodes import NodeState
from muster.domain.state import JobState
from muster.scheduler.core.amounts import of_shape, room
from muster.scheduler.core.doors import Shut, barred, shut, wants_absent
from muster.scheduler.core.jobs import role_shape
from muster.scheduler.core.placement import PLAIN, How, Shortfall, how_for, place
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rooms import Site, Sites, gathered
from muster.scheduler.core.snapshot import Snapshot
from muster.scheduler.core.verdicts import Verdict, Waiting

Shape = tuple[object, ...]
"""Equal for jobs that the same nodes would suit in the same way."""

KNOWN_DOORS = 64
"""So many selections of nodes are remembered at a time."""


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


def reachable(nodes: Mapping[str, NodeState], demand: Demand) -> Iterator[tuple[str, NodeState]]:
    """Yield the nodes worth looking at: of a `NodeIn` those that it names."""
    policy = demand.node_policy
    if policy is None or policy.type is not NodePolicyType.NODE_IN:
        yield from nodes.items()
        return
    yield from ((name, nodes[name]) for name in sorted(set(policy.nodes)) if name in nodes)


class Fitting:
    """The pool with every node empty. looks: how many nodes were looked at."""

    def __init__(self, nodes: Mapping[str, NodeState], policy: Policy, snapshot: Snapshot) -> None:
        self.looks = 0
        self._nodes, self._policy, self._snapshot = nodes, policy, snapshot
        self._present = frozenset(nodes)
        self._rooms = {name: room(of_shape(node.shape)) for name, node in nodes.items()}
        self._known: dict[Hashable, Sites] = {}

    def never_fits(self, state: JobState) -> Verdict | None:
        """Say what keeps a job out even with every node empty and open, if anything does."""
        demand = state.demand
        key = doors_of(demand, self._policy)
        sites = self._empty(key, demand, lambda node: barred(node, demand, self._policy))
        found = place(demand.roles, sites, how=self._how(demand))
        if not isinstance(found, Shortfall):
            return None
        if absent := wants_absent(demand, self._present):
            return Verdict(Waiting.NODES_ABSENT, found, absent)
        return Verdict(Waiting.NEVER_FITS, found)

    def shut_out(self, state: JobState, avoided: frozenset[str]) -> bool:
        """Tell whether shut nodes keep a job out: the open ones are too few even if empty."""
        demand = state.demand
        blocked = self._snapshot.blocked(state)
        key = (doors_of(demand, self._policy), avoided, blocked)
        sites = self._empty(
            key, demand, lambda node: shut(node, state, self._policy, avoided, blocked)
        )
        return isinstance(place(demand.roles, sites, how=self._how(demand)), Shortfall)

    def _how(self, demand: Demand) -> How:
        """Return what a job must have; what it would rather have is not looked at."""
        locality = demand.locality
        if locality is None or locality.mode is LocalityMode.PREFERRED:
            return PLAIN
        return how_for(demand, PLAIN.taste, self._policy.levels)

    def avoided_by(self, state: JobState) -> frozenset[str]:
        """Return the nodes that a job must avoid, as far as it can.

        A node that came anew since the job was queued is only its second choice. So are all of
        them where the other open nodes could never hold the gang: avoiding would be waiting for
        ever.
        """
        avoided = frozenset(name for name in state.avoid if not self._came_anew(name, state))
        if avoided and self.shut_out(state, avoided):
            return frozenset()
        return avoided

    def _came_anew(self, name: str, state: JobState) -> bool:
        node = self._nodes.get(name)
        return node is not None and node.since > state.since

    def _empty(
        self, key: Hashable, demand: Demand, closed: Callable[[NodeState], Shut | None]
    ) -> Sites:
        if key not in self._known:
            if len(self._known) >= KNOWN_DOORS:
                self._known.clear()
            listed = list(reachable(self._nodes, demand))
            self.looks += len(listed)
            self._known[key] = gathered(
                Site(name, node.shape, self._rooms[name])
                for name, node in listed
                if closed(node) is None
            )
        self.looks += len(self._known[key].every.names)
        return self._known[key]
