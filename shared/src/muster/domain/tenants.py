"""Facts about a tenant that other services follow: its shares of pools, nodes it stays off, spot.

Each fact carries the whole of what it speaks of; the last one stands. Admission writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from pydantic import Field

from muster.domain.model import Frozen, Token

Blocked = Mapping[Token, tuple[str, ...]]
"""pool -> names of nodes."""


class TenantFact(Frozen):
    """Base of facts about one tenant. by, request: who asked for it, and the request's id.

    requests: the last ones that led here, so that a request told twice is carried out once.
    """

    event: ClassVar[str]
    version: ClassVar[int] = 1
    by: str
    request: str
    requests: tuple[str, ...] = ()

    def knows(self, request: str) -> bool:
        """Tell whether this request was already carried out."""
        return request == self.request or request in self.requests


class Share(Frozen):
    """A tenant's part of a pool, in GPUs of one model.

    guaranteed: always there for the tenant; what it leaves idle others may borrow.
    ceiling: the most that all its jobs together may hold, idle ones aside; None = no limit.
    """

    pool: Token
    gpu_model: str
    guaranteed: Annotated[int, Field(ge=0)] = 0
    ceiling: Annotated[int, Field(ge=0)] | None = None


class QuotaSet(TenantFact):
    """All shares of the tenant.

    In a pool of which it names no share the tenant has no limits. In one of which it does, a model
    that is not named has no guarantee and no ceiling.
    """

    event: ClassVar[str] = "quota"
    shares: tuple[Share, ...] = ()


class BlocklistSet(TenantFact):
    """Nodes that no job of the tenant, or of one of its users, may use, by pool."""

    event: ClassVar[str] = "blocklist"
    nodes: Mapping[Token, tuple[str, ...]] = {}
    users: Mapping[str, Blocked] = {}


class SpotSet(TenantFact):
    """Whether the tenant may use spot capacity. pools: where it is otherwise than `enabled` says.

    A tenant of which nobody ever spoke may, unless admission is told to ask for an operator's word.
    """

    event: ClassVar[str] = "spot"
    enabled: bool = True
    pools: Mapping[Token, bool] = {}


TENANT_FACTS: dict[str, type[TenantFact]] = {
    fact.event: fact for fact in TenantFact.__subclasses__()
}


EVERYONE = "_everyone"
"""Under this name stands what holds for tenants of whom nobody spoke. Admission writes it from its
setting, so that whoever reads the log knows it, too."""


@dataclass(frozen=True, slots=True)
class TenantView:
    """What the facts about a tenant say together."""

    quota: QuotaSet | None = None
    blocklist: BlocklistSet | None = None
    spot: SpotSet | None = None

    def after(self, fact: TenantFact) -> TenantView:
        """Return the view once this fact is known too."""
        match fact:
            case QuotaSet():
                return replace(self, quota=fact)
            case BlocklistSet():
                return replace(self, blocklist=fact)
            case SpotSet():
                return replace(self, spot=fact)
            case _:
                return self

    def shares_of(self, pool: str) -> dict[str, Share]:
        """Return the tenant's shares of a pool by GPU model; none = no limits there."""
        shares = self.quota.shares if self.quota else ()
        return {share.gpu_model: share for share in shares if share.pool == pool}

    def may_use_spot(self, pool: str, unspoken: bool = True) -> bool:
        """Tell whether spot capacity of a pool is for the tenant. unspoken: if nobody ever said."""
        if self.spot is None:
            return unspoken
        return self.spot.pools.get(pool, self.spot.enabled)

    @property
    def listed_users(self) -> frozenset[str]:
        """Return the users who have a block list of their own."""
        return frozenset(self.blocklist.users) if self.blocklist else frozenset()

    def blocked(self, pool: str, user: str) -> frozenset[str]:
        """Return the nodes of a pool that a user of the tenant may not use."""
        if self.blocklist is None:
            return frozenset()
        own = self.blocklist.users.get(user, {})
        return frozenset((*self.blocklist.nodes.get(pool, ()), *own.get(pool, ())))


def spot_is_for(tenants: Mapping[str, TenantView], name: str, pool: str) -> bool:
    """Tell whether spot capacity of a pool is for a tenant, spoken of or not."""
    everyone = tenants.get(EVERYONE, TenantView()).may_use_spot(pool)
    return tenants.get(name, TenantView()).may_use_spot(pool, everyone)
