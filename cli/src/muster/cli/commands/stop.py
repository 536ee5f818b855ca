"""`muster stop JOB...`: ends jobs, in whatever phase they are."""

from __future__ import annotations

from typing import Annotated

import typer

from muster.cli.asking import ask_about
from muster.cli.building import built
from muster.cli.running import run
from muster.cli.session import session_of
from muster.cli.texts import say
from muster.contracts.requests import Stop

app = typer.Typer(add_completion=False)


@app.command(help=say("help.stop"))
def stop(
    context: typer.Context,
    jobs: Annotated[list[str], typer.Argument(help=say("argument.jobs"), metavar="JOB...")],
    tenant: Annotated[str | None, typer.Option(help=say("option.tenant"))] = None,
) -> None:
    """Ask for the end of each job."""
    session = session_of(context)
    own = tenant or session.tenant
    raise typer.Exit(
        run(
            ask_about(
                session, jobs, own, "stop", lambda job: built(Stop, user=session.user, job=job.job)
            )
        )
    )
