"""`muster debug JOB`: a new job with the same resources that only waits, to look inside."""

from __future__ import annotations

from typing import Annotated

import typer

from muster.cli import output
from muster.cli.building import built
from muster.cli.errors import Refusal
from muster.cli.reach import reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.texts import say
from muster.contracts.requests import Debug

app = typer.Typer(add_completion=False)


@app.command(help=say("help.debug"))
def debug(
    context: typer.Context,
    job: Annotated[str, typer.Argument(help=say("argument.job"), metavar="JOB")],
    tenant: Annotated[str | None, typer.Option(help=say("option.tenant"))] = None,
) -> None:
    """Ask for it, and say which job it is."""
    session = session_of(context)
    run(_debug(session, job, tenant or session.tenant))


async def _debug(session: Session, text: str, tenant: str | None) -> None:
    async with reach(session) as muster:
        origin = await muster.find(text, tenant)
        body = built(Debug, user=session.user, job=origin.job)
        answer = await muster.request(origin.tenant, body)
        if not answer.accepted or answer.job is None:
            raise Refusal("request", answer.violations, what=say("debug.what", job=origin.job))
        made = await muster.state(origin.tenant, answer.job)
    name = made.name if made else ""
    if session.as_json:
        told = {"tenant": origin.tenant, "job": answer.job, "name": name, "origin": origin.job}
        output.document(told)
    else:
        output.line(say("debug.done", name=name, job=answer.job, origin=origin.job))
