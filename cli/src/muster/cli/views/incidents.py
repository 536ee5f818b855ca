"""Incidents: what it is, since when, whom it concerns, and what follows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.table import Table
from rich.text import Text

from muster.cli.output import row, table
from muster.cli.texts import pick, say
from muster.cli.words import moment
from muster.domain.incidents import Incident


def incident_table(incidents: Iterable[Incident]) -> Table:
    """Return the table."""
    titles = ("incident", "kind", "began", "jobs", "users", "state")
    made = table(*(say(f"column.{title}") for title in titles))
    for each in incidents:
        row(
            made,
            Text(each.id, "bold"),
            say(f"incident.kind.{each.kind.value}"),
            moment(each.opened_at),
            str(each.jobs or "-"),
            str(each.users or "-"),
            _state(each),
        )
    return made


def _state(incident: Incident) -> Text:
    if incident.closed_at is None:
        return Text(say("incident.open"), "red")
    words = say("incident.over", at=moment(incident.closed_at), by=incident.closed_by or "-")
    return Text(words, "green")


def incident_lines(incidents: Iterable[Incident]) -> Iterator[str]:
    """Yield what each open one means."""
    for each in incidents:
        if each.open:
            yield f"{each.id}: {pick((each.en, each.zh))}"
