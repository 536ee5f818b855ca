"""Wrong usage, in the words of the one who has to correct it.

The framework says it in English only; its sentences are few and are put into Chinese here. What
matches none stays as it is. Called by `failures`.
"""

from __future__ import annotations

import re
from typing import Any

import typer

from muster.cli.catalogue.framework import USAGE
from muster.cli.errors import CliError
from muster.cli.exits import Exit
from muster.cli.texts import language


def as_error(error: typer.TyperException) -> CliError:
    """Return what the framework refused as an error of ours, with the help that explains it."""
    found: Any = error  # what refuses usage has more than the base says
    context = getattr(found, "ctx", None)
    command = context.command_path if context is not None else "muster"
    message = found.format_message() if hasattr(found, "format_message") else str(found)
    return CliError("usage", Exit.USAGE, why=translated(message), command=command)


def translated(message: str) -> str:
    """Return a sentence of the framework in the language that is spoken."""
    if language() != "zh":
        return message
    for pattern, chinese in USAGE:
        if found := re.fullmatch(pattern, message, re.DOTALL):
            words = {name: translated(text or "") for name, text in found.groupdict().items()}
            return chinese.format(**words)
    return message
