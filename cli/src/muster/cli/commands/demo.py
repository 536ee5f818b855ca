"""`muster demo`: one training that is evicted, goes on, and proves it."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from muster.cli import output
from muster.cli.demo.board import Board, shown_board
from muster.cli.demo.place import Place, find_place
from muster.cli.demo.report import Report, make_report, report_document, report_view
from muster.cli.demo.stage import Stage, clear, only_one
from muster.cli.demo.story import Story
from muster.cli.demo.watch import watching
from muster.cli.exits import Exit
from muster.cli.reach import reach_at
from muster.cli.running import ending_with_signals, run
from muster.cli.session import Session, session_of
from muster.cli.stack.folder import StateFolder
from muster.cli.texts import say
from muster.cli.words import program

app = typer.Typer(add_completion=False)


@app.command(help=say("help.demo"))
def demo(
    context: typer.Context,
    keep: Annotated[bool, typer.Option("--keep", help=say("option.keep"))] = False,
    clean: Annotated[bool, typer.Option("--clean", help=say("option.clean"))] = False,
) -> None:
    """Exit code 0 only if everything is proven."""
    session = session_of(context)
    place = find_place(session)
    if clean:
        run(_clean(session, place))
        return
    report = run(_play(place, keep=keep))
    _show(session, report)
    if keep:
        _keep(session, place)
    raise typer.Exit(Exit.DONE if report.passed else Exit.FAILED)


async def _clean(session: Session, place: Place) -> None:
    folder = StateFolder(place.state)
    with only_one(folder):
        ended = await clear(folder)
    if session.as_json:
        output.document({"state": str(folder.path), "deleted": ended is not None})
    else:
        key = "demo.cleaned" if ended is not None else "demo.nothing_to_clean"
        output.line(say(key, state=folder.path))


async def _play(place: Place, *, keep: bool) -> Report:
    began = time.monotonic()
    stage = Stage(place)
    async with ending_with_signals():
        with shown_board() as board:
            board.say("start", state=place.state)
            async with stage.set_up(keep=keep) as up:
                board.say("up", gateway=up.gateway)
                board.say("cards", page=stage.page)
                return await _on_stage(stage, board, began)


async def _on_stage(stage: Stage, board: Board, began: float) -> Report:
    async with reach_at(stage.address) as muster:
        story = Story(stage, muster, board)
        try:
            async with watching(muster, story.watch, board):
                await story.tell()
        except* Exception as errors:
            raise _first(errors) from errors
        return make_report(stage, story, began)


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    first = errors.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


def _show(session: Session, report: Report) -> None:
    if session.as_json:
        output.document(report_document(report))
    else:
        output.show(report_view(report))


def _keep(session: Session, place: Place) -> None:
    if session.as_json:
        return
    output.line(say("demo.kept"))
    for command in ("list", "show spirals", "nodes"):
        output.line(f"  {program()} {command} --state {place.state}")
    output.line(say("demo.kept.end", command=f"{program()} demo --clean"))
