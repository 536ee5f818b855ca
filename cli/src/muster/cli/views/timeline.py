"""Events of one job, and of many: when, what, and a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from muster.cli.choosing import short
from muster.cli.output import row, table
from muster.cli.texts import pick, say
from muster.cli.views.states import event_style, reason_text
from muster.cli.words import clock, plain, span
from muster.contracts import subjects
from muster.contracts.events import JobData, NodeData
from muster.domain.facts import Fact
from muster.domain.sentences import sentence
from muster.log import Recorded

_EXPLAINED = frozenset(
    {"not_requeued", "requeue_exhausted", "queue_timed_out", "stopped", "hold_ended"}
)
"""Events whose own sentence does not say why; the state's reason does."""


def timeline(history: Iterable[Recorded]) -> Table:
    """Return a job's events as a table: the time since the first, the state after each."""
    titles = ("at", "after", "event", "attempt", "entry", "what")
    made = table(*(say(f"column.{title}") for title in titles))
    first: datetime | None = None
    for item in history:
        first = first or item.event.time
        event = event_of(item)
        row(
            made,
            clock(item.event.time),
            f"+{span((item.event.time - first).total_seconds())}",
            Text(event, event_style(event)),
            str(item.job.attempt or "-"),
            str(item.job.queue_entry or "-"),
            what(item),
        )
    return made


def event_of(item: Recorded) -> str:
    """Return the event's name."""
    return subjects.parse(item.event.subject).event


def what(item: Recorded) -> str:
    """Return the sentence of an event, in the language that is spoken."""
    data = item.event.data
    if isinstance(data, JobData) and isinstance(data.detail, Fact):
        words = pick(sentence(data.detail))
        why = reason_text(data.job.reason) if data.detail.event in _EXPLAINED else ""
        return plain(f"{words}: {why}" if why else words)
    fields = data.detail.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return plain(" ".join(f"{name}={value}" for name, value in fields.items()))


def event_line(item: Recorded) -> Text:
    """Return one event as a line of the stream that `muster events` prints."""
    event = event_of(item)
    return Text.assemble(
        (clock(item.event.time), "dim"),
        " ",
        (f"{event:<20}", event_style(event)),
        " ",
        (about(item), "bold"),
        " ",
        what(item),
    )


def about(item: Recorded) -> str:
    """Return what an event is about: tenant, job and name, or pool and node."""
    data = item.event.data
    if isinstance(data, JobData):
        return plain(f"{data.job.tenant}/{short(data.job.job)} {data.job.name}")
    if isinstance(data, NodeData):
        return plain(f"{data.node.pool}/{data.node.node}")
    return item.event.subject.rpartition(".")[0]


def event_document(item: Recorded) -> dict[str, Any]:
    """Return an event for JSON: the CloudEvent, and where it stands in the log."""
    return {"seq": item.seq, "stored_at": item.at.isoformat()} | item.event.model_dump(
        mode="json", exclude_none=True
    )
