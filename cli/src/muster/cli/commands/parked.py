"""`muster parked ...`: messages that nobody could handle."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, Any

import typer

from muster.bus.parking import NotParked, Parked, Parking
from muster.cli import output
from muster.cli.connecting import address, connection_to
from muster.cli.errors import CliError
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.texts import say
from muster.cli.views.parked import parked_document, parked_table, parked_view

LIMIT = 100
EVERYTHING = 100_000

Number = Annotated[
    int | None, typer.Argument(help=say("argument.parked"), metavar="[NUMBER]", min=1)
]
All = Annotated[bool, typer.Option("--all", help=say("option.all"))]
Consumer = Annotated[str | None, typer.Option(help=say("option.consumer"))]
Limit = Annotated[int | None, typer.Option(help=say("option.limit.oldest"), min=1)]

app = typer.Typer(add_completion=False, help=say("help.parked"), invoke_without_command=True)


@app.callback()
def parked(context: typer.Context) -> None:
    """Without a command: the list."""
    if context.invoked_subcommand is None:
        run(_list(session_of(context), None, None))


@app.command("list", help=say("help.parked.list"))
def list_parked(context: typer.Context, consumer: Consumer = None, limit: Limit = None) -> None:
    """The oldest first."""
    run(_list(session_of(context), consumer, limit))


@app.command(help=say("help.parked.show"))
def show(
    context: typer.Context,
    number: Annotated[int, typer.Argument(help=say("argument.parked"), metavar="NUMBER", min=1)],
) -> None:
    """With its reason and its body."""
    run(_show(session_of(context), number))


@app.command(help=say("help.parked.replay"))
def replay(context: typer.Context, number: Number = None, every: All = False) -> None:
    """Again to the handler that could not."""
    run(_each(session_of(context), number, every, "replayed"))


@app.command(help=say("help.parked.drop"))
def drop(
    context: typer.Context,
    number: Number = None,
    every: All = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help=say("option.yes"))] = False,
) -> None:
    """For good."""
    session = session_of(context)
    if every and not yes:
        count = run(_count(session))
        typer.confirm(say("parked.drop_all", count=count), abort=True, err=True)
    run(_each(session, number, every, "dropped"))


@asynccontextmanager
async def _parking(session: Session) -> AsyncIterator[Parking]:
    async with connection_to(address(session)) as connection:
        yield Parking(connection)


async def _list(session: Session, consumer: str | None, limit: int | None) -> None:
    """Programs get all of them, people a page, unless they say how many."""
    wanted = limit or (EVERYTHING if session.as_json else LIMIT)
    async with _parking(session) as parking:
        found = await parking.list(consumer=consumer, limit=wanted + 1)
    shown = found[:wanted]
    if session.as_json:
        output.document([parked_document(parked) for parked in shown])
    elif shown:
        output.show(parked_table(shown))
    else:
        output.line(say("parked.none"))
    if len(found) > wanted and not session.as_json:
        output.line(say("parked.more"))


async def _show(session: Session, number: int) -> None:
    async with _parking(session) as parking:
        with _known(number):
            found = await parking.show(number)
    if session.as_json:
        output.document(parked_document(found))
    else:
        output.show(parked_view(found))


async def _count(session: Session) -> int:
    async with _parking(session) as parking:
        return len(await parking.list(limit=EVERYTHING))


async def _each(session: Session, number: int | None, every: bool, done: str) -> None:
    if (number is None) != every:
        raise typer.BadParameter(say("usage.one_or_all"))
    handled: list[dict[str, Any]] = []
    async with _parking(session) as parking:
        numbers = [number] if number is not None else await _numbers(parking)
        for each in numbers:
            with _known(each):
                found = await _one(parking, each, done)
            handled.append({"number": each, done: True})
            if not session.as_json:
                consumer = found.message.consumer
                output.line(say(f"parked.{done}", number=each, consumer=consumer))
    if session.as_json:
        output.document(handled)


async def _numbers(parking: Parking) -> list[int]:
    return [parked.number for parked in await parking.list(limit=EVERYTHING)]


async def _one(parking: Parking, number: int, done: str) -> Parked:
    if done == "replayed":
        return await parking.replay(number)
    found = await parking.show(number)
    await parking.drop(number)
    return found


@contextmanager
def _known(number: int) -> Iterator[None]:
    """Turn "there is none" into an error for people."""
    try:
        yield
    except NotParked as error:
        raise CliError("no_parked", number=number) from error
