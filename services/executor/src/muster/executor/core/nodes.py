"""Which fact about a node is missing in the log, given what the cluster shows. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from muster.domain.nodes import (
    NodeChanged,
    NodeCondition,
    NodeFact,
    NodeJoined,
    NodeLeft,
    NodeReclaiming,
    NodeShape,
    NodeState,
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A node as the cluster shows it. reclaim_at: when it will be taken away, if that is known."""

    shape: NodeShape
    reclaim_at: datetime | None = None


_ABSENT = {NodeCondition.GONE, NodeCondition.LOST}


def next_fact(
    known: NodeState | None, shown: Shown | None, name: str, pool: str, cluster: str
) -> NodeFact | None:
    """Return what to record about a node; shown None = the cluster does not have it.

    A reclaimed or fenced node that the cluster still shows stays what it is until a person or the
    cluster says otherwise.
    """
    if shown is None:
        present = known is not None and known.condition not in _ABSENT
        return NodeLeft() if present else None
    if known is None or known.condition in _ABSENT:
        return NodeJoined(pool=pool, node=name, cluster=cluster, shape=shown.shape)
    if known.shape != shown.shape:
        return NodeChanged(shape=shown.shape)
    if shown.reclaim_at is not None and _is_news(known, shown.reclaim_at):
        return NodeReclaiming(deadline=shown.reclaim_at)
    return None


def _is_news(known: NodeState, reclaim_at: datetime) -> bool:
    if known.condition is NodeCondition.RECLAIMING:
        return known.deadline is None or reclaim_at < known.deadline
    return known.condition is NodeCondition.READY
