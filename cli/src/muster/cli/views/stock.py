"""Spot stock: what is offered, what is held, and what can be had now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.table import Table
from rich.text import Text

from muster.cli.output import row, table
from muster.cli.texts import say
from muster.cli.words import clock
from muster.domain.shelf import Item
from muster.domain.stock import StockChanged


def stock_table(items: Iterable[Item]) -> Table:
    """Return the table."""
    titles = (
        *("pool", "zone", "model", "offered", "held", "available", "going", "price", "network"),
    )
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
            _going(item),
            _price(item.offered),
            (item.offered.network if item.offered else None) or "-",
        )
    return made


def _offered(item: Item) -> Text:
    if item.offered is None:
        return Text(say("stock.unknown"), "dim")
    if item.offered.gpus is None:
        return Text(say("stock.withdrawn"), "yellow")
    return Text(str(item.offered.gpus))


def _going(item: Item) -> Text:
    if not item.going:
        return Text("-", "dim")
    until = item.gone_by
    at = {"at": clock(until)} if until else {}
    words = say("stock.going" if until else "stock.going_now", gpus=item.going, **at)
    return Text(words, "magenta")


def _price(offered: StockChanged | None) -> str:
    if offered is None or offered.price is None:
        return "-"
    return f"{offered.price:g} {offered.currency or ''}".strip()


def item_document(item: Item) -> dict[str, Any]:
    """Return an item for JSON."""
    return {**item.row(), "gone_by": item.gone_by.isoformat() if item.gone_by else None}
