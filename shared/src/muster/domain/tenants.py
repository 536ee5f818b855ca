"""Facts about a tenant that other services follow: its shares of pools, and nodes it stays off.

Each fact carries the whole of what it speaks of; the last one stands. Admission writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from muster.domain.model import Frozen, Token


class TenantFact(Frozen):
    """Base of facts about one tenant. by, request: who asked for it, and the request's id."""

    event: ClassVar[str]
    version: ClassVar[int] = 1
    by: str
    request: str


class Share(Frozen):
    """A tenant's part of a pool, in GPUs of one model.

    guaranteed: always there for its guaranteed jobs; what it leaves idle others may borrow.
    ceiling: the most that all its jobs together may hold; None = no limit.
    """

    pool: Token
    gpu_model: str
    guaranteed: Annotated[int, Field(ge=0)] = 0
    ceiling: Annotated[int, Field(ge=0)] | None = None


class QuotaSet(TenantFact):
    """All shares of the tenant. A model that is not named has no guarantee and no ceiling."""

    event: ClassVar[str] = "quota"
    shares: tuple[Share, ...] = ()


class BlocklistSet(TenantFact):
    """Nodes that no job of the tenant, or of one of its users, may use, by pool."""

    event: ClassVar[str] = "blocklist"
    nodes: Mapping[Token, tuple[str, ...]] = {}
    users: Mapping[str, Mapping[Token, tuple[str, ...]]] = {}


TENANT_FACTS: dict[str, type[TenantFact]] = {
    fact.event: fact for fact in TenantFact.__subclasses__()
}
