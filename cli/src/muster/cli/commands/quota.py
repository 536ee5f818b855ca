"""`muster quota ...`: shares of tenants, and who may use spot capacity, for operators."""

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
from muster.cli.views.shares import (
    share_document,
    share_table,
    shares,
    spot_document,
    spot_rights,
    spot_table,
)
from muster.contracts import requests as r

Tenant = Annotated[str, typer.Argument(help=say("argument.tenant"), metavar="TENANT")]
SomeTenant = Annotated[
    str | None, typer.Argument(help=say("argument.tenant.some"), metavar="[TENANT]")
]

app = typer.Typer(add_completion=False, help=say("help.quota"), no_args_is_help=True)


@app.command(help=say("help.quota.show"))
def show(
    context: typer.Context,
    tenant: SomeTenant = None,
) -> None:
    """The list."""
    run(_show(session_of(context), tenant))


@app.command("set", help=say("help.quota.set"))
def set_share(
    context: typer.Context,
    tenant: Tenant,
    gpu_model: Annotated[str, typer.Option(help=say("option.share.model"))],
    guaranteed: Annotated[int, typer.Option(min=0, help=say("option.share.guaranteed"))] = 0,
    ceiling: Annotated[int | None, typer.Option(min=0, help=say("option.share.ceiling"))] = None,
    pool: Annotated[str, typer.Option(help=say("option.share.pool"))] = "default",
) -> None:
    """One share; the others stay."""
    session = session_of(context)
    share = {"pool": pool, "gpu_model": gpu_model, "guaranteed": guaranteed, "ceiling": ceiling}
    run(_ask(session, built(r.SetQuota, user=session.user, tenant=tenant, shares=[share])))


@app.command(help=say("help.quota.clear"))
def clear(context: typer.Context, tenant: Tenant) -> None:
    """No shares any more."""
    session = session_of(context)
    run(_ask(session, built(r.SetQuota, user=session.user, tenant=tenant, whole=True)))


@app.command(help=say("help.quota.spot"))
def spot(
    context: typer.Context,
    tenant: SomeTenant = None,
    on: Annotated[bool | None, typer.Option("--on/--off", help=say("option.spot.on"))] = None,
    pool: Annotated[str | None, typer.Option(help=say("option.spot.pool"))] = None,
) -> None:
    """Without --on and --off: the list."""
    session = session_of(context)
    if on is None:
        run(_spot_rights(session, tenant, pool))
    elif tenant is None:
        raise typer.BadParameter(say("usage.spot"), param_hint="TENANT")
    else:
        body = built(r.SetSpot, user=session.user, tenant=tenant, enabled=on, pool=pool)
        run(_set_spot(session, body))


async def _spot_rights(session: Session, tenant: str | None, pool: str | None) -> None:
    async with reach(session) as muster:
        found = spot_rights(await muster.tenants(tenant))
    found = [one for one in found if pool is None or one.pool in {None, pool}]
    if session.as_json:
        output.document([spot_document(one) for one in found])
    elif found:
        output.show(spot_table(found))
    else:
        output.line(say("spot.none"))


async def _set_spot(session: Session, body: r.SetSpot) -> None:
    async with reach(session) as muster:
        answer = await muster.request(session.tenant_or_default, body)
    if not answer.accepted:
        raise Refusal("request", answer.violations, what=say("spot.what", tenant=body.tenant))
    where = body.pool or say("spot.everywhere")
    word = "spot.done.on" if body.enabled else "spot.done.off"
    show_done(session, answer, say(word, tenant=body.tenant, pool=where), ())


async def _show(session: Session, tenant: str | None) -> None:
    async with reach(session) as muster:
        found = shares(await muster.tenants(), await muster.nodes(), await muster.jobs())
    if tenant is not None:
        found = [one for one in found if one.tenant == tenant]
    if session.as_json:
        output.document([share_document(one) for one in found])
    elif found:
        output.show(share_table(found))
    else:
        output.line(say("quota.none"))


async def _ask(session: Session, body: r.SetQuota) -> None:
    async with reach(session) as muster:
        answer = await muster.request(session.tenant_or_default, body)
        nodes = await muster.nodes() if answer.accepted else []
    if not answer.accepted:
        raise Refusal("request", answer.violations, what=say("quota.what", tenant=body.tenant))
    warnings = [
        warning
        for share in body.shares
        for warning in strangers(share.pool, {"gpu_model": (share.gpu_model,)}, nodes)
    ]
    show_done(session, answer, say("quota.done", tenant=body.tenant), warnings)
