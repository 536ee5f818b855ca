"""`muster respecify JOB`: other limits or another node policy for a job that waits."""

from __future__ import annotations

from typing import Annotated

import typer

from muster.cli.asking import ask_about
from muster.cli.building import built
from muster.cli.commands.resume import changed_limits
from muster.cli.running import run
from muster.cli.session import session_of
from muster.cli.texts import say
from muster.contracts.requests import Respecify
from muster.domain.demand import NodePolicyType
from muster.domain.spec import NodePolicySpec
from muster.domain.state import JobState

app = typer.Typer(add_completion=False)


@app.command(help=say("help.respecify"))
def respecify(
    context: typer.Context,
    job: Annotated[str, typer.Argument(help=say("argument.job"), metavar="JOB")],
    tenant: Annotated[str | None, typer.Option(help=say("option.tenant"))] = None,
    max_queue_hours: Annotated[
        int | None, typer.Option(help=say("option.max_queue_hours"), min=1, max=12)
    ] = None,
    max_requeues: Annotated[
        int | None, typer.Option(help=say("option.max_requeues"), min=0, max=3)
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help=say("option.only_nodes"))] = None,
    never: Annotated[list[str] | None, typer.Option(help=say("option.never_nodes"))] = None,
) -> None:
    """Ask for it; what is not given stays as it is."""
    policy = node_policy(only or [], never or [])
    if policy is None and max_queue_hours is None and max_requeues is None:
        raise typer.BadParameter(say("usage.respecify"))
    session = session_of(context)

    def request(state: JobState) -> Respecify:
        asked = built(Respecify, user=session.user, job=state.job)
        limits = changed_limits(state, max_queue_hours, max_requeues)
        return asked.model_copy(update={"auto_queue": limits, "node_policy": policy})

    run(ask_about(session, [job], tenant or session.tenant, "respecify", request))


def node_policy(only: list[str], never: list[str]) -> NodePolicySpec | None:
    """Return the policy that is asked for. Raises BadParameter when both are."""
    if only and never:
        raise typer.BadParameter(say("usage.only_or_never"), param_hint="--only")
    if not only and not never:
        return None
    kind = NodePolicyType.NODE_IN if only else NodePolicyType.NODE_NOT_IN
    return NodePolicySpec(type=kind, nodes=tuple(only or never))
