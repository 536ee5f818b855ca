"""Which fact about a node is missing in the log, given what the cluster shows. Pure."""

from __future__ import annotations

from muster.domain.nodes import (
    NodeChanged,
    NodeCondition,
    NodeFact,
    NodeJoined,
    NodeLeft,
    NodeShape,
    NodeState,
)

_ABSENT = {NodeCondition.GONE, NodeCondition.LOST}


def next_fact(
    known: NodeState | None, name: str, pool: str, cluster: str, shape: NodeShape | None
) -> NodeFact | None:
    """Return what to record about a node; shape None = the cluster does not have it.

    A reclaimed or fenced node that the cluster still shows stays what it is until a person or the
    cluster says otherwise.
    """
    if shape is None:
        present = known is not None and known.condition not in _ABSENT
        return NodeLeft() if present else None
    if known is None or known.condition in _ABSENT:
        return NodeJoined(pool=pool, node=name, cluster=cluster, shape=shape)
    return NodeChanged(shape=shape) if known.shape != shape else None
