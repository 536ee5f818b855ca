"""Whether a job can ever run in its pool, room aside: the question before "is there room now?"."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from muster.domain.demand import Role
from muster.domain.nodes import NodeState
from muster.domain.state import JobState
from muster.scheduler.core.amounts import of_shape
from muster.scheduler.core.doors import barred, shut, wants_absent
from muster.scheduler.core.placement import Shortfall, Site, place
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.verdicts import Verdict, Waiting

Shape = tuple[object, ...]
"""Equal for jobs that the same nodes would suit in the same way."""


def shape_of(state: JobState, policy: Policy) -> Shape:
    """Return everything of a job that placement looks at, but not its rank."""
    demand = state.demand
    nodes = demand.node_policy
    return (
        tuple(sorted(_role_shape(role) for role in demand.roles)),
        (nodes.type, nodes.nodes) if nodes else None,
        demand.zone,
        (state.avoid, state.since) if state.avoid else None,
        demand.tier < 2,
        demand.resource_class in policy.on_spot and not demand.guarantee,
    )


def _role_shape(role: Role) -> tuple[object, ...]:
    extended = tuple(sorted(role.extended.items()))
    model = role.gpu_model or ""
    return role.name, role.replicas, role.gpus, model, role.cpus, role.memory_mib, extended


def never_fits(state: JobState, nodes: Mapping[str, NodeState], policy: Policy) -> Verdict | None:
    """Say what keeps a job out even of the empty pool with every node open, if anything does."""
    absent = wants_absent(state.demand, frozenset(nodes))
    sites = [
        Site(name, node.shape, of_shape(node.shape))
        for name, node in nodes.items()
        if barred(node, state.demand, policy) is None
    ]
    found = place(state.demand.roles, sites)
    if not isinstance(found, Shortfall):
        return None
    if absent:
        return Verdict(Waiting.NODES_ABSENT, found, absent)
    return Verdict(Waiting.NEVER_FITS, found)


def shut_out(
    state: JobState, nodes: Mapping[str, NodeState], policy: Policy, avoided: Collection[str]
) -> bool:
    """Tell whether shut nodes keep a job out: the open ones are too few even if empty."""
    sites = [
        Site(name, node.shape, of_shape(node.shape))
        for name, node in nodes.items()
        if shut(node, state, policy, avoided) is None
    ]
    return isinstance(place(state.demand.roles, sites), Shortfall)


def avoided_by(state: JobState, nodes: Mapping[str, NodeState], policy: Policy) -> frozenset[str]:
    """Return the nodes that a job must avoid, as far as it can.

    A node that came anew since the job was queued is only its second choice. So are all of them
    where the other open nodes could never hold the gang: avoiding would be waiting for ever.
    """
    avoided = frozenset(name for name in state.avoid if not _came_anew(name, state, nodes))
    if avoided and shut_out(state, nodes, policy, avoided):
        return frozenset()
    return avoided


def _came_anew(name: str, state: JobState, nodes: Mapping[str, NodeState]) -> bool:
    node = nodes.get(name)
    return node is not None and node.since > state.since
