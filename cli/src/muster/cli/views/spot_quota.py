"""How much spot jobs may hold on ordinary nodes: the quota of each model beside its reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from muster.cli.output import row, table
from muster.cli.texts import say
from muster.domain.pools import SpotQuotaMeasured, SpotQuotaRow
from muster.scheduler.core.forecast import LEAST_HOURS

TITLES = ("pool", "model", "capacity", "demand", "forecast", "eta", "quota", "held", "evicted")


def quota_table(measured: Mapping[str, SpotQuotaMeasured]) -> Table:
    """Return the table of all pools."""
    made = table(*(say(f"column.{title}") for title in TITLES))
    for pool, found in measured.items():
        for one in found.rows:
            row(
                made,
                pool,
                Text(one.gpu_model, "bold"),
                f"{one.capacity:g}",
                f"{one.demand:g}",
                "-" if one.forecast is None else f"{one.forecast:.1f}",
                f"{one.eta:g}",
                _quota(one),
                f"{one.held:g}",
                f"{one.evicted:.1f}/{one.kept:.1f}",
            )
    return made


def _quota(one: SpotQuotaRow) -> Text:
    if one.quota is None:
        hours = one.history.hours
        return Text(say("quota.spot.learning", hours=hours, least=LEAST_HOURS), "dim")
    return Text(f"{one.quota:.1f}", "green" if one.held < one.quota else "yellow")


def quota_documents(pool: str, found: SpotQuotaMeasured) -> Iterator[dict[str, Any]]:
    """Yield the rows of a pool for JSON; of the history only how long it is."""
    for one in found.rows:
        known = one.model_dump(mode="json", exclude={"history"})
        yield {"pool": pool, "at": found.at.isoformat(), **known, "hours": one.history.hours}
