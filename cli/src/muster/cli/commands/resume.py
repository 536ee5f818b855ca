"""`muster resume JOB`: lets an abnormal job queue again, with other limits where they are given."""

from __future__ import annotations

from typing import Annotated

import typer

from muster.cli.asking import ask_about
from muster.cli.building import built
from muster.cli.running import run
from muster.cli.session import session_of
from muster.cli.texts import say
from muster.contracts.requests import Resume
from muster.domain.auto_queue import AutoQueueSpec
from muster.domain.state import JobState

app = typer.Typer(add_completion=False)


@app.command(help=say("help.resume"))
def resume(
    context: typer.Context,
    job: Annotated[str, typer.Argument(help=say("argument.job"), metavar="JOB")],
    tenant: Annotated[str | None, typer.Option(help=say("option.tenant"))] = None,
    max_queue_hours: Annotated[
        int | None, typer.Option(help=say("option.max_queue_hours"), min=1, max=12)
    ] = None,
    max_requeues: Annotated[
        int | None, typer.Option(help=say("option.max_requeues"), min=0, max=3)
    ] = None,
) -> None:
    """Ask for it; limits that are not given stay as they are."""
    session = session_of(context)

    def request(state: JobState) -> Resume:
        limits = changed_limits(state, max_queue_hours, max_requeues)
        asked = built(Resume, user=session.user, job=state.job)
        return asked.model_copy(update={"auto_queue": limits})

    run(ask_about(session, [job], tenant or session.tenant, "resume", request))


def changed_limits(
    state: JobState, hours: int | None, requeues: int | None
) -> AutoQueueSpec | None:
    """Return both limits when one is changed: a request carries the whole of them."""
    if hours is None and requeues is None:
        return None
    now = state.demand.queue
    return AutoQueueSpec(
        enabled=True,
        max_queue_hours=hours or (now.max_queue_hours if now else 1),
        max_requeues=requeues if requeues is not None else (now.max_requeues if now else 0),
    )
