"""Which fact about a node is missing in the log, given what the cluster shows. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from muster.domain.nodes import (
    ForeignUse,
    NodeChanged,
    NodeCondition,
    NodeFact,
    NodeJoined,
    NodeLeft,
    NodeOccupied,
    NodeReclaiming,
    NodeReclaimLapsed,
    NodeShape,
    NodeState,
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A node as the cluster shows it. reclaim_at: when it will be taken away, if that is known.

    foreign: what others than Muster take there now.
    """

    shape: NodeShape
    reclaim_at: datetime | None = None
    foreign: ForeignUse | None = None


_ABSENT = {NodeCondition.GONE, NodeCondition.LOST}


def next_fact(
    known: NodeState | None,
    shown: Shown | None,
    name: str,
    pool: str,
    cluster: str,
    now: datetime,
    lapse: timedelta,
) -> NodeFact | None:
    """Return what to record about a node; shown None = the cluster does not have it.

    A node that is still shown so long (`lapse`) after the last notice and its deadline was not
    taken, whoever gave the notice. A fenced node stays so until a person says otherwise.
    """
    if shown is None:
        present = known is not None and known.condition not in _ABSENT
        return NodeLeft() if present else None
    if known is None or known.condition in _ABSENT:
        foreign = told(None, shown.foreign)
        return NodeJoined(pool=pool, node=name, cluster=cluster, shape=shown.shape, foreign=foreign)
    if known.shape != shown.shape:
        return NodeChanged(shape=shown.shape)
    if shown.reclaim_at is not None and _is_news(known, shown.reclaim_at):
        return NodeReclaiming(deadline=shown.reclaim_at)
    if (deadline := _lapsed(known, shown.reclaim_at, now - lapse)) is not None:
        return NodeReclaimLapsed(deadline=deadline)
    foreign = told(known.foreign, shown.foreign)
    return NodeOccupied(foreign=foreign) if foreign != known.foreign else None


def _is_news(known: NodeState, reclaim_at: datetime) -> bool:
    if known.condition is NodeCondition.RECLAIMING:
        return known.deadline is None or reclaim_at < known.deadline
    return known.condition is NodeCondition.READY and reclaim_at != known.lapsed


def _lapsed(known: NodeState, still_shown: datetime | None, before: datetime) -> datetime | None:
    """Return the deadline that came to nothing."""
    if known.condition is not NodeCondition.RECLAIMING or known.deadline is None:
        return None
    last = max(known.deadline, still_shown or known.deadline)
    # a cloud's clock may be behind: a notice is never old before we have had it for a while
    return last if max(known.since, last) <= before else None


# --- foreign use -------------------------------------------------------------------------------

CPU_STEP = 1.0
MEMORY_STEP_MIB = 1024
"""Foreign use is told in whole steps of these, rounded up; GPUs and named resources exactly."""


def told(before: ForeignUse | None, now: ForeignUse | None) -> ForeignUse | None:
    """Return what to say of foreign use when `before` was said last.

    More is said at once. Less CPU or memory is said only when it is a step less than what a new
    word would say, so that use which trembles about a limit is not told again and again.
    """
    if now is None or now == ForeignUse():
        return None
    old = before or ForeignUse()
    return ForeignUse(
        gpus=now.gpus,
        cpus=_stepped(old.cpus, now.cpus, CPU_STEP),
        memory_mib=int(_stepped(old.memory_mib, now.memory_mib, MEMORY_STEP_MIB)),
        extended={name: amount for name, amount in sorted(now.extended.items()) if amount},
    )


def _stepped(before: float, now: float, step: float) -> float:
    covers = ceil(now / step) * step
    return before if covers <= before <= covers + step and now else covers
