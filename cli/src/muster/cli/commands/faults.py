"""`muster faults JOB`: every failure of a job, why it was held to be what, and what followed."""

from __future__ import annotations

from typing import Annotated

import typer

from muster.cli import output
from muster.cli.reach import reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.texts import say
from muster.cli.views.faults import faults_document, faults_of, faults_view

app = typer.Typer(add_completion=False)


@app.command(help=say("help.faults"))
def faults(
    context: typer.Context,
    job: Annotated[str, typer.Argument(help=say("argument.job"), metavar="JOB")],
    tenant: Annotated[str | None, typer.Option(help=say("option.tenant"))] = None,
) -> None:
    """Print them, the oldest first."""
    session = session_of(context)
    run(_faults(session, job, tenant or session.tenant))


async def _faults(session: Session, text: str, tenant: str | None) -> None:
    async with reach(session) as muster:
        state = await muster.find(text, tenant)
        history = await muster.history(state.tenant, state.job)
        debugged_by = await muster.debug_jobs(state)
    found = faults_of(history)
    if session.as_json:
        output.document(faults_document(state, found, debugged_by))
    else:
        output.show(faults_view(state, found, debugged_by))
