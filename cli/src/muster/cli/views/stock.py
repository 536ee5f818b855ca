"""Spot stock: what is offered, what is held, and what can be had now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from muster.cli.output import row, table
from muster.cli.texts import say
from muster.cli.views.nodes import uses
from muster.domain.nodes import NodeCondition, NodeState
from muster.domain.state import JobState
from muster.domain.stock import StockChanged


@dataclass(frozen=True, slots=True)
class Item:
    """A GPU model in a zone. held, free: GPUs of its spot nodes that jobs have, or could have.

    offered: None where nobody ever spoke of it: then the nodes alone tell.
    """

    pool: str
    zone: str
    gpu_model: str
    offered: StockChanged | None
    held: int
    free: int

    @property
    def withdrawn(self) -> bool:
        """Whether it is said to be no longer offered: not the same as none left."""
        return self.offered is not None and self.offered.gpus is None

    @property
    def available(self) -> int:
        """GPUs that a spot job could have now, wherever they are."""
        if self.offered is None:
            return self.free
        return max(0, min(self.free, (self.offered.gpus or 0) - self.held))


Place = tuple[str, str, str]


def shelf(
    stock: Iterable[StockChanged], nodes: Sequence[NodeState], jobs: Sequence[JobState]
) -> list[Item]:
    """Return every item that is spoken of or has spot nodes, by pool, zone and model."""
    spot = [node for node in nodes if node.shape.spot and node.condition is not NodeCondition.GONE]
    known = {(item.pool, item.zone, item.gpu_model): item for item in stock}
    places = sorted({*known, *map(_place, spot)})
    held: Counter[Place] = Counter()
    free: Counter[Place] = Counter()
    for use in uses(spot, jobs):
        held[_place(use.node)] += use.used.gpus
        free[_place(use.node)] += use.free
    return [Item(*place, known.get(place), held[place], free[place]) for place in places]


def _place(node: NodeState) -> Place:
    return node.pool, node.shape.zone, node.shape.gpu_model


def stock_table(items: Iterable[Item]) -> Table:
    """Return the table."""
    titles = ("pool", "zone", "model", "offered", "held", "available", "price", "network")
    made = table(*(say(f"column.{title}") for title in titles))
    for item in items:
        row(
            made,
            item.pool,
            item.zone,
            Text(item.gpu_model, "bold"),
            _offered(item),
            str(item.held),
            Text(str(item.available), "green" if item.available else "red"),
            _price(item.offered),
            (item.offered.network if item.offered else None) or "-",
        )
    return made


def _offered(item: Item) -> Text:
    if item.offered is None:
        return Text(say("stock.unknown"), "dim")
    if item.withdrawn:
        return Text(say("stock.withdrawn"), "yellow")
    return Text(str(item.offered.gpus))


def _price(offered: StockChanged | None) -> str:
    if offered is None or offered.price is None:
        return "-"
    return f"{offered.price:g} {offered.currency or ''}".strip()


def item_document(item: Item) -> dict[str, Any]:
    """Return an item for JSON. offered: null = not spoken of, or withdrawn; `status` tells."""
    status = "withdrawn" if item.withdrawn else "offered" if item.offered else "unknown"
    said = item.offered
    return {
        "pool": item.pool,
        "zone": item.zone,
        "gpu_model": item.gpu_model,
        "status": status,
        "offered_gpus": said.gpus if said else None,
        "held_gpus": item.held,
        "free_gpus": item.free,
        "available_gpus": item.available,
        "price": said.price if said else None,
        "currency": said.currency if said else None,
        "network": said.network if said else None,
    }
