"""Silences: what nobody wants to be told for a while, with an author, a reason and an end."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from muster.cli import output
from muster.cli.notifying.asking import answer, asked, done
from muster.cli.reach import reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.texts import say
from muster.cli.views.notices import silence_table
from muster.cli.words import duration
from muster.cli.words import labels as read_labels
from muster.contracts import notices as n


def silence(
    context: typer.Context,
    comment: Annotated[str, typer.Argument(help=say("argument.notify.comment"))],
    lasts: Annotated[str, typer.Option("--for", help=say("option.notify.for"), metavar="2h")],
    starts_in: Annotated[
        str | None, typer.Option("--in", help=say("option.notify.in"), metavar="30m")
    ] = None,
    job: Annotated[str | None, typer.Option(help=say("option.notify.mute.job"))] = None,
    subject: Annotated[str | None, typer.Option(help=say("option.notify.mute.subject"))] = None,
    rule: Annotated[str | None, typer.Option(help=say("option.notify.mute.rule"))] = None,
    owner: Annotated[str | None, typer.Option(help=say("option.notify.mute.owner"))] = None,
    trigger: Annotated[
        list[str] | None, typer.Option(help=say("option.notify.mute.trigger"))
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option(help=say("option.notify.mute.label"), metavar="K=V")
    ] = None,
) -> None:
    """Quiet for a while."""
    session = session_of(context)
    matchers: dict[str, object] = {
        "subject": subject,
        "rule": rule,
        "owner": owner,
        "triggers": trigger or [],
        "labels": read_labels(label or []),
    }
    begins = duration(starts_in) if starts_in else 0.0
    run(_silence(session, comment, begins, duration(lasts), job, matchers))


async def _silence(
    session: Session,
    comment: str,
    begins: float,
    lasts: float,
    job: str | None,
    matchers: dict[str, object],
) -> None:
    async with reach(session) as muster:
        if job is not None:
            matchers["subject"] = (await muster.find(job, session.tenant)).job
        start = await muster.now() + timedelta(seconds=begins)
        end = start + timedelta(seconds=lasts)
        when = {"end": end.isoformat(), "start": start.isoformat() if begins else None}
        body = asked(session, n.AddSilence, comment=comment, **when, **matchers)
        told = await done(muster, session, body, say("notify.what.silence"))
    if session.as_json:
        output.document(told)
    else:
        output.line(say("notify.silenced", silence=told.silence, end=f"{end:%Y-%m-%d %H:%M} UTC"))


def silences(
    context: typer.Context,
    ended: Annotated[bool, typer.Option("--all", help=say("option.notify.ended"))] = False,
) -> None:
    """The list."""
    run(_silences(session_of(context), ended))


async def _silences(session: Session, ended: bool) -> None:
    async with reach(session) as muster:
        found = await answer(muster, session, n.AskSilences(ended=ended), n.SilenceViews)
    if session.as_json:
        output.document(found.silences)
    elif found.silences:
        output.show(silence_table(found.silences))
    else:
        output.line(say("notify.silences.none"))


def unsilence(
    context: typer.Context,
    silence: Annotated[str, typer.Argument(help=say("argument.notify.silence"), metavar="SILENCE")],
) -> None:
    """Over now."""
    session = session_of(context)
    run(_unsilence(session, asked(session, n.EndSilence, silence=silence)))


async def _unsilence(session: Session, body: n.EndSilence) -> None:
    async with reach(session) as muster:
        told = await done(muster, session, body, body.silence)
    if session.as_json:
        output.document(told)
    else:
        output.line(say("notify.unsilenced", silence=body.silence))
