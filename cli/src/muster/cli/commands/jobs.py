"""`muster list`: jobs, the newest last, with why each one waits."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

import typer

from muster.cli import output
from muster.cli.reach import reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.texts import say
from muster.cli.views.jobs import job_document, job_table
from muster.cli.waiting import reasons_why
from muster.cli.words import labels
from muster.domain.phases import Phase
from muster.domain.state import JobState

LIMIT = 50

app = typer.Typer(add_completion=False)


@app.command(help=say("help.list"))
def jobs(
    context: typer.Context,
    tenant: Annotated[str | None, typer.Option(help=say("option.tenant"))] = None,
    phase: Annotated[
        list[str] | None, typer.Option(help=say("option.phase"), metavar="PHASE")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option("--label", "-l", help=say("option.label"), metavar="K=V")
    ] = None,
    user: Annotated[str | None, typer.Option(help=say("option.user"))] = None,
    limit: Annotated[int | None, typer.Option(help=say("option.limit"), min=1)] = None,
) -> None:
    """Filter, then show the newest. Programs get all of them, unless they say how many."""
    session = session_of(context)
    if limit is None and not session.as_json:
        limit = LIMIT
    wanted = Wanted(tenant or session.tenant, _phases(phase or []), labels(label or []), user)
    run(_list(session, wanted, limit))


class Wanted:
    """Filters of a list; None and empty match everything."""

    def __init__(
        self,
        tenant: str | None = None,
        phases: frozenset[Phase] = frozenset(),
        labels: dict[str, str] | None = None,
        user: str | None = None,
    ) -> None:
        self.tenant, self._phases = tenant, phases
        self._labels, self._user = labels or {}, user

    def matches(self, job: JobState) -> bool:
        """Tell whether a job passes every filter."""
        if self.tenant is not None and job.tenant != self.tenant:
            return False
        if self._phases and job.phase not in self._phases:
            return False
        if self._user is not None and job.user != self._user:
            return False
        return all(job.labels.get(key) == value for key, value in self._labels.items())


def _phases(texts: Iterable[str]) -> frozenset[Phase]:
    known = ", ".join(Phase)
    for text in texts:
        if text not in set(Phase):
            raise typer.BadParameter(say("usage.phase", phase=text, known=known))
    return frozenset(Phase(text) for text in texts)


async def _list(session: Session, wanted: Wanted, limit: int | None) -> None:
    async with reach(session) as muster:
        found = [job for job in await muster.jobs(wanted.tenant) if wanted.matches(job)]
        found.sort(key=lambda job: (job.submitted_at, job.job))
        shown = found[-limit:] if limit is not None else found
        waits = await reasons_why(muster, shown)
        now = await muster.now()
    if session.as_json:
        output.document([job_document(job, waits.get(job.job, "")) for job in shown])
    else:
        _show(shown, now, waits, len(found) - len(shown))


def _show(shown: list[JobState], now: datetime, waits: dict[str, str], more: int) -> None:
    if not shown:
        output.line(say("list.none"))
        return
    output.show(job_table(shown, now, waits))
    if more:
        output.line(say("list.more", count=more))
