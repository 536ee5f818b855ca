"""The command tree: names, panels and one line of help each. Imports none of the commands."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.main import get_command

from muster.cli.exits import Exit
from muster.cli.lazy import LazyCommand
from muster.cli.options import use_own_help
from muster.cli.texts import say

PANELS: dict[str, tuple[str, ...]] = {
    "panel.start": ("demo", "up", "down", "init"),
    "panel.jobs": (
        "submit",
        "fit",
        "list",
        "show",
        "logs",
        "explain",
        "faults",
        "hang",
        "stop",
        "resume",
        "debug",
        "respecify",
    ),
    "panel.operate": (
        "events",
        "usage",
        "nodes",
        "node",
        "stock",
        "quota",
        "block",
        "notify",
        "incidents",
        "incident",
        "fingerprints",
        "fragments",
        "parked",
        "doctor",
        "diagnose",
        "snapshot",
        "provision",
        "simulate",
    ),
    "panel.more": ("version", "completion"),
}
"""Panel of the help -> its commands, in the order in which they are shown."""


def _stub() -> None:
    """Stands for a command that is not imported yet; `LazyCommand` never calls it."""


def _version(value: bool) -> None:
    if value:
        from muster.cli.commands.about import version_line  # noqa: PLC0415 - only when asked

        print(version_line())
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", help=say("help.version"), callback=_version, is_eager=True),
    ] = False,
) -> None: ...


def build() -> Any:
    """Return the whole command line, as a command that can be called."""
    app = typer.Typer(
        name="muster",
        help=say("help.root"),
        epilog=exit_codes(),
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    app.callback()(_root)
    for panel, names in PANELS.items():
        for name in names:
            app.command(
                name,
                cls=LazyCommand,
                help=say(f"help.{name}"),
                rich_help_panel=say(panel),
            )(_stub)
    command = get_command(app)
    use_own_help(command)
    return command


def exit_codes() -> str:
    """Return what every exit code means, for the end of the help."""
    meanings = (f"{code.value} {say(f'exit.{code.name.lower()}')}" for code in Exit)
    return say("help.exits", codes=say("comma").join(meanings))
