"""`muster usage`: GPU-hours and waiting time, by tenant, user, label, class, phase and more."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from muster.cli import output
from muster.cli.metering import Asked, from_gateway, from_log, gateway_url
from muster.cli.reach import reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.texts import say
from muster.cli.views.usage import usage_lines, usage_table
from muster.cli.words import since as instant
from muster.contracts.usage import UsageAnswer
from muster.domain.metering import DIMENSIONS, LABEL, is_dimension
from muster.gateway.core.filters import JobFilter

MOST = 8

app = typer.Typer(add_completion=False)


@app.command(help=say("help.usage"))
def usage(
    context: typer.Context,
    by: Annotated[
        list[str] | None, typer.Option(help=say("option.by"), metavar="WHAT[,WHAT]")
    ] = None,
    since: Annotated[str | None, typer.Option(help=say("option.since"))] = None,
    until: Annotated[str | None, typer.Option(help=say("option.until"))] = None,
    tenant: Annotated[str | None, typer.Option(help=say("option.tenant"))] = None,
    user: Annotated[str | None, typer.Option(help=say("option.user"))] = None,
    pool: Annotated[str | None, typer.Option(help=say("option.usage.pool"))] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", "-l", help=say("option.usage.label"), metavar="K[=V]"),
    ] = None,
    top: Annotated[int, typer.Option(help=say("option.top"), min=1, max=10_000)] = 1000,
) -> None:
    """Ask the gateway; without one, read the log and say so."""
    session, now = session_of(context), datetime.now(UTC)
    asked = Asked(
        by=_dimensions(by or ["tenant"]),
        since=instant(since, now),
        until=instant(until, now),
        wanted=JobFilter(tenant or session.tenant, user, pool, labels=tuple(label or ())),
        top=top,
    )
    if asked.since and asked.since >= (asked.until or now):
        raise typer.BadParameter(say("usage.times"), param_hint="--since")
    run(_usage(session, asked))


def _dimensions(texts: list[str]) -> tuple[str, ...]:
    names = [name.strip() for text in texts for name in text.split(",")]
    if len(set(names)) != len(names) or len(names) > MOST or not all(map(is_dimension, names)):
        known = ", ".join((*DIMENSIONS, f"{LABEL}KEY"))
        raise typer.BadParameter(say("usage.by", most=MOST, known=known), param_hint="--by")
    return tuple(names)


async def _usage(session: Session, asked: Asked) -> None:
    found = await _asked(session, asked)
    if session.as_json:
        output.document(found)
        return
    if found.rows:
        output.show(usage_table(found))
    for line in usage_lines(found):
        output.line(line)


async def _asked(session: Session, asked: Asked) -> UsageAnswer:
    url = gateway_url(session)
    found = await from_gateway(url, asked) if url is not None else None
    if found is not None:
        return found
    async with reach(session) as muster:
        return await from_log(muster, asked)
