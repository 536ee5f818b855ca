"""`muster node ...`: what an operator says about one node."""

from __future__ import annotations

from typing import Annotated

import typer

from muster.cli import output
from muster.cli.building import built
from muster.cli.errors import Refusal
from muster.cli.judging import fault_tolerance_answers
from muster.cli.reach import reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.texts import say
from muster.cli.views.lemons import (
    fleet_line,
    held_lines,
    is_suspect,
    lemon_table,
    suspect_table,
)
from muster.cli.words import duration, span
from muster.contracts import requests as r
from muster.contracts.judgements import NodeRatings

POOL, NOTICE = "default", "30s"
MAX_NOTICE_S = 86400

Node = Annotated[str, typer.Argument(help=say("argument.node"), metavar="NODE")]
AnyPool = Annotated[str | None, typer.Option("--pool", help=say("option.pool"))]
Pool = Annotated[str, typer.Option(help=say("option.pool"))]

app = typer.Typer(add_completion=False, help=say("help.node"), no_args_is_help=True)


@app.command(help=say("help.node.reclaim"))
def reclaim(
    context: typer.Context,
    node: Node,
    pool: Pool = POOL,
    notice: Annotated[str, typer.Option(help=say("option.notice"))] = NOTICE,
) -> None:
    """Announce that the node will be taken away."""
    seconds = round(duration(notice))
    user = session_of(context).user
    if seconds > MAX_NOTICE_S:
        raise typer.BadParameter(
            say("usage.notice", limit=span(MAX_NOTICE_S)), param_hint="--notice"
        )
    body = built(r.ReclaimNode, user=user, pool=pool, node=node, notice_s=seconds)
    run(_ask(session_of(context), "reclaim", body, span(seconds)))


@app.command(help=say("help.node.cordon"))
def cordon(context: typer.Context, node: Node, pool: Pool = POOL) -> None:
    """No new work."""
    _simple(context, "cordon", r.CordonNode, node, pool)


@app.command(help=say("help.node.uncordon"))
def uncordon(context: typer.Context, node: Node, pool: Pool = POOL) -> None:
    """New work again."""
    _simple(context, "uncordon", r.UncordonNode, node, pool)


@app.command(help=say("help.node.drain"))
def drain(context: typer.Context, node: Node, pool: Pool = POOL) -> None:
    """Empty the node."""
    _simple(context, "drain", r.DrainNode, node, pool)


@app.command(help=say("help.node.fence"))
def fence(
    context: typer.Context,
    node: Node,
    pool: Pool = POOL,
    yes: Annotated[bool, typer.Option("--yes", "-y", help=say("option.yes"))] = False,
) -> None:
    """A person's word: asked for once more, since jobs are started elsewhere because of it."""
    if not yes:
        typer.confirm(say("node.fence.ask", node=node), abort=True, err=True)
    _simple(context, "fence", r.FenceNode, node, pool)


@app.command(help=say("help.node.suspects"))
def suspects(context: typer.Context, pool: AnyPool = None) -> None:
    """What is held against which nodes now."""
    run(_suspects(session_of(context), pool))


@app.command(help=say("help.node.lemons"))
def lemons(context: typer.Context, pool: AnyPool = None) -> None:
    """Every node against the fleet."""
    run(_lemons(session_of(context), pool))


async def _suspects(session: Session, pool: str | None) -> None:
    ratings = await _ratings(session, pool)
    found = [row for row in ratings.nodes if is_suspect(row)]
    if session.as_json:
        output.document(found)
        return
    if not found:
        output.line(say("lemons.no_suspects"))
        return
    output.show(suspect_table(found))
    for line in held_lines(found):
        output.line(line)
    output.line(say("lemons.accept"))


async def _lemons(session: Session, pool: str | None) -> None:
    ratings = await _ratings(session, pool)
    if session.as_json:
        output.document(ratings)
        return
    found = [row for row in ratings.nodes if row.jobs or row.exclusions]
    if found:
        output.show(lemon_table(found))
    output.line(fleet_line(ratings) if ratings.rated else say("lemons.none"))


async def _ratings(session: Session, pool: str | None) -> NodeRatings:
    async with reach(session) as muster:
        with fault_tolerance_answers():
            return await muster.node_ratings(pool)


def _simple(
    context: typer.Context,
    verb: str,
    model: type[r.NodeRequest],
    node: str,
    pool: str,
) -> None:
    session = session_of(context)
    run(_ask(session, verb, built(model, user=session.user, pool=pool, node=node)))


async def _ask(session: Session, verb: str, body: r.NodeRequest, notice: str = "") -> None:
    async with reach(session) as muster:
        answer = await muster.request(session.tenant_or_default, body)
    if not answer.accepted:
        raise Refusal("request", answer.violations, what=say("node.what", node=body.node))
    if session.as_json:
        output.document(answer)
    else:
        output.line(say(f"node.done.{verb}", node=body.node, notice=notice))
