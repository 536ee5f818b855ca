"""`muster provision`: the one tool that makes a server ready; safe to repeat."""

from __future__ import annotations

from typing import Annotated

import typer

from muster.bus.provision import Change, provision
from muster.cli import output
from muster.cli.connecting import Address, address, connection_to
from muster.cli.running import run
from muster.cli.session import session_of
from muster.cli.texts import say

app = typer.Typer(add_completion=False)


@app.command("provision", help=say("help.provision"))
def provision_server(
    context: typer.Context,
    url: Annotated[str | None, typer.Option(help=say("option.url"))] = None,
    replicas: Annotated[int, typer.Option(help=say("option.replicas"), min=1, max=5)] = 1,
) -> None:
    """Say what was created, updated, or left as it is on purpose."""
    session = session_of(context)
    changes = run(_provision(address(session, url), replicas))
    if session.as_json:
        output.document(
            [
                {"what": change.what, "name": change.name, "details": list(change.details)}
                for change in changes
            ]
        )
        return
    for change in changes:
        output.line(say("provision.change", change=change))
    if not changes:
        output.line(say("provision.none"))


async def _provision(where: Address, replicas: int) -> list[Change]:
    async with connection_to(where) as connection:
        return await provision(connection, replicas=replicas)
