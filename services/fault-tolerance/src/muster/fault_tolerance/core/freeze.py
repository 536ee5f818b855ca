"""Mass silence: much of a pool is not heard of at once. Unknown is not dead. Pure.

When a network, a control plane or a power line goes, nodes fall silent together, and most of them
still run. So nothing that destroys is done on the strength of their silence: no replacement because
a node was lost, no end of a job that seems to hang, no exclusion. It is over when enough of them
are heard of again or proven dead, or when an operator says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from muster.domain.incidents import (
    NODES,
    Incident,
    IncidentClosed,
    IncidentFact,
    IncidentKind,
    IncidentOpened,
    IncidentUpdated,
    incident_id,
)
from muster.domain.nodes import NodeCondition, NodeState


@dataclass(frozen=True, slots=True)
class SilenceLimits:
    """Silence of so many nodes, or of such a share of a pool, beginning within `within`.

    least: one node alone is never a mass, however small its pool. doubted: so long a node that the
    cluster no longer lists counts as silent among `nodes`, if nobody had announced it.
    """

    nodes: int = 5
    share: float = 0.20
    within: timedelta = timedelta(seconds=60)
    least: int = 2
    doubted: timedelta = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Frozen:
    """A pool in which nothing destructive may be done. since: the first of `nodes` was lost."""

    pool: str
    since: datetime
    nodes: tuple[str, ...]
    en: str
    zh: str


LIMITS = SilenceLimits()


def _vanished(node: NodeState, now: datetime, limits: SilenceLimits) -> bool:
    """Tell whether a node is gone that nobody had announced, a moment ago.

    Spot capacity goes in masses as it likes; what was closed or announced was meant to go.
    """
    meant = node.shape.spot or node.cordoned or node.deadline is not None
    gone = node.condition is NodeCondition.GONE
    return gone and not meant and now - node.since < limits.doubted


def silence_id(pool: str) -> str:
    """Return the id of a pool's silence."""
    return incident_id(IncidentKind.SILENCE, pool)


def frozen(
    pool: str,
    nodes: Iterable[NodeState],
    now: datetime,
    last: Incident | None = None,
    limits: SilenceLimits = LIMITS,
) -> Frozen | None:
    """Return why nothing destructive may be done in a pool, None while it is heard of.

    nodes: of the pool, those that are gone too. last: its last silence, if any; nodes that an
    operator knew of when he ended it are what they seem.
    """
    known = list(nodes)
    word = last.closed_at if last is not None and last.closed_by else None
    fresh = [node for node in known if word is None or node.since > word]
    lost = [node for node in fresh if node.condition is NodeCondition.LOST]
    vanished = [node for node in fresh if _vanished(node, now, limits)]
    there = [node for node in known if node.condition is not NodeCondition.GONE]
    silent = _together(lost, enough(len(there), limits), limits.within)
    # a few machines may well be taken away without a word; not many at once
    silent = silent or _together(lost + vanished, limits.nodes, limits.within)
    if not silent:
        return None
    names = tuple(sorted(node.node for node in silent))
    everyone = {node.node for node in there} | set(names)
    numbers = {"pool": pool, "count": len(names), "all": len(everyone)}
    return Frozen(
        pool=pool,
        since=min(node.since for node in silent),
        nodes=names,
        en=_EN.format(**numbers),
        zh=_ZH.format(**numbers),
    )


def next_fact(known: Incident | None, found: Frozen | None, now: datetime) -> IncidentFact | None:
    """Return what there is to say of a pool's silence. known: its last one. found: see `frozen`."""
    if known is None or not known.open:
        return None if found is None else IncidentOpened(incident=_of(found, known, now))
    if found is None:
        return IncidentClosed(incident=known.model_copy(update={"closed_at": now}))
    if found.nodes[:NODES] == known.nodes:
        return None
    update = {"nodes": found.nodes[:NODES], "last_at": now, "en": found.en, "zh": found.zh}
    return IncidentUpdated(incident=known.model_copy(update=update))


def _of(found: Frozen, known: Incident | None, now: datetime) -> Incident:
    return Incident(
        id=silence_id(found.pool),
        kind=IncidentKind.SILENCE,
        name=found.pool,
        number=known.number + 1 if known else 1,
        pool=found.pool,
        opened_at=now,
        last_at=now,
        nodes=found.nodes[:NODES],
        en=found.en,
        zh=found.zh,
    )


def enough(nodes: int, limits: SilenceLimits = LIMITS) -> int:
    """Return how many nodes of a pool of this size are a mass."""
    return min(limits.nodes, max(limits.least, math.ceil(nodes * limits.share - 1e-9)))


def _together(lost: list[NodeState], enough: int, within: timedelta) -> list[NodeState]:
    """Return those that fell silent with enough others within so long."""
    ordered = sorted(lost, key=lambda node: node.since)
    found: dict[str, NodeState] = {}
    first = 0
    for last, node in enumerate(ordered):
        while node.since - ordered[first].since > within:
            first += 1
        if last - first + 1 >= enough:
            found |= {each.node: each for each in ordered[first : last + 1]}
    return list(found.values())


_EN = (
    "{count} of {all} nodes of pool {pool} fell silent together: they may well still run, so"
    " nothing is replaced, ended or kept out until they are heard of, or until"
    " `muster incident close`"
)
_ZH = (
    "资源池 {pool} 的 {all} 个节点中有 {count} 个同时失联：它们很可能仍在运行，因此在恢复联系之前"
    "（或执行 `muster incident close` 之前）不更换、不终止、不排除"
)
