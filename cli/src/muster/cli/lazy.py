"""Commands that are imported when they are used, so that `muster --help` needs none of them.

A `LazyCommand` has a name and its line of help. As soon as it is to be parsed it gives way to the
real command, which its module builds as `app`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from muster.cli.options import shared_options, use_own_help

PACKAGE = "muster.cli.commands"
SPELLINGS = {"list": "jobs", "version": "about", "completion": "completions"}
"""Commands whose module is called otherwise."""


class LazyCommand(TyperCommand):
    """Stands for the command of the same name."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Parse the arguments with the real command."""
        return real_command(self.name or "").make_context(info_name, args, parent, **extra)


def real_command(name: str) -> Any:
    """Import and build a command, with the options that all share."""
    module = import_module(f"{PACKAGE}.{SPELLINGS.get(name, name.replace('-', '_'))}")
    app: typer.Typer = module.app
    command = get_command(app)
    command.name = name
    _share(command)
    return command


def _share(command: Any) -> None:
    """Give the shared options to whatever does something by itself."""
    leaves = getattr(command, "commands", None)
    if leaves is None or command.invoke_without_command:
        command.params += shared_options()
    use_own_help(command)
    for leaf in (leaves or {}).values():
        _share(leaf)
