"""`muster down`: ends the Muster of this state folder, and says what it ended."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from muster.cli import output
from muster.cli.running import run
from muster.cli.session import session_of
from muster.cli.stack.folder import StateFolder
from muster.cli.stack.stopping import Ended, stop_all
from muster.cli.texts import say

app = typer.Typer(add_completion=False)


@app.command(help=say("help.down"))
def down(
    context: typer.Context,
    workers: Annotated[bool, typer.Option("--workers", help=say("option.workers"))] = False,
) -> None:
    """End what runs; what does not run is no error."""
    session = session_of(context)
    folder = StateFolder(session.state_dir)
    ended = run(stop_all(folder, end_workers=workers))
    if session.as_json:
        output.document(asdict(ended))
        return
    for words in _words(folder, ended):
        output.line(words)


def _words(folder: StateFolder, ended: Ended) -> list[str]:
    words: list[str] = []
    if ended.up is None:
        words.append(say("down.not_up", state=folder.path))
    else:
        words.append(say("down.killed" if ended.killed else "down.stopped", pid=ended.up))
    if ended.nats is not None:
        words.append(say("down.nats", pid=ended.nats))
    if ended.workers:
        words.append(say("down.workers", count=ended.workers))
    if ended.workers_left:
        words.append(say("down.workers_go_on", count=ended.workers_left))
    return words
