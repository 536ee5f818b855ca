"""`muster events`: the facts themselves, for whoever runs the place."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import typer

from muster.cli import output
from muster.cli.reach import reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.texts import say
from muster.cli.views.timeline import event_document, event_line
from muster.cli.words import since as since_when
from muster.contracts import subjects
from muster.domain.facts import FACTS
from muster.domain.nodes import NODE_FACTS
from muster.log import Recorded

_KNOWN = (*FACTS, *NODE_FACTS)

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, slots=True)
class Filters:
    """What to show; None and empty show everything."""

    tenant: str | None = None
    job: str | None = None
    events: frozenset[str] = frozenset()
    since: datetime | None = None

    def subjects(self) -> tuple[str, ...]:
        """Return the filters that the server applies."""
        about = f"jobs.{self.tenant or '*'}.{self.job or '*'}"
        jobs = [f"{about}.{event}" for event in sorted(self.events & FACTS.keys())]
        nodes = [f"pools.*.nodes.*.{event}" for event in sorted(self.events & NODE_FACTS.keys())]
        if not self.events:
            jobs, nodes = [f"{about}.*"], [subjects.ALL_NODES]
        if self.tenant or self.job:
            return tuple(jobs) or (f"{about}.none",)  # no filter at all would mean everything
        return (*jobs, *nodes)

    def shows(self, item: Recorded) -> bool:
        """Tell whether an event is new enough."""
        return self.since is None or item.at >= self.since


@app.command(help=say("help.events"))
def events(
    context: typer.Context,
    follow: Annotated[bool, typer.Option("--follow", "-f", help=say("option.follow"))] = False,
    tenant: Annotated[str | None, typer.Option(help=say("option.tenant"))] = None,
    job: Annotated[str | None, typer.Option(help=say("option.job"))] = None,
    event: Annotated[list[str] | None, typer.Option(help=say("option.event"))] = None,
    since: Annotated[str | None, typer.Option(help=say("option.since"))] = None,
) -> None:
    """One line each, the oldest first."""
    session = session_of(context)
    for name in event or []:
        if name not in _KNOWN:
            known = ", ".join(_KNOWN)
            raise typer.BadParameter(say("usage.event", event=name, known=known))
    wanted = Filters(tenant or session.tenant, None, frozenset(event or []))
    run(_events(session, wanted, job, since, follow=follow))


async def _events(
    session: Session, wanted: Filters, job: str | None, since: str | None, *, follow: bool
) -> None:
    async with reach(session) as muster:
        tenant, chosen = wanted.tenant, None
        if job is not None:
            found = await muster.find(job, tenant)
            tenant, chosen = found.tenant, found.job
        start = since_when(since, await muster.now())
        filters = Filters(tenant, chosen, wanted.events, start)
        read = muster.events_and_on if follow else muster.events
        async for item in read(filters.subjects()):
            if filters.shows(item):
                _show(session, item)


def _show(session: Session, item: Recorded) -> None:
    if session.as_json:
        output.record(event_document(item))
    else:
        output.line(event_line(item))
