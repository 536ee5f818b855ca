"""`muster stock`: what of spot capacity can be had now, and what an operator says of it."""

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
from muster.cli.views.spot_quota import quota_documents, quota_table
from muster.cli.views.stock import item_document, stock_table
from muster.cli.words import duration
from muster.contracts import requests as r
from muster.domain.shelf import shelf
from muster.domain.tenants import spot_is_for

Pool = Annotated[str | None, typer.Option(help=say("option.pool"))]

app = typer.Typer(add_completion=False, help=say("help.stock"), invoke_without_command=True)


@app.callback()
def stock(context: typer.Context, pool: Pool = None) -> None:
    """Without a command: the list."""
    if context.invoked_subcommand is None:
        run(_list(session_of(context), pool))


@app.command("set", help=say("help.stock.set"))
def set_stock(
    context: typer.Context,
    zone: Annotated[str, typer.Option(help=say("option.stock.zone"))],
    gpu_model: Annotated[str, typer.Option(help=say("option.stock.model"))],
    gpus: Annotated[int | None, typer.Option(min=0, help=say("option.stock.gpus"))] = None,
    withdrawn: Annotated[bool, typer.Option(help=say("option.stock.withdrawn"))] = False,
    notice: Annotated[str, typer.Option(help=say("option.notice"))] = "30s",
    price: Annotated[float | None, typer.Option(min=0, help=say("option.stock.price"))] = None,
    currency: Annotated[str | None, typer.Option(help=say("option.stock.currency"))] = None,
    network: Annotated[str | None, typer.Option(help=say("option.stock.network"))] = None,
    pool: Annotated[str, typer.Option(help=say("option.pool"))] = "default",
) -> None:
    """Say what spot jobs may hold from now on."""
    if (gpus is None) is not withdrawn:
        raise typer.BadParameter(say("usage.stock"), param_hint="--gpus")
    body = built(
        r.SetStock,
        user=session_of(context).user,
        pool=pool,
        zone=zone,
        gpu_model=gpu_model,
        gpus=gpus,
        notice_s=round(duration(notice)),
        price=price,
        currency=currency,
        network=network,
    )
    run(_set(session_of(context), body))


@app.command("quota", help=say("help.stock.quota"))
def quota(context: typer.Context, pool: Pool = None) -> None:
    """Say how much spot jobs may hold where others may take it back."""
    run(_quota(session_of(context), pool))


async def _quota(session: Session, pool: str | None) -> None:
    async with reach(session) as muster:
        pools = [pool] if pool else sorted({node.pool for node in await muster.nodes()})
        measured = {name: await muster.spot_quota(name) for name in pools}
    known = {name: found for name, found in measured.items() if found is not None}
    if session.as_json:
        output.document([one for item in known.items() for one in quota_documents(*item)])
    elif known:
        output.show(quota_table(known))
        output.line(say("quota.spot.meaning"))
    else:
        output.line(say("quota.spot.none"))


async def _list(session: Session, pool: str | None) -> None:
    async with reach(session) as muster:
        items = shelf(await muster.stock(pool), await muster.nodes(pool), await muster.jobs())
        tenant = session.tenant_or_default
        rights = await muster.tenants()
    shut = sorted({item.pool for item in items if not spot_is_for(rights, tenant, item.pool)})
    if session.as_json:
        output.document([item_document(item) for item in items])
    elif items:
        output.show(stock_table(items))
    else:
        output.line(say("stock.none"))
    if shut and not session.as_json:
        note = say("stock.not_for", tenant=tenant, pools=", ".join(shut))
        output.line((note, "yellow"), stderr=True)


async def _set(session: Session, body: r.SetStock) -> None:
    what = f"{body.gpu_model} / {body.zone}"
    async with reach(session) as muster:
        answer = await muster.request(session.tenant_or_default, body)
        nodes = await muster.nodes(body.pool) if answer.accepted else []
    if not answer.accepted:
        raise Refusal("request", answer.violations, what=what)
    named = {"gpu_model": (body.gpu_model,), "zone": (body.zone,)}
    warnings = strangers(body.pool, named, nodes)
    show_done(session, answer, say("stock.done", what=what), warnings)
