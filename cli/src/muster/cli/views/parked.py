"""Parked messages: a table of them, or one in full."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from muster.bus.parking import Parked
from muster.cli.output import row, table
from muster.cli.texts import say
from muster.cli.words import moment, plain

SHORT = 80


def parked_table(found: Iterable[Parked]) -> Table:
    """Return the table."""
    titles = ("number", "at", "consumer", "subject", "deliveries", "reason")
    made = table(*(say(f"column.{title}") for title in titles))
    for parked in found:
        message = parked.message
        reason = f"{message.reason}: {message.error}"
        row(
            made,
            Text(str(parked.number), "bold"),
            moment(message.parked_at),
            message.consumer,
            message.subject,
            str(message.deliveries),
            reason if len(reason) <= SHORT else f"{reason[:SHORT]}…",
        )
    return made


def parked_view(parked: Parked) -> Group:
    """Return one message with its body."""
    message = parked.message
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in (
        (say("column.number"), str(parked.number)),
        (say("column.at"), moment(message.parked_at)),
        (say("column.consumer"), message.consumer),
        (say("column.subject"), f"{message.subject} ({message.stream} #{message.seq})"),
        (say("column.deliveries"), str(message.deliveries)),
        (say("column.reason"), f"{message.reason}: {message.error}"),
    ):
        grid.add_row(label, Text(plain(value)))
    return Group(grid, Text(), Text(_body(parked)))


def _body(parked: Parked) -> str:
    message = parked.message
    if not message.has_body:
        return say("parked.no_body")
    return plain(message.text) if message.text is not None else message.base64 or ""


def parked_document(parked: Parked) -> dict[str, Any]:
    """Return a parked message for JSON."""
    return {"number": parked.number} | parked.message.model_dump(mode="json")
