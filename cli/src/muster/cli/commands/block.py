"""`muster block ...`: nodes that tenants, or some of their users, stay off."""

from __future__ import annotations

from typing import Annotated

import typer

from muster.cli import output
from muster.cli.building import built
from muster.cli.errors import Refusal
from muster.cli.reach import reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.strangers import show as show_done
from muster.cli.strangers import strangers
from muster.cli.texts import say
from muster.cli.views.shares import block_document, block_lists, block_table
from muster.contracts import requests as r

Tenant = Annotated[str, typer.Argument(help=say("argument.tenant"), metavar="TENANT")]
Nodes = Annotated[list[str], typer.Argument(help=say("argument.nodes"), metavar="NODE...")]
User = Annotated[str | None, typer.Option("--only-user", help=say("option.block.user"))]
Pool = Annotated[str, typer.Option(help=say("option.block.pool"))]

app = typer.Typer(add_completion=False, help=say("help.block"), no_args_is_help=True)


@app.command(help=say("help.block.show"))
def show(
    context: typer.Context,
    tenant: Annotated[
        str | None, typer.Argument(help=say("argument.tenant.some"), metavar="[TENANT]")
    ] = None,
) -> None:
    """The lists."""
    run(_show(session_of(context), tenant))


@app.command(help=say("help.block.add"))
def add(
    context: typer.Context,
    tenant: Tenant,
    nodes: Nodes,
    only_user: User = None,
    pool: Pool = "default",
) -> None:
    """Off limits from now on."""
    body = _body(session_of(context), tenant, only_user, pool, add=tuple(nodes))
    run(_ask(session_of(context), "add", body))


@app.command(help=say("help.block.remove"))
def remove(
    context: typer.Context,
    tenant: Tenant,
    nodes: Nodes,
    only_user: User = None,
    pool: Pool = "default",
) -> None:
    """Open again."""
    body = _body(session_of(context), tenant, only_user, pool, remove=tuple(nodes))
    run(_ask(session_of(context), "remove", body))


def _body(
    session: Session, tenant: str, only_user: str | None, pool: str, **nodes: tuple[str, ...]
) -> r.SetBlocklist:
    return built(
        r.SetBlocklist, user=session.user, tenant=tenant, only_user=only_user, pool=pool, **nodes
    )


async def _show(session: Session, tenant: str | None) -> None:
    async with reach(session) as muster:
        found = block_lists(await muster.tenants(tenant))
    if session.as_json:
        output.document([block_document(one) for one in found])
    elif found:
        output.show(block_table(found))
    else:
        output.line(say("block.none"))


async def _ask(session: Session, verb: str, body: r.SetBlocklist) -> None:
    async with reach(session) as muster:
        answer = await muster.request(session.tenant_or_default, body)
        there = await muster.nodes(body.pool) if answer.accepted else []
    if not answer.accepted:
        raise Refusal("request", answer.violations, what=say("block.what", tenant=body.tenant))
    key = f"block.done.{verb}" if body.only_user is None else f"block.done.{verb}.user"
    nodes = ", ".join((*body.add, *body.remove))
    done = say(key, tenant=body.tenant, user=body.only_user, nodes=nodes)
    show_done(session, answer, done, strangers(body.pool, {"node": body.add}, there))
