"""`muster explain JOB`: why it is where it is, what it waits for, and what happens next."""

from __future__ import annotations

from typing import Annotated

import typer

from muster.cli import output
from muster.cli.reach import reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.texts import say
from muster.cli.views.explanation import explanation, explanation_document
from muster.cli.waiting import elsewhere

app = typer.Typer(add_completion=False)


@app.command(help=say("help.explain"))
def explain(
    context: typer.Context,
    job: Annotated[str, typer.Argument(help=say("argument.job"), metavar="JOB")],
    tenant: Annotated[str | None, typer.Option(help=say("option.tenant"))] = None,
) -> None:
    """Say it in a few sentences."""
    session = session_of(context)
    run(_explain(session, job, tenant or session.tenant))


async def _explain(session: Session, text: str, tenant: str | None) -> None:
    async with reach(session) as muster:
        state = await muster.find(text, tenant)
        summary = await muster.pool(state.pool)
        now = await muster.now()
        other = elsewhere(state, await muster.nodes())
    if session.as_json:
        output.document(explanation_document(state, summary) | {"elsewhere": other or None})
        return
    for line in explanation(state, summary, now):
        output.line(line)
    if other:
        output.line(other)
