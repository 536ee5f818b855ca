"""What of spot capacity can be had: facts on `pools.<pool>.stock.<item>`; the last one stands.

An item is a GPU model in a zone. "Zero" and "not offered" differ: an item with 0 GPUs may come back
any moment, one that is no longer offered has None. Of an item that nobody ever spoke of, the nodes
alone tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from muster.domain.edges import Owner
from muster.domain.model import Frozen, Instant, Token


class StockFact(Frozen):
    """Base of facts about an item of stock."""

    event: ClassVar[str]
    version: ClassVar[int] = 1
    request: str | None = None
    by: str | None = None


class StockChanged(StockFact):
    """What spot jobs may hold of an item from now on, what they hold already included.

    gpus: of this model in this zone; None = not offered. deadline: until when whatever is held
    above it must be given back; None = at once. price: for one GPU and hour, in `currency`.
    network: what connects the nodes, in the provider's words.
    """

    event: ClassVar[str] = "changed"
    pool: Token
    zone: str
    gpu_model: str
    gpus: Annotated[int, Field(ge=0)] | None = None
    deadline: Instant | None = None
    price: Annotated[float, Field(ge=0)] | None = None
    currency: str | None = None
    network: str | None = None


STOCK_FACTS: dict[str, type[StockFact]] = {fact.event: fact for fact in StockFact.__subclasses__()}

STOCK_OWNERS: Mapping[str, tuple[Owner, ...]] = {"changed": (Owner.ADMISSION, Owner.EXECUTOR)}
"""event -> who may write it: the cluster's executor, or an operator through the door."""


def item_name(zone: str, gpu_model: str) -> str:
    """Return the name of an item of stock, unique in its pool."""
    return f"{zone}/{gpu_model}"
