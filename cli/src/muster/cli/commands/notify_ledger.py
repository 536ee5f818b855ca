"""What became of notices, dead letters, the health of addresses, and the key that seals them."""

from __future__ import annotations

from typing import Annotated

import typer

from muster.cli import output
from muster.cli.notifying.asking import answer, asked, done
from muster.cli.reach import reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.texts import say
from muster.cli.views.notices import counted, delivery_table, lane_lines, lane_table
from muster.contracts import notices as n


def deliveries(
    context: typer.Context,
    rule: Annotated[str | None, typer.Option(help=say("option.notify.of_rule"))] = None,
    job: Annotated[str | None, typer.Option(help=say("option.notify.of_job"))] = None,
    subject: Annotated[str | None, typer.Option(help=say("option.notify.of_subject"))] = None,
    state: Annotated[str | None, typer.Option(help=say("option.notify.of_state"))] = None,
    limit: Annotated[int, typer.Option(min=1, max=n.MOST, help=say("option.notify.limit"))] = 50,
) -> None:
    """The newest first."""
    run(_deliveries(session_of(context), rule, job, subject, state, limit))


async def _deliveries(
    session: Session,
    rule: str | None,
    job: str | None,
    subject: str | None,
    state: str | None,
    limit: int,
) -> None:
    async with reach(session) as muster:
        if job is not None:
            subject = (await muster.find(job, session.tenant)).job
        question = n.AskDeliveries(rule=rule, subject=subject, state=state, limit=limit)
        found = await answer(muster, session, question, n.DeliveryViews)
    if session.as_json:
        output.document(found)
        return
    if not found.deliveries:
        output.line(say("notify.deliveries.none"))
    else:
        output.show(delivery_table(found.deliveries))
    if found.counts:
        output.line(counted(found.counts))


def replay(
    context: typer.Context,
    notice: Annotated[
        str | None, typer.Argument(help=say("argument.notify.notice"), metavar="[NOTICE]")
    ] = None,
    rule: Annotated[str | None, typer.Option(help=say("option.notify.of_rule"))] = None,
) -> None:
    """Dead letters once more."""
    session = session_of(context)
    run(_replay(session, asked(session, n.Replay, notice=notice, rule=rule)))


async def _replay(session: Session, body: n.Replay) -> None:
    async with reach(session) as muster:
        told = await done(muster, session, body, say("notify.what.replay"))
    if session.as_json:
        output.document(told)
    else:
        output.line(say("notify.replayed", count=told.count))


def health(context: typer.Context) -> None:
    """How the addresses fare."""
    run(_health(session_of(context)))


async def _health(session: Session) -> None:
    async with reach(session) as muster:
        found = (await answer(muster, session, n.AskLanes(), n.LaneViews)).lanes
    if session.as_json:
        output.document(found)
        return
    if not found:
        output.line(say("notify.rules.none"))
        return
    output.show(lane_table(found))
    for line in lane_lines(found):
        output.line(line)


def rotate(context: typer.Context) -> None:
    """Seal anew."""
    session = session_of(context)
    run(_rotate(session, asked(session, n.Rotate)))


async def _rotate(session: Session, body: n.Rotate) -> None:
    async with reach(session) as muster:
        told = await done(muster, session, body, say("notify.what.rotate"))
    if session.as_json:
        output.document(told)
    else:
        output.line(say("notify.rotated", count=told.count))
