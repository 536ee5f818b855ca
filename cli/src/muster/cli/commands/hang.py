"""`muster hang JOB`: is its silence judged, what does each family of signals say, and since when?

Asks fault tolerance, which answers from what it has seen itself.
"""

from __future__ import annotations

from typing import Annotated

import typer

from muster.cli import output
from muster.cli.judging import fault_tolerance_answers
from muster.cli.reach import reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.texts import say
from muster.cli.views.hang import hang_lines

app = typer.Typer(add_completion=False)


@app.command(help=say("help.hang"))
def hang(
    context: typer.Context,
    job: Annotated[str, typer.Argument(help=say("argument.job"), metavar="JOB")],
    tenant: Annotated[str | None, typer.Option(help=say("option.tenant"))] = None,
) -> None:
    """Say it in a few sentences."""
    session = session_of(context)
    run(_hang(session, job, tenant or session.tenant))


async def _hang(session: Session, text: str, tenant: str | None) -> None:
    async with reach(session) as muster:
        state = await muster.find(text, tenant)
        with fault_tolerance_answers():
            answer = await muster.hang(state)
    if session.as_json:
        output.document(answer)
        return
    for line in hang_lines(state, answer):
        output.line(line)
