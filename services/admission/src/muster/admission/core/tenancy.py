"""What a tenant may use: the facts that operators' requests make, and what they refuse. Pure.

Whether there is room in a share *now* is the scheduler's to say; here only what can never be is
refused: more than a ceiling, a gang for which block lists leave too few nodes, and spot capacity
that is not for the tenant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from muster.domain.demand import Demand, ResourceClass
from muster.domain.nodes import NodeState
from muster.domain.room import holds
from muster.domain.rules import violation
from muster.domain.tenants import (
    Blocked,
    BlocklistSet,
    QuotaSet,
    Share,
    SpotSet,
    TenantFact,
    TenantView,
)
from muster.domain.violations import Violation

REMEMBERED = 32
"""Request ids that a fact about a tenant remembers."""
NAMED = 20
"""Nodes that a refusal names; more are counted."""


# --- what operators set ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shares:
    """What a request says of shares. whole: and of no others; else those of other models stay."""

    by: str
    shares: tuple[Share, ...]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Blocks:
    """What a request says of a block list. only_user: it is that user's, not the tenant's."""

    by: str
    pool: str
    only_user: str | None
    add: tuple[str, ...]
    remove: tuple[str, ...]


def quota_violations(body: Shares, root: str = "$.data") -> Iterator[Violation]:
    """Return everything that is wrong with a request about shares."""
    seen: set[tuple[str, str]] = set()
    for index, share in enumerate(body.shares):
        where = f"{root}.shares[{index}]"
        if share.ceiling is not None and share.guaranteed > share.ceiling:
            numbers = {"guaranteed": share.guaranteed, "ceiling": share.ceiling}
            yield violation("E_SHARE_RANGE", f"{where}.guaranteed", **numbers)
        if (share.pool, share.gpu_model) in seen:
            names = {"pool": share.pool, "gpu_model": share.gpu_model}
            yield violation("E_SHARE_DUP", f"{where}.gpu_model", **names)
        seen.add((share.pool, share.gpu_model))


def blocklist_violations(body: Blocks, root: str = "$.data") -> Iterator[Violation]:
    """Return everything that is wrong with a request about a block list."""
    if not body.add and not body.remove:
        yield violation("E_BLOCK_NOTHING", root)
    seen: set[str] = set()
    for field, names in (("add", body.add), ("remove", body.remove)):
        for index, node in enumerate(names):
            if node in seen:
                yield violation("E_BLOCK_DUP", f"{root}.{field}[{index}]", node=node)
            seen.add(node)


def quota_after(last: QuotaSet | None, body: Shares, request: str) -> QuotaSet | None:
    """Return the tenant's shares once the request is carried out; None if it was before."""
    if last is not None and last.knows(request):
        return None
    kept = {} if last is None or body.whole else {(s.pool, s.gpu_model): s for s in last.shares}
    kept |= {(s.pool, s.gpu_model): s for s in body.shares}
    shares = tuple(kept[name] for name in sorted(kept))
    return QuotaSet(by=body.by, request=request, requests=_known(last), shares=shares)


def blocklist_after(last: BlocklistSet | None, body: Blocks, request: str) -> BlocklistSet | None:
    """Return the tenant's block lists once the request is carried out; None if it was before."""
    if last is not None and last.knows(request):
        return None
    nodes, users = (last.nodes, dict(last.users)) if last else ({}, {})
    if body.only_user is None:
        nodes = _changed(nodes, body)
    else:
        users[body.only_user] = _changed(users.get(body.only_user, {}), body)
    kept = {user: lists for user, lists in sorted(users.items()) if lists}
    return BlocklistSet(by=body.by, request=request, requests=_known(last), nodes=nodes, users=kept)


def spot_after(
    last: SpotSet | None,
    by: str,
    pool: str | None,
    request: str,
    *,
    enabled: bool,
    unspoken: bool,
) -> SpotSet | None:
    """Return the tenant's right to spot once the request is carried out; None if it was before.

    pool: the only one that the request speaks of; None = all, whatever was said of single ones.
    unspoken: what holds elsewhere if this is the first word about the tenant.
    """
    if last is not None and last.knows(request):
        return None
    everywhere, pools = (last.enabled, dict(last.pools)) if last else (unspoken, {})
    if pool is None:
        everywhere, pools = enabled, {}
    else:
        pools[pool] = enabled
    kept = {name: pools[name] for name in sorted(pools)}
    return SpotSet(by=by, request=request, requests=_known(last), enabled=everywhere, pools=kept)


