"""The options that every command has, declared once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_command

from muster.cli.language import LANGUAGES
from muster.cli.session import session_of
from muster.cli.texts import say


def _json(context: typer.Context, value: bool) -> bool:
    session_of(context).as_json |= value
    return value


def _debug(context: typer.Context, value: bool) -> bool:
    session_of(context).debug |= value
    return value


def _state(context: typer.Context, value: Path | None) -> Path | None:
    if value is not None:
        session_of(context).state = value
    return value


def _lang(value: str | None) -> str | None:
    if value is not None and value not in LANGUAGES:
        raise typer.BadParameter(say("usage.lang"))
    return value


def _help(context: typer.Context, value: bool) -> None:
    if value and not context.resilient_parsing:
        print(context.get_help())
        raise typer.Exit


def use_own_help(command: Any) -> None:
    """Give a command a --help whose own line is in the language that is spoken."""

    def declared(
        wanted: Annotated[
            bool,
            typer.Option(
                "--help",
                "-h",
                help=say("help.help"),
                callback=_help,
                expose_value=False,
                is_eager=True,
            ),
        ] = False,
    ) -> None: ...

    command.add_help_option = False
    command.params += _parameters(declared)


def shared_options() -> list[Any]:
    """Return --json, --state, --lang and --debug as parameters; none reaches the function."""

    def declared(
        as_json: Annotated[
            bool,
            typer.Option(
                "--json", help=say("option.json"), callback=_json, expose_value=False, is_eager=True
            ),
        ] = False,
        state: Annotated[
            Path | None,
            typer.Option(
                "--state",
                help=say("option.state"),
                callback=_state,
                expose_value=False,
                metavar="DIR",
            ),
        ] = None,
        lang: Annotated[
            str | None,
            typer.Option(
                "--lang",
                help=say("option.lang"),
                callback=_lang,
                expose_value=False,
                metavar="zh|en",
            ),
        ] = None,
        debug: Annotated[
            bool,
            typer.Option(
                "--debug",
                help=say("option.debug"),
                callback=_debug,
                expose_value=False,
                is_eager=True,
            ),
        ] = False,
    ) -> None: ...

    return _parameters(declared)


def _parameters(declared: Callable[..., None]) -> list[Any]:
    carrier = typer.Typer(add_completion=False)
    carrier.command()(declared)
    return list(get_command(carrier).params)
