"""How a command finds Muster: MUSTER_NATS_URL, else the server that the state folder's `up` runs.

Called by every command that talks to Muster.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from muster.cli.errors import CliError
from muster.cli.exits import Exit
from muster.cli.session import Session
from muster.cli.stack.folder import StateFolder


@dataclass(frozen=True, slots=True)
class Address:
    """url: may carry a token, so it is never printed. local: the folder whose server it is."""

    url: str
    credentials: Path | None = None
    local: StateFolder | None = None


def address(session: Session) -> Address:
    """Return where Muster is. Raises CliError when nobody says so."""
    folder = StateFolder(session.state_dir)
    url = os.environ.get("MUSTER_NATS_URL")
    if url and session.state is None:
        credentials = os.environ.get("MUSTER_NATS_CREDENTIALS")
        return Address(url, Path(credentials) if credentials else None)
    own = folder.server_url()
    if own is None:
        raise CliError("not_running", Exit.UNREACHABLE, state=folder.path)
    return Address(own, local=folder)
