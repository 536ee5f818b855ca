"""When no more nodes may be kept out, however sick they look. Pure.

A machine that decides alone must not take a cluster apart: many sick nodes at once are more likely
one cause that is none of theirs. And no exclusion may keep out a job that fits without it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from muster.domain.demand import Demand
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
from muster.domain.room import holds

HOUR = timedelta(hours=1)
FLEET_SHARE, POOL_SHARE = 0.05, 0.20
"""Of all nodes newly kept out within an hour; of a pool's nodes kept out at one time."""

_AWAY = {NodeCondition.GONE}


class Held(StrEnum):
    """Why a node is not kept out."""

    FLEET = "fleet"
    POOL = "pool"
    SMALL = "small"
    GUARANTEE = "guarantee"
    GANG = "gang"
    FROZEN = "frozen"


@dataclass(frozen=True, slots=True)
class Brake:
    """What keeps an exclusion from happening, in words for people."""

    held: Held
    en: str
    zh: str


@dataclass(frozen=True, slots=True)
class Needed:
    """An active job of the pool: it must fit once it starts again. blocked: nodes it stays off."""

    name: str
    demand: Demand
    blocked: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Ground:
    """What an exclusion is weighed against. fleet: every node of every pool.

    guaranteed: GPU model -> GPUs of the pool that tenants have a guarantee of, all together.
    needed: the pool's active jobs. frozen: the pool is silent, nothing may be kept out.
    """

    fleet: Sequence[NodeState]
    guaranteed: Mapping[str, int]
    needed: Sequence[Needed] = ()
    frozen: bool = False


def brake(node: NodeState, ground: Ground, now: datetime) -> Brake | None:
    """Return why `node` may not be kept out now, None if it may."""
    pool = [each for each in ground.fleet if each.pool == node.pool]
    if ground.frozen:
        return _brake(Held.FROZEN, pool=node.pool)
    return (
        _too_many_of_fleet(node, ground.fleet, now)
        or _too_many_of_pool(node, pool)
        or _guarantees(node, pool, ground.guaranteed)
        or _gangs(node, pool, ground.needed)
    )


def _too_many_of_fleet(node: NodeState, fleet: Sequence[NodeState], now: datetime) -> Brake | None:
    there = [each for each in fleet if each.condition not in _AWAY]
    fresh = [each for each in fleet if each.excluded_at and now - each.excluded_at < HOUR]
    most = max(1, math.floor(len(there) * FLEET_SHARE))  # one alone is never a wave
    if len(fresh) + 1 <= most:
        return None
    return _brake(Held.FLEET, pool=node.pool, out=len(fresh), most=most, all=len(there))


def _too_many_of_pool(node: NodeState, pool: Sequence[NodeState]) -> Brake | None:
    there = [each for each in pool if each.condition not in _AWAY]
    out = [each for each in there if each.excluded_until is not None and each is not node]
    most = math.floor(len(there) * POOL_SHARE + 1e-9)
    if len(out) + 1 <= most:
        return None
    if not most:
        return _brake(Held.SMALL, pool=node.pool, all=len(there), least=math.ceil(1 / POOL_SHARE))
    return _brake(Held.POOL, pool=node.pool, out=len(out), most=most, all=len(there))


def _guarantees(
    node: NodeState, pool: Sequence[NodeState], guaranteed: Mapping[str, int]
) -> Brake | None:
    left = [each for each in _usable(pool) if each.node != node.node]
    model = node.shape.gpu_model
    gpus = sum(each.shape.gpus for each in left if each.shape.gpu_model == model)
    need = guaranteed.get(model, 0)
    if gpus >= need:
        return None
    return _brake(Held.GUARANTEE, pool=node.pool, left=gpus, need=need, model=model)


def _gangs(node: NodeState, pool: Sequence[NodeState], needed: Iterable[Needed]) -> Brake | None:
    usable = _usable(pool)
    for job in needed:
        eligible = [each for each in usable if _may_use(job, each)]
        left = [each.shape for each in eligible if each.node != node.node]
        if len(left) == len(eligible):
            continue  # the job never used this node
        if holds((each.shape for each in eligible), job.demand) and not holds(left, job.demand):
            return _brake(Held.GANG, pool=node.pool, job=job.name)
    return None


