"""Which nodes a job may use at all, room aside, and what shuts the others.

One predicate for placement, eviction, explanation and the question whether a job can ever fit.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from muster.domain.demand import Demand, NodePolicyType, Role
from muster.domain.nodes import NodeCondition, NodeShape, NodeState, Taint, TaintEffect
from muster.domain.state import JobState
from muster.scheduler.core.policy import Policy


class Shut(StrEnum):
    """Why a node takes no worker of a job."""

    GONE = "gone"
    LOST = "lost"
    FENCED = "fenced"
    RECLAIMING = "reclaiming"
    DRAINING = "draining"
    CORDONED = "cordoned"
    EXCLUDED = "excluded"
    POLICY = "policy"
    ZONE = "zone"
    AVOID = "avoid"
    SPOT = "spot"
    TAINT = "taint"
    BLOCKED = "blocked"


_CONDITIONS = {
    NodeCondition.GONE: Shut.GONE,
    NodeCondition.LOST: Shut.LOST,
    NodeCondition.FENCED: Shut.FENCED,
    NodeCondition.RECLAIMING: Shut.RECLAIMING,
}


def shut(
    node: NodeState,
    state: JobState,
    policy: Policy,
    avoided: Collection[str],
    blocked: Collection[str] = (),
) -> Shut | None:
    """Return what keeps a job off a node now, if anything does. avoided: see `avoided_by`.

    blocked: by the lists of the job's tenant and user.
    """
    for_ever = barred(node, state.demand, policy)
    if for_ever is not None:
        return for_ever
    if node.node in blocked:
        return Shut.BLOCKED
    if node.condition in _CONDITIONS:
        return _CONDITIONS[node.condition]
    if node.cordoned:
        return Shut.DRAINING if node.draining else Shut.CORDONED
    if node.excluded_until is not None:
        return Shut.EXCLUDED
    if node.shape.taints and untolerated(node.shape, state.demand, *_KEEP_OFF):
        return Shut.TAINT
    return Shut.AVOID if node.node in avoided else None


def barred(node: NodeState, demand: Demand, policy: Policy) -> Shut | None:
    """Return what keeps a job off a node whatever the node's condition, None if nothing does."""
    if demand.node_policy is not None and not demand.node_policy.allows(node.node):
        return Shut.POLICY
    if demand.zone is not None and demand.zone != node.shape.zone:
        return Shut.ZONE
    if node.shape.spot and (demand.guarantee or demand.resource_class not in policy.on_spot):
        return Shut.SPOT
    return None


_KEEP_OFF = (TaintEffect.NO_SCHEDULE, TaintEffect.NO_EXECUTE)


def untolerated(shape: NodeShape, demand: Demand, *effects: TaintEffect) -> Taint | None:
    """Return the first taint with one of these effects that a job does not put up with."""
    for taint in shape.taints:
        if taint.effect in effects and not _tolerates(demand, taint):
            return taint
    return None


def _tolerates(demand: Demand, taint: Taint) -> bool:
    return any(
        one.key in {None, taint.key} and one.value in {None, taint.value}
        for one in demand.tolerations
    )


def keeps_off(node: NodeState, demand: Demand) -> bool:
    """Tell whether a taint of the node keeps new work of a job off it."""
    return untolerated(node.shape, demand, *_KEEP_OFF) is not None


def drives_out(node: NodeState, demand: Demand) -> bool:
    """Tell whether a taint of the node ends what a job has running there."""
    return untolerated(node.shape, demand, TaintEffect.NO_EXECUTE) is not None


def is_there(node: NodeState) -> bool:
    """Tell whether the node belongs to the pool, in whatever condition."""
    return node.condition is not NodeCondition.GONE


def serves(shape: NodeShape, role: Role) -> bool:
    """Tell whether a node has the GPU model that a role asks for."""
    return has_model(shape.gpu_model, role)


def has_model(gpu_model: str, role: Role) -> bool:
    """Tell whether GPUs of this model serve a role: one of its alternatives, joined with `|`."""
    if not (role.gpus or role.gpu_milli) or role.gpu_model is None:
        return True
    return gpu_model in role.gpu_model.split("|")


def wants_absent(demand: Demand, present: frozenset[str]) -> tuple[str, ...]:
    """Return the nodes that a `NodeIn` names and the pool does not have."""
    policy = demand.node_policy
    if policy is None or policy.type is not NodePolicyType.NODE_IN:
        return ()
    return tuple(node for node in policy.nodes if node not in present)


def second_choice(node: NodeState, state: JobState) -> bool:
    """Tell whether a node is used only when the gang does not fit without it.

    A node under suspicion or to be avoided, or with a taint that asks for it; for jobs that may use
    spot capacity, every other node.
    """
    if node.suspected or node.node in state.avoid:
        return True
    if untolerated(node.shape, state.demand, TaintEffect.PREFER_NO_SCHEDULE):
        return True
    return not node.shape.spot and state.demand.tier < 2
