"""What one invocation of `muster` was told by the options that all commands share."""

from __future__ import annotations

import getpass
import os
from dataclasses import dataclass
from pathlib import Path

import typer

DEFAULT_STATE = ".muster"
DEFAULT_TENANT = "default"


@dataclass(slots=True)
class Session:
    """as_json: one JSON document or JSON lines. state: the folder of `muster up`, if named."""

    as_json: bool = False
    debug: bool = False
    state: Path | None = None

    @property
    def state_dir(self) -> Path:
        """The absolute state folder: --state, MUSTER_STATE, or .muster in this directory."""
        chosen = self.state or Path(os.environ.get("MUSTER_STATE") or DEFAULT_STATE)
        return chosen.expanduser().absolute()

    @property
    def tenant(self) -> str | None:
        """The tenant that the environment names."""
        return os.environ.get("MUSTER_TENANT") or None

    @property
    def tenant_or_default(self) -> str:
        """The tenant on whose behalf requests are sent."""
        return self.tenant or DEFAULT_TENANT

    @property
    def user(self) -> str:
        """On whose behalf requests are sent."""
        return os.environ.get("MUSTER_USER") or _login()


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in many containers
        return f"uid-{os.getuid()}"


def session_of(context: typer.Context) -> Session:
    """Return the session of this invocation."""
    found = context.find_root().ensure_object(Session)
    assert isinstance(found, Session)
    return found
