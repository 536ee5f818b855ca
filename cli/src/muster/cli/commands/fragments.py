"""`muster fragments`: of what use the free room of a pool is, shape by shape."""

from __future__ import annotations

from typing import Annotated

import typer

from muster.cli import output
from muster.cli.reach import reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.texts import say
from muster.cli.views.fragments import fragment_table, fragments_document, fragments_line
from muster.cli.views.stability import stability_view

app = typer.Typer(add_completion=False)


@app.command(help=say("help.fragments"))
def fragments(
    context: typer.Context,
    pool: Annotated[str | None, typer.Option(help=say("option.pool"))] = None,
    calibration: Annotated[bool, typer.Option(help=say("option.calibration"))] = False,
) -> None:
    """Print a table and a line for each pool."""
    run(_fragments(session_of(context), pool, calibration))


async def _fragments(session: Session, pool: str | None, calibration: bool) -> None:
    async with reach(session) as muster:
        pools = [pool] if pool else sorted({node.pool for node in await muster.nodes()})
        measured = {name: await muster.fragments(name) for name in pools}
        stability = {name: await muster.stability(name) for name in pools}
    known = {name: found for name, found in measured.items() if found is not None}
    if session.as_json:
        output.document(
            [fragments_document(name, found, stability[name]) for name, found in known.items()]
        )
        return
    if not known:
        output.line(say("fragments.none"))
        return
    for name, found in known.items():
        if found.rows:
            output.show(fragment_table(found))
        output.line(fragments_line(name, found))
    output.line(say("fragments.not_summed"))
    for name in known:
        output.show("", *stability_view(name, stability[name], calibration))
