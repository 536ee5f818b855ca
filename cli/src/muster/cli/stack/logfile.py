"""Where the services of `muster up` log: a file, since people read the terminal.

Called once, before anything is started.
"""

from __future__ import annotations

import logging
from pathlib import Path

import structlog

from muster.runtime import telemetry

LIMIT = 20 * 1024 * 1024


def log_to(path: Path, level: str) -> None:
    """Append this process's logs to `path`; a file that has grown large is set aside first."""
    if path.exists() and path.stat().st_size > LIMIT:
        path.replace(path.with_suffix(".log.1"))
    path.touch(mode=0o600)
    file = path.open("a", encoding="utf-8", buffering=1)
    telemetry.configure("up", level)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(file))
    logging.basicConfig(stream=file, level=logging.WARNING, force=True)
