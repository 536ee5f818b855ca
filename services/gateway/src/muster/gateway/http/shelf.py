"""Rows of `/api/v1/stock`: spot capacity as it can be had now."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel

from muster.domain.shelf import Item


class ItemRow(BaseModel):
    """A GPU model in a zone.

    status: offered, withdrawn (no longer offered: not the same as 0 left) or unknown (nobody ever
    spoke of it: the nodes alone tell). available_gpus: what a spot job could have now, wherever it
    is. going_gpus: held, and to be given back by gone_by (null: at once). price: for one GPU and
    hour. enabled: false where spot capacity is not for the tenant that asks.
    """

    pool: str
    zone: str
    gpu_model: str
    status: str
    offered_gpus: int | None
    held_gpus: int
    free_gpus: int
    available_gpus: int
    going_gpus: int
    gone_by: datetime | None
    price: float | None
    currency: str | None
    network: str | None
    enabled: bool


class Shelf(BaseModel):
    """Spot capacity by pool, zone and GPU model."""

    stock: list[ItemRow]
    position: int


def item_row(item: Item, *, enabled: bool) -> ItemRow:
    """Return an item."""
    return ItemRow(**item.row(), enabled=enabled)