def _may_use(job: Needed, node: NodeState) -> bool:
    demand = job.demand
    if node.node in job.blocked or (demand.zone is not None and demand.zone != node.shape.zone):
        return False
    return demand.node_policy is None or demand.node_policy.allows(node.node)


def _usable(pool: Iterable[NodeState]) -> list[NodeState]:
    """Nodes that new work may use, now or once they are back."""
    out = {NodeCondition.GONE, NodeCondition.FENCED, NodeCondition.LOST}
    return [
        each
        for each in pool
        if each.condition not in out and not each.cordoned and each.excluded_until is None
    ]


def brake_id(pool: str) -> str:
    """Return the id of what is told when nodes of a pool are held back."""
    return incident_id(IncidentKind.BRAKE, pool)


def next_fact(
    known: Incident | None,
    now: datetime,
    pool: str,
    brake: Brake | None,
    nodes: tuple[str, ...],
    newest: datetime | None,
) -> IncidentFact | None:
    """Return what people must be told. nodes: that a brake holds. newest: their last failure.

    Once a person has closed it, it opens again only upon new failures.
    """
    if known is not None and known.open:
        if brake is None:
            return IncidentClosed(incident=known.model_copy(update={"closed_at": now}))
        if known.nodes == nodes[:NODES]:
            return None
        update = {"nodes": nodes[:NODES], "en": brake.en, "zh": brake.zh, "last_at": now}
        return IncidentUpdated(incident=known.model_copy(update=update))
    if brake is None or newest is None or _was_told(known, newest):
        return None
    return IncidentOpened(
        incident=Incident(
            id=brake_id(pool),
            kind=IncidentKind.BRAKE,
            name=pool,
            number=known.number + 1 if known else 1,
            pool=pool,
            opened_at=now,
            last_at=newest,
            nodes=nodes[:NODES],
            en=brake.en,
            zh=brake.zh,
        )
    )


def _was_told(known: Incident | None, newest: datetime) -> bool:
    closed = known.closed_at if known is not None and known.closed_by else None
    return closed is not None and newest <= closed


def _brake(held: Held, **values: object) -> Brake:
    en, zh = _WORDS[held]
    return Brake(held, en.format(**values), zh.format(**values))


_WORDS: dict[Held, tuple[str, str]] = {
    Held.FLEET: (
        "{out} of {all} nodes were kept out within an hour, at most {most} may be;"
        " so many at once have another cause",
        "一小时内已排除 {out} 个节点（共 {all} 个，上限 {most}）；如此之多，应另有原因",
    ),
    Held.POOL: (
        "{out} of {all} nodes of pool {pool} are kept out, at most {most} may be",
        "资源池 {pool} 的 {all} 个节点中已排除 {out} 个，上限 {most}",
    ),
    Held.SMALL: (
        "pool {pool} has {all} node(s) and no node of it can ever be kept out by itself: that takes"
        " {least} or more; cordon a sick node by hand",
        "资源池 {pool} 只有 {all} 个节点，无法自动排除任何节点（至少需要 {least} 个节点）；"
        "请手动隔离故障节点",
    ),
    Held.GUARANTEE: (
        "pool {pool} would keep {left} {model} GPUs, {need} of them are guaranteed to tenants",
        "资源池 {pool} 将只剩 {left} 张 {model}，而租户保障共 {need} 张",
    ),
    Held.GANG: (
        "job {job} fits into pool {pool} with this node and would never fit without it",
        "任务 {job} 需要该节点才能放入资源池 {pool}，排除后将永远放不下",
    ),
    Held.FROZEN: (
        "much of pool {pool} is silent; nothing is kept out until it is heard of again",
        "资源池 {pool} 大面积失联；恢复之前不排除任何节点",
    ),
}
