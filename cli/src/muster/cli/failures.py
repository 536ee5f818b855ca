"""What a person sees when a command fails: one line and a remedy, or one JSON document.

A traceback is shown with --debug only. Called by `main`, the one place where errors end.
"""

from __future__ import annotations

import json
import re
import sys
import traceback
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.text import Text

from muster.cli.errors import CliError, Refusal
from muster.cli.exits import Exit
from muster.cli.session import Session
from muster.cli.texts import language, say
from muster.cli.usage import as_error

if TYPE_CHECKING:
    from pydantic import ValidationError

_FIELD = re.compile(r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b")
"""The name of a setting in what a service says of several."""


def report(error: Exception, session: Session) -> Exit:
    """Show what a command failed with; returns the exit code."""
    if session.debug:
        traceback.print_exception(error)
    if isinstance(error, typer.Abort):
        return Exit.FAILED
    known = error if isinstance(error, CliError) else _as_known(error)
    if not str(known):
        return known.exit_code  # no arguments: the help was shown instead
    if session.as_json:
        print(json.dumps(as_document(known), ensure_ascii=False))
    else:
        show(known)
    return known.exit_code


def show(error: CliError) -> None:
    """Print an error for people: what is wrong, every violation, a remedy."""
    console = _console()
    console.print(Text.assemble((say("error"), "bold red"), str(error)))
    if isinstance(error, Refusal):
        for violation in error.violations:
            words = violation.text(language())
            console.print(
                Text.assemble("  ", (violation.path, "bold"), " ", words, f" [{violation.code}]")
            )
    if error.fix:
        console.print(Text.assemble((say("remedy"), "bold"), error.fix))


def as_document(error: CliError) -> dict[str, object]:
    """Return the same for JSON, under the key `error`."""
    document: dict[str, object] = {"code": error.code, "message": str(error), "fix": error.fix}
    if isinstance(error, Refusal):
        document["violations"] = [
            violation.model_dump(mode="json") for violation in error.violations
        ]
    return {"error": document}


def _as_known(error: Exception) -> CliError:
    """Say what an error of the layers below means to a person; what nobody foresaw is our fault."""
    if isinstance(error, typer.TyperException):
        return as_error(error)
    from pydantic import ValidationError  # noqa: PLC0415 - only on failure

    from muster.cli.troubles import trouble_values  # noqa: PLC0415
    from muster.domain.errors import MusterError, Temporary  # noqa: PLC0415
    from muster.domain.troubles import trouble_of  # noqa: PLC0415

    if isinstance(error, ValidationError) and error.title.endswith("Settings"):
        return _wrong_setting(error)
    if isinstance(error, MusterError) and (trouble := trouble_of(str(error))) is not None:
        code = Exit.UNREACHABLE if isinstance(error, Temporary) else Exit.FAILED
        return CliError("trouble", code, **trouble_values(trouble, str(error)))
    if isinstance(error, Temporary):
        return CliError("unreachable", Exit.UNREACHABLE, why=_words(error))
    if isinstance(error, MusterError):
        return CliError("refused", why=_words(error))
    if isinstance(error, OSError):
        return CliError("system", why=_words(error))
    return CliError("unexpected", Exit.INTERNAL, what=_words(error))


def _wrong_setting(error: ValidationError) -> CliError:
    """Name the variables: the one that is wrong, or those that contradict each other."""
    first = error.errors(include_url=False, include_input=False)[0]
    if first["loc"]:
        name = _variable(error.title, str(first["loc"][0]))
        return CliError("setting", Exit.USAGE, name=name, why=first["msg"])
    said = first["msg"].removeprefix("Value error, ")
    why = _FIELD.sub(lambda field: _variable(error.title, field[0]), said)
    return CliError("settings", Exit.USAGE, why=why)


def _variable(settings: str, field: str) -> str:
    """Return the environment variable of a field, e.g. of FaultToleranceSettings."""
    owner = settings.removesuffix("Settings").removeprefix("Host")
    service = re.sub(r"(?<!^)(?=[A-Z])", "_", owner)
    return "_".join(filter(None, ("MUSTER", service, field))).upper()


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


def _console() -> Console:
    return Console(stderr=True, soft_wrap=True, highlight=False, file=sys.stderr)
