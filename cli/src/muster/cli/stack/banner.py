"""What `muster up` says when everything runs: what is where, and how to end it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.box import ROUNDED
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from muster.cli.session import DEFAULT_STATE
from muster.cli.stack.folder import StateFolder, Up
from muster.cli.texts import say
from muster.domain.edges import Owner


def banner(folder: StateFolder, up: Up, *, detached: bool) -> Panel:
    """Return the panel."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in _lines(folder, up, detached):
        grid.add_row(label, Text(value))
    title = Text(say("up.title"), style="bold green")
    return Panel(grid, title=title, title_align="left", box=ROUNDED, expand=False)


def _lines(folder: StateFolder, up: Up, detached: bool) -> Iterator[tuple[str, str]]:
    option = state_option(folder.path)
    yield say("up.nats"), up.nats
    yield say("up.services"), ", ".join(owner.value for owner in Owner)
    yield say("up.gateway"), up.gateway
    yield say("up.nodes"), up.nodes
    yield say("up.state"), str(folder.path)
    yield say("up.log"), str(folder.log)
    yield say("up.stop"), say("up.stop.down" if detached else "up.stop.ctrl_c", state=option)
    yield say("up.try"), say("up.try.value", state=option)


def state_option(path: Path) -> str:
    """Return what has to follow a command for it to find this folder; "" where it is found."""
    return "" if path == Path.cwd() / DEFAULT_STATE else f" --state {shlex.quote(str(path))}"


def up_document(folder: StateFolder, up: Up) -> dict[str, Any]:
    """Return the same for JSON. The server's token is in neither."""
    server = folder.server()
    return {
        "state": str(folder.path),
        "pid": up.pid,
        "since": up.since.isoformat(),
        "gateway": up.gateway,
        "nats": f"127.0.0.1:{server.port}" if server else None,
        "nats_pid": server.pid if server else None,
        "log": str(folder.log),
    }
