"""`muster incidents`: what many failures have in common, now and lately."""

from __future__ import annotations

from typing import Annotated

import typer

from muster.cli import output
from muster.cli.reach import reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.texts import say
from muster.cli.views.incidents import incident_lines, incident_table

app = typer.Typer(add_completion=False)


@app.command(help=say("help.incidents"))
def incidents(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", help=say("option.incidents.all"))] = False,
) -> None:
    """Print a table, and what each means."""
    run(_incidents(session_of(context), every))


async def _incidents(session: Session, every: bool) -> None:
    async with reach(session) as muster:
        found = [each for each in await muster.incidents() if every or each.open]
    if session.as_json:
        output.document(found)
        return
    if not found:
        output.line(say("incidents.none"))
        return
    output.show(incident_table(found))
    for line in incident_lines(found):
        output.line(line)
