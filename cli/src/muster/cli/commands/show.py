"""`muster show JOB`: everything about one job."""

from __future__ import annotations

from typing import Annotated

import typer

from muster.cli import output
from muster.cli.reach import reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.texts import say
from muster.cli.views.job import job_in_full, job_view
from muster.cli.waiting import reasons_why

app = typer.Typer(add_completion=False)


@app.command(help=say("help.show"))
def show(
    context: typer.Context,
    job: Annotated[str, typer.Argument(help=say("argument.job"), metavar="JOB")],
    tenant: Annotated[str | None, typer.Option(help=say("option.tenant"))] = None,
) -> None:
    """Print state, ledgers, deadlines, nodes and timeline."""
    session = session_of(context)
    run(_show(session, job, tenant or session.tenant))


async def _show(session: Session, text: str, tenant: str | None) -> None:
    async with reach(session) as muster:
        found = await muster.find(text, tenant)
        history = await muster.history(found.tenant, found.job)
        state = history[-1].job if history else found
        why = (await reasons_why(muster, [state])).get(state.job, "")
        debugged_by = await muster.debug_jobs(state)
        now = await muster.now()
    if session.as_json:
        output.document(job_in_full(state, history, why, debugged_by))
    else:
        output.show(job_view(state, history, now, why, debugged_by))
