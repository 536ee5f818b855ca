"""Webhooks and secrets as a person may give them: never on the command line itself.

A process list, a shell's history and a log of commands would keep what stands there. So they come
from an environment variable, from a file, or are typed unseen.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import typer

from muster.cli.errors import CliError
from muster.cli.texts import say

MOST = 4096


def hidden(what: str, env: str | None, file: Path | None) -> str | None:
    """Return the value behind a reference, without blanks around it; None if there is none.

    what: the option's beginning, `webhook` or `secret`. A file called `-` is the standard input.
    """
    if env is not None and file is not None:
        raise typer.BadParameter(say("usage.notify.one", what=what))
    if env is not None:
        found = os.environ.get(env)
        if found is None:
            raise CliError("notify_env", option=f"--{what}-env", name=env)
        return found.strip()
    return None if file is None else _read(what, file)


def typed(what: str) -> str:
    """Let a person type it unseen. Raises CliError where nobody can."""
    if not sys.stdin.isatty():
        raise CliError("notify_source", what=what)
    return str(typer.prompt(say(f"notify.prompt.{what}"), hide_input=True)).strip()


def _read(what: str, file: Path) -> str:
    try:
        if str(file) == "-":
            return sys.stdin.readline(MOST).strip()
        with file.open(encoding="utf-8") as opened:
            return opened.read(MOST).strip()
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else type(error).__name__
        raise CliError("notify_file", option=f"--{what}-file", path=file, why=why) from error
