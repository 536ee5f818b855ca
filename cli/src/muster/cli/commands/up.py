"""`muster up`: a whole Muster on this machine, until Ctrl-C."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from muster.cli import output
from muster.cli.running import ending_with_signals, run, told_to_end
from muster.cli.session import Session, session_of
from muster.cli.stack.banner import banner, up_document
from muster.cli.stack.claim import claim
from muster.cli.stack.detached import start_up
from muster.cli.stack.folder import StateFolder, Up
from muster.cli.stack.nodes import nodes_file
from muster.cli.stack.wishes import Wishes
from muster.cli.texts import language, say
from muster.runtime.ports import free_port

GATEWAY_PORT = 8420
NATS_PORT = 4222
MAX_PORT = 65535

app = typer.Typer(add_completion=False)


@app.command(help=say("help.up"))
def up(
    context: typer.Context,
    port: Annotated[int, typer.Option(help=say("option.port"), min=0, max=MAX_PORT)] = GATEWAY_PORT,
    nats_port: Annotated[
        int, typer.Option(help=say("option.nats_port"), min=0, max=MAX_PORT)
    ] = NATS_PORT,
    nodes: Annotated[
        Path | None, typer.Option("--nodes", help=say("option.nodes_file"), metavar="FILE")
    ] = None,
    rules: Annotated[
        Path | None, typer.Option("--rules", help=say("option.rules_file"), metavar="FILE")
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", "-d", help=say("option.detach"))] = False,
    keep_nats: Annotated[bool, typer.Option("--keep-nats", help=say("option.keep_nats"))] = False,
) -> None:
    """Run in the foreground, or start a process that does."""
    session = session_of(context)
    wishes = Wishes(
        folder=StateFolder(session.state_dir),
        gateway_port=port,
        nats_port=nats_port or free_port(),
        workdir=Path.cwd(),
        nodes_file=nodes_file(nodes, Path.cwd()),
        rules_file=rules.expanduser().absolute() if rules else None,
        keep_nats=keep_nats,
        log_level="DEBUG" if session.debug else "INFO",
    )
    if detach:
        started = run(start_up(wishes.folder, _arguments(wishes)))
        _say(session, wishes.folder, started, detached=True)
    else:
        run(_foreground(session, wishes))


async def _foreground(session: Session, wishes: Wishes) -> None:
    def tell(words: str) -> None:
        output.line(words, stderr=True)

    tell(say("up.starting", state=wishes.folder.path))
    claimed = claim(wishes.folder)
    # all seven services: not for a process that only starts another one, or may not start
    from muster.cli.stack.running import Stack  # noqa: PLC0415

    stack = Stack(wishes, claimed, tell)
    async with ending_with_signals():
        started = await stack.start()
    ending = told_to_end()  # before anybody reads that it runs, and ends it
    _say(session, wishes.folder, started, detached=False)
    sys.stdout.flush()
    try:
        await ending.wait()
        tell(say("up.stopping"))
    finally:
        await stack.stop()
    tell(say("up.nats_kept", address=stack.server.address) if wishes.keep_nats else "")
    tell(say("up.stopped"))


def _say(session: Session, folder: StateFolder, started: Up, *, detached: bool) -> None:
    if session.as_json:
        output.document(up_document(folder, started))
        return
    if detached:
        output.line(say("up.detached", pid=started.pid))
    output.show(banner(folder, started, detached=detached))


def _arguments(wishes: Wishes) -> list[str]:
    """Return the same wishes for the process in the background."""
    arguments = ["--port", str(wishes.gateway_port), "--nats-port", str(wishes.nats_port)]
    arguments += ["--lang", language()]
    if wishes.nodes_file is not None:
        arguments += ["--nodes", str(wishes.nodes_file)]
    if wishes.rules_file is not None:
        arguments += ["--rules", str(wishes.rules_file)]
    if wishes.keep_nats:
        arguments.append("--keep-nats")
    if wishes.log_level == "DEBUG":
        arguments.append("--debug")
    return arguments
