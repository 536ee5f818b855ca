"""`muster incident close`: a person's word that an incident is over."""

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
from muster.contracts import requests as r

app = typer.Typer(add_completion=False, help=say("help.incident"), no_args_is_help=True)


@app.callback()
def incident() -> None:
    """What an operator says of one incident."""


@app.command(help=say("help.incident.close"))
def close(
    context: typer.Context,
    incident: Annotated[str, typer.Argument(help=say("argument.incident"), metavar="INCIDENT")],
) -> None:
    """It is over."""
    session = session_of(context)
    run(_close(session, built(r.CloseIncident, user=session.user, incident=incident)))


async def _close(session: Session, body: r.CloseIncident) -> None:
    async with reach(session) as muster:
        answer = await muster.request(session.tenant_or_default, body)
    if not answer.accepted:
        raise Refusal("request", answer.violations, what=body.incident)
    if session.as_json:
        output.document(answer)
    else:
        output.line(say("incident.closed", incident=body.incident))
