"""`muster provision`: the one tool that makes a server ready; safe to repeat."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from muster.bus.provision import Change, provision
from muster.cli import output
from muster.cli.connecting import Address, address, connection_to
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.texts import say

app = typer.Typer(add_completion=False)


@app.command("provision", help=say("help.provision"))
def provision_server(
    context: typer.Context,
    url: Annotated[str | None, typer.Option(help=say("option.url"))] = None,
    replicas: Annotated[int, typer.Option(help=say("option.replicas"))] = 1,
) -> None:
    """Say what was created, updated, or left as it is on purpose."""
    session = session_of(context)
    changes = run(_provision(_where(session, url), replicas))
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


def _where(session: Session, url: str | None) -> Address:
    if url is None:
        return address(session)
    credentials = os.environ.get("MUSTER_NATS_CREDENTIALS")
    return Address(url, Path(credentials) if credentials else None)


async def _provision(where: Address, replicas: int) -> list[Change]:
    async with connection_to(where) as connection:
        return await provision(connection, replicas=replicas)