def _known(last: TenantFact | None) -> tuple[str, ...]:
    return (*last.requests, last.request)[-REMEMBERED:] if last else ()


def _changed(lists: Blocked, body: Blocks) -> Blocked:
    names = ({*lists.get(body.pool, ())} | {*body.add}) - {*body.remove}
    changed = {**lists, body.pool: tuple(sorted(names))}
    return {pool: changed[pool] for pool in sorted(changed) if changed[pool]}


# --- what a submission is refused for ----------------------------------------------------------


def violations_of(
    demand: Demand,
    pool: str,
    user: str,
    tenant: TenantView,
    nodes: Sequence[NodeState],
    root: str = "$.spec",
) -> tuple[Violation, ...]:
    """Return what the tenant's shares and block lists refuse. nodes: of the pool, as far as known.

    While no node of the pool is known, nothing that depends on nodes is refused.
    """
    found = (
        _above_ceiling(demand, pool, tenant, nodes),
        _blocked(demand, pool, user, tenant, nodes),
    )
    paths = (
        f"{root}.resource",
        f"{root}.node_policy" if demand.node_policy else f"{root}.resource",
    )
    return tuple(
        violation(each[0], path, **each[1]) for each, path in zip(found, paths, strict=True) if each
    )


def spot_refused(
    demand: Demand, pool: str, name: str, tenant: TenantView, path: str, *, unspoken: bool
) -> Violation | None:
    """Refuse spot capacity that is not for the tenant. unspoken: what holds if nobody ever said."""
    if demand.resource_class is not ResourceClass.SPOT or tenant.may_use_spot(pool, unspoken):
        return None
    return violation("E_SPOT_DISABLED", path, tenant=name)


Refused = tuple[str, dict[str, object]] | None


def _above_ceiling(
    demand: Demand, pool: str, tenant: TenantView, nodes: Iterable[NodeState]
) -> Refused:
    shares = tenant.shares_of(pool)
    if not shares or demand.resource_class is ResourceClass.IDLE:
        return None
    every = frozenset(node.shape.gpu_model for node in nodes if node.shape.gpus)
    asked: dict[frozenset[str], int] = {}
    for role in demand.roles:
        each = 1000 * role.gpus + role.gpu_milli
        if not each:
            continue
        models = frozenset(role.gpu_model.split("|")) if role.gpu_model else every
        asked[models] = asked.get(models, 0) + each * role.replicas
        ceilings = [shares[model].ceiling if model in shares else None for model in sorted(models)]
        limits = [ceiling for ceiling in ceilings if ceiling is not None]
        if not limits or len(limits) < len(ceilings):
            continue
        if asked[models] > 1000 * sum(limits):
            return _short(asked[models], 1000 * sum(limits))
        # whole workers: what is left of each ceiling beside them is of no use
        usable = sum(1000 * limit // each * each for limit in limits)
        if each * role.replicas > usable:
            return _short(each * role.replicas, usable)
    return None


def _short(requested: int, available: int) -> Refused:
    return "E_QUOTA", {"requested": f"{requested / 1000:g}", "available": f"{available / 1000:g}"}


def _blocked(
    demand: Demand, pool: str, user: str, tenant: TenantView, nodes: Iterable[NodeState]
) -> Refused:
    blocked = tenant.blocked(pool, user)
    policy = demand.node_policy
    allowed = {n.node: n.shape for n in nodes if policy is None or policy.allows(n.node)}
    concerned = sorted(blocked & allowed.keys())
    if not concerned or not holds(allowed.values(), demand):
        return None  # block lists are not what keeps it out
    if holds((shape for node, shape in allowed.items() if node not in blocked), demand):
        return None
    more = f",… (+{len(concerned) - NAMED})" if len(concerned) > NAMED else ""
    return "E_NODE_BLACKLIST", {"nodes": ",".join(concerned[:NAMED]) + more}
