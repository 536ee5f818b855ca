"""`muster nodes`: every node, who is on it, and what is free."""

from __future__ import annotations

from typing import Annotated

import typer

from muster.cli import output
from muster.cli.reach import reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.texts import say
from muster.cli.views.nodes import node_document, node_table, pool_line, uses

app = typer.Typer(add_completion=False)


@app.command(help=say("help.nodes"))
def nodes(
    context: typer.Context,
    pool: Annotated[str | None, typer.Option(help=say("option.pool"))] = None,
) -> None:
    """Print a table, and a line for each pool."""
    run(_nodes(session_of(context), pool))


async def _nodes(session: Session, pool: str | None) -> None:
    async with reach(session) as muster:
        states = await muster.nodes(pool)
        used = uses(states, await muster.jobs())
        pools = sorted({node.pool for node in states})
        summaries = {name: await muster.pool(name) for name in pools}
    if session.as_json:
        output.document([node_document(use) for use in used])
        return
    if not used:
        output.line(say("nodes.none"))
        return
    output.show(node_table(used))
    for name, summary in summaries.items():
        if summary is not None:
            output.line(pool_line(name, summary))
