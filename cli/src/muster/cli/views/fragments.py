"""Fragments: free cards beside the largest gang that they hold, for each shape and level."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from muster.cli.output import row, table
from muster.cli.texts import say
from muster.domain.pools import FragmentRow, FragmentsMeasured, StabilityMeasured

CARD = 1000


def fragment_table(found: FragmentsMeasured) -> Table:
    """Return the table; the rows of one shape stand together."""
    titles = ("shape", "stability", "free", "largest_gang", "nodes_left")
    made = table(*(say(f"column.{title}") for title in titles))
    last: tuple[object, ...] | None = None
    for one in found.rows:
        shape = (one.gpus, one.gpu_milli, one.gpu_model, one.cpus, one.memory_mib)
        row(
            made,
            Text(_shape(one) if shape != last else "", "bold"),
            say(f"stability.{one.level}"),
            f"{one.free_milli / CARD:g}",
            Text(str(one.gang), "green" if one.gang else "red"),
            str(one.nodes),
        )
        last = shape
    return made


def _shape(one: FragmentRow) -> str:
    gpus = one.gpus or one.gpu_milli / CARD
    model = f" {one.gpu_model}" if one.gpu_model else ""
    parts = [f"{gpus:g} GPU{model}" if gpus else ""]
    parts += [f"{one.cpus:g} CPU" if one.cpus else ""]
    parts += [f"{one.memory_mib} MiB" if one.memory_mib else ""]
    return ", ".join(part for part in parts if part) or "0"


def fragments_line(pool: str, found: FragmentsMeasured) -> str:
    """Return the fragmentation of a pool at a glance."""
    return say(
        "fragments.pool",
        pool=pool,
        free=f"{found.free_milli / CARD:g}",
        lost=f"{found.fragmented_milli / CARD:.1f}",
    )


def fragments_document(
    pool: str, found: FragmentsMeasured, stability: StabilityMeasured | None = None
) -> dict[str, Any]:
    """Return a pool's fragments for JSON. stability: null where nothing is measured."""
    measured = stability.model_dump(mode="json") if stability else None
    return {"pool": pool} | found.model_dump(mode="json") | {"stability": measured}
