"""This machine: Python, the nats-server that would be started, the state folder and its disk."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from muster.cli.checkup.finding import Finding, fine, note, problem, warning
from muster.cli.stack.folder import StateFolder
from muster.domain.errors import Permanent
from muster.runtime.nats_binary import find_binary

NEEDED_PYTHON = (3, 11)
LITTLE, TOO_LITTLE = 2 << 30, 256 << 20
"""Bytes of free disk space that are worth a warning, and that are a problem."""


def machine(folder: StateFolder) -> Iterator[Finding]:
    """Yield what can be said without any server."""
    yield _python()
    yield _binary()
    yield from _folder(folder.path)
    yield _disk(folder.path)


def _python() -> Finding:
    version = platform.python_version()
    judged = fine if sys.version_info >= NEEDED_PYTHON else problem
    return judged("python", version=version)


def _binary() -> Finding:
    try:
        found = find_binary()
    except Permanent as error:
        return problem("binary.missing", why=error)
    return fine("binary", path=found.path, version=".".join(str(part) for part in found.version))


def _folder(path: Path) -> Iterator[Finding]:
    if not path.exists():
        yield note("folder.none", path=path)
        return
    found = path.stat()
    if not os.access(path, os.W_OK | os.X_OK):
        yield problem("folder.closed", path=path, quoted=shlex.quote(str(path)))
    elif found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        mode = f"{stat.S_IMODE(found.st_mode):o}"
        yield warning("folder.open", path=path, mode=mode, quoted=shlex.quote(str(path)))
    else:
        yield fine("folder", path=path)


def _disk(path: Path) -> Finding:
    there = next(parent for parent in (path, *path.parents) if parent.exists())
    free = shutil.disk_usage(there).free
    judged = fine if free >= LITTLE else warning if free >= TOO_LITTLE else problem
    return judged("disk", path=there, free=f"{free / (1 << 30):.1f} GiB")
