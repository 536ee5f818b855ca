"""Who listens on a port of this machine, by Linux's own tables.

All workers share the machine's ports, so a port alone does not say whose an answer is: another
job's process, or a service of the platform, could be what is asked. Called by `backend`; blocks.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from muster.executor.backends.local.processes import Process

LISTENS = "0A"
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


def serves(processes: Iterable[Process], port: int) -> bool:
    """Tell whether these processes, and nobody else, listen on a port. False where none can say."""
    if not sys.platform.startswith("linux"):
        return False
    wanted = set(_listeners(port))
    return bool(wanted) and wanted <= {inode for each in processes for inode in _sockets(each.pid)}


def _listeners(port: int) -> Iterator[str]:
    for table in _TABLES:
        try:
            lines = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                yield fields[9]


def _sockets(pid: int) -> Iterator[str]:
    try:
        links = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return
    for link in links:
        with contextlib.suppress(OSError):  # closed meanwhile
            target = str(link.readlink())
            if target.startswith("socket:["):
                yield target[8:-1]
