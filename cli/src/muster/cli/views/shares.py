"""Shares of tenants and what is used of them; who may use spot capacity; block lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from muster.cli.output import row, table
from muster.cli.texts import say
from muster.domain.demand import ResourceClass
from muster.domain.nodes import NodeState
from muster.domain.state import JobState
from muster.domain.tenants import EVERYONE, Share, TenantView

Place = tuple[str, str, str]
"""(pool, tenant, GPU model)."""


@dataclass(frozen=True, slots=True)
class Used:
    """A tenant's part of a pool, and the GPUs that its jobs hold there, idle ones aside.

    share: None where others have shares and this tenant has none.
    """

    tenant: str
    pool: str
    gpu_model: str
    share: Share | None
    used: float

    @property
    def borrowed(self) -> float:
        """GPUs above the guaranteed share: their owners may take them back."""
        return max(0.0, self.used - (self.share.guaranteed if self.share else 0))


def shares(
    tenants: Mapping[str, TenantView], nodes: Iterable[NodeState], jobs: Iterable[JobState]
) -> list[Used]:
    """Return every share, and who borrows without one, by pool, tenant and model."""
    models = {(node.pool, node.node): node.shape.gpu_model for node in nodes}
    used = _used(models, jobs)
    found: dict[Place, Share | None] = {}
    for tenant, view in tenants.items():
        for share in view.quota.shares if view.quota else ():
            found[share.pool, tenant, share.gpu_model] = share
    shared = {place[0] for place in found}
    for pool, tenant, model in used:
        if pool in shared:
            found.setdefault((pool, tenant, model), None)
    return [
        Used(tenant, pool, model, found[pool, tenant, model], used.get((pool, tenant, model), 0))
        for pool, tenant, model in sorted(found)
    ]


def _used(models: Mapping[tuple[str, str], str], jobs: Iterable[JobState]) -> dict[Place, float]:
    milli: dict[Place, int] = {}
    for job in jobs:
        if job.demand.resource_class is ResourceClass.IDLE:
            continue
        for worker, node in job.placed_on.items():
            role = job.demand.role_of(worker)
            amount = 1000 * role.gpus + role.gpu_milli
            if amount:
                place = job.pool, job.tenant, models.get((job.pool, node), "?")
                milli[place] = milli.get(place, 0) + amount
    return {place: amount / 1000 for place, amount in milli.items()}


def share_table(found: Iterable[Used]) -> Table:
    """Return the table."""
    titles = ("tenant", "pool", "model", "guaranteed", "ceiling", "taken", "borrowed")
    made = table(*(say(f"column.{title}") for title in titles))
    for one in found:
        share = one.share
        row(
            made,
            Text(one.tenant, "bold"),
            one.pool,
            one.gpu_model,
            str(share.guaranteed) if share else "-",
            _ceiling(share),
            f"{one.used:g}",
            Text(f"{one.borrowed:g}", "yellow" if one.borrowed else "dim"),
        )
    return made


def _ceiling(share: Share | None) -> str:
    if share is None or share.ceiling is None:
        return say("quota.no_limit")
    return str(share.ceiling)


def share_document(one: Used) -> dict[str, Any]:
    """Return a share for JSON. guaranteed null: none is recorded; ceiling null: no limit."""
    return {
        "tenant": one.tenant,
        "pool": one.pool,
        "gpu_model": one.gpu_model,
        "guaranteed": one.share.guaranteed if one.share else None,
        "ceiling": one.share.ceiling if one.share else None,
        "used": one.used,
        "borrowed": one.borrowed,
    }


@dataclass(frozen=True, slots=True)
class SpotRight:
    """Whether a tenant may use spot capacity. pool: None = in every pool not named otherwise."""

    tenant: str
    pool: str | None
    enabled: bool


def spot_rights(tenants: Mapping[str, TenantView]) -> list[SpotRight]:
    """Return what operators said, by tenant, the word for all pools first."""
    return [
        SpotRight(tenant, pool, enabled)
        for tenant, view in tenants.items()
        if view.spot
        for pool, enabled in ((None, view.spot.enabled), *sorted(view.spot.pools.items()))
    ]


def spot_table(found: Iterable[SpotRight]) -> Table:
    """Return the table."""
    made = table(*(say(f"column.{title}") for title in ("tenant", "pool", "spot")))
    for one in found:
        word = Text(say("spot.on"), "green") if one.enabled else Text(say("spot.off"), "red")
        name = say("spot.everyone") if one.tenant == EVERYONE else one.tenant
        row(made, Text(name, "bold"), one.pool or say("spot.everywhere"), word)
    return made


def spot_document(one: SpotRight) -> dict[str, Any]:
    """Return a right for JSON. pool null: in every pool not named otherwise."""
    return {"tenant": one.tenant, "pool": one.pool, "enabled": one.enabled}


@dataclass(frozen=True, slots=True)
class Blocked:
    """One block list. user: None = of the whole tenant."""

    tenant: str
    user: str | None
    pool: str
    nodes: tuple[str, ...]


def block_lists(tenants: Mapping[str, TenantView]) -> list[Blocked]:
    """Return every list, by tenant, the whole tenant's first."""
    return [each for tenant, view in tenants.items() for each in _lists(tenant, view)]


def _lists(tenant: str, view: TenantView) -> Iterator[Blocked]:
    if view.blocklist is None:
        return
    for pool, nodes in sorted(view.blocklist.nodes.items()):
        yield Blocked(tenant, None, pool, nodes)
    for user, lists in sorted(view.blocklist.users.items()):
        for pool, nodes in sorted(lists.items()):
            yield Blocked(tenant, user, pool, nodes)


def block_table(found: Iterable[Blocked]) -> Table:
    """Return the table."""
    made = table(*(say(f"column.{title}") for title in ("tenant", "user", "pool", "blocked")))
    for one in found:
        who = one.user or say("block.everybody")
        row(made, Text(one.tenant, "bold"), who, one.pool, ", ".join(one.nodes))
    return made


def block_document(one: Blocked) -> dict[str, Any]:
    """Return a list for JSON. user null: of the whole tenant."""
    return {
        "tenant": one.tenant,
        "user": one.user,
        "pool": one.pool,
        "nodes": list(one.nodes),
    }
