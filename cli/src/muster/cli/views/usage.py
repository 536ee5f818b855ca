"""Use: one row for each sum, waiting beside what it cost, and what is not in the figures."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from muster.cli.choosing import short
from muster.cli.output import row, table
from muster.cli.texts import pick, say
from muster.cli.words import span
from muster.contracts.usage import UsageAnswer, UsageSum
from muster.domain.metering import LABEL, UNKNOWN_MODEL
from muster.domain.phases import SHOWN_TEXT, Shown

HOUR = 3600


def usage_table(found: UsageAnswer) -> Table:
    """Return the sums as a table, the greatest use first, and what all come to."""
    titles = [_title(name) for name in found.by]
    figures = ("jobs", "time", "waiting", "waiting_gpu", "gpu_hours")
    made = table(*titles, *(say(f"column.{figure}") for figure in figures))
    for one in found.rows:
        row(made, *(_shown(name, one.by[name]) for name in found.by), *_figures(one))
    if found.groups > 1 and found.by:
        blank = ("" for _ in found.by[1:])
        row(made, Text(say("metered.total"), "bold"), *blank, *_figures(found.total))
    return made


def _title(name: str) -> str:
    return name.removeprefix(LABEL) if name.startswith(LABEL) else say(f"column.{name}")


def _shown(name: str, value: str | None) -> str:
    if value is None:
        return "-"
    if name == "phase" and value in set(Shown):
        return pick(SHOWN_TEXT[Shown(value)])
    if name == "model" and value == UNKNOWN_MODEL:
        return say("metered.unknown")
    if name == "job":
        tenant, _, job = value.partition("/")
        return f"{tenant}/{short(job)}"
    return value


def _figures(one: UsageSum) -> tuple[str | Text, ...]:
    return (
        str(one.jobs),
        span(one.seconds),
        span(one.waiting_seconds),
        _number(one.waiting_gpu_seconds),
        Text(_number(one.gpu_seconds / HOUR), "bold"),
    )


def _number(value: float) -> str:
    return f"{value:,.2f}" if value else "0"


def usage_lines(found: UsageAnswer) -> Iterator[Text]:
    """Say what waiting cost, and what the figures do not have."""
    total = found.total
    if not found.rows:
        yield Text(say("metered.none"))
    else:
        yield Text(
            say(
                "metered.waiting",
                span=span(total.waiting_seconds),
                gpu=_number(total.waiting_gpu_seconds),
            )
        )
    if found.groups > len(found.rows):
        yield Text(say("metered.more", count=found.groups - len(found.rows)))
    if found.source == "log":
        yield Text(say("metered.log"), "yellow")
    if not found.whole:
        yield Text(say("metered.not_whole"), "yellow")
    if found.gaps:
        yield Text(say("metered.gaps", count=found.gaps), "yellow")
