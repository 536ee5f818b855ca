"""How a command finds Muster: MUSTER_NATS_URL, else the server that the state folder's `up` runs.

Called by every command that talks to Muster.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog

from muster.cli.errors import CliError
from muster.cli.exits import Exit
from muster.cli.session import Session
from muster.cli.stack.folder import StateFolder
from muster.runtime.connection import Connection, NatsSettings, connect

NAME = "muster-cli"
CONNECT_S = 5.0


@dataclass(frozen=True, slots=True)
class Address:
    """url: may carry a token, so it is never printed. local: the folder whose server it is."""

    url: str
    credentials: Path | None = None
    local: StateFolder | None = None


def address(session: Session, url: str | None = None) -> Address:
    """Return where Muster is; `url` goes before everything. Raises CliError when nobody says so."""
    if not session.debug:
        _hush()
    folder = StateFolder(session.state_dir)
    named = url or (os.environ.get("MUSTER_NATS_URL") if session.state is None else None)
    if named:
        credentials = os.environ.get("MUSTER_NATS_CREDENTIALS")
        return Address(named, Path(credentials) if credentials else None)
    own = folder.server_url()
    if own is None:
        raise CliError("not_running", Exit.UNREACHABLE, state=folder.path)
    return Address(own, local=folder)


def _hush() -> None:
    """A command speaks for itself; what its connection logs is for --debug."""
    silent = structlog.make_filtering_bound_logger(logging.CRITICAL)
    structlog.configure(
        wrapper_class=silent, logger_factory=structlog.PrintLoggerFactory(sys.stderr)
    )


@asynccontextmanager
async def connection_to(found: Address) -> AsyncIterator[Connection]:
    """Have a connection while the block runs. Raises Temporary when nobody answers."""
    settings = NatsSettings(
        servers=found.url, name=NAME, credentials=found.credentials, wait_s=CONNECT_S
    )
    connection = await connect(settings)
    try:
        yield connection
    finally:
        await connection.close()
