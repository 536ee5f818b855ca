"""`muster notify sandbox`: a Feishu bot on this machine, to rehearse rules against."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from muster.cli import output
from muster.cli.errors import CliError
from muster.cli.exits import Exit
from muster.cli.notifying.hidden import hidden
from muster.cli.running import run, told_to_end
from muster.cli.session import Session, session_of
from muster.cli.texts import say

PORT, MAX_PORT = 8430, 65535
KEPT_CHARS = "-._~"


def sandbox(
    context: typer.Context,
    port: Annotated[
        int, typer.Option(help=say("option.notify.sandbox.port"), min=0, max=MAX_PORT)
    ] = PORT,
    token: Annotated[str | None, typer.Option(help=say("option.notify.sandbox.token"))] = None,
    secret_file: Annotated[
        Path | None, typer.Option(help=say("option.notify.sandbox.secret_file"), metavar="PATH")
    ] = None,
    keyword: Annotated[
        list[str] | None, typer.Option(help=say("option.notify.sandbox.keyword"))
    ] = None,
    mode: Annotated[str, typer.Option(help=say("option.notify.sandbox.mode"))] = "ok",
) -> None:
    """Serve until it is told to end."""
    secret = hidden("secret", None, secret_file) or ""
    run(_serve(session_of(context), port, token, secret, tuple(keyword or ()), mode))


async def _serve(
    session: Session,
    port: int,
    token: str | None,
    secret: str,
    keywords: tuple[str, ...],
    mode: str,
) -> None:
    # a web server: not for a process that only lists rules
    from muster.notifier.sandbox import HOOK, Bot, Receiver, new_token, serving  # noqa: PLC0415
    from muster.notifier.sandbox.answers import MODES  # noqa: PLC0415

    if mode not in MODES:
        raise CliError("sandbox_mode", Exit.USAGE, mode=mode, modes=", ".join(sorted(MODES)))
    if token is not None and not _is_token(token):
        raise CliError("sandbox_token", Exit.USAGE)
    token = token or new_token()
    bot = Bot(secret=secret, keywords=keywords, limited=True, mode=mode)
    ending = told_to_end()
    try:
        async with serving(Receiver({token: bot}, clock=time.time), port) as origin:
            _say(session, origin, f"{origin}{HOOK}{token}")
            await ending.wait()
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise CliError("sandbox_port", port=port, why=why) from error


def _is_token(token: str) -> bool:
    return token.isascii() and bool(token) and all(c.isalnum() or c in KEPT_CHARS for c in token)


def _say(session: Session, origin: str, webhook: str) -> None:
    if session.as_json:
        output.record({"page": f"{origin}/", "webhook": webhook, "origin": origin})
    else:
        for key in ("page", "webhook", "allow", "try", "end"):
            output.line(say(f"notify.sandbox.{key}", origin=origin, webhook=webhook))
    sys.stdout.flush()
