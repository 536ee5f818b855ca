"""Where the threads of a process stand, as one digest: equal digests, equal places.

`py-spy`, where it is installed and may look, names functions and lines of Python; else the kernel
says in which call each thread waits. The first stops the process for some milliseconds. Blocks.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

TIMEOUT_S = 5.0
LOOKED_AT = 8
"""Processes of one worker whose stacks are looked at."""
THREADS = 64
RUNNING = "running"


def digest(pids: Sequence[int]) -> str | None:
    """Return the digest of where these processes stand; None where nobody can say."""
    places = [place for pid in pids[:LOOKED_AT] if (place := _by_python(pid) or _by_kernel(pid))]
    if not places:
        return None
    return hashlib.sha256("\n".join(places).encode()).hexdigest()[:16]


def _program() -> str | None:
    beside = Path(sys.executable).with_name("py-spy")
    return str(beside) if beside.exists() else shutil.which("py-spy")


def _by_python(pid: int) -> str | None:
    program = _program()
    if program is None:
        return None
    try:
        shown = subprocess.run(
            [program, "dump", "--json", "--pid", str(pid)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=True,
        )
        return frames(json.loads(shown.stdout))
    except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError):
        return None  # no Python, or it may not be looked into


def frames(threads: Iterable[dict[str, Any]]) -> str:
    """Return the frames of all threads in one text, whatever order the threads are in."""
    found = (
        " < ".join(
            f"{frame['name']}:{frame['filename']}:{frame['line']}" for frame in each["frames"]
        )
        for each in threads
    )
    return "\n".join(sorted(found))


def _by_kernel(pid: int) -> str | None:
    try:
        tasks = sorted(Path(f"/proc/{pid}/task").iterdir())[:THREADS]
    except OSError:
        return None
    found = sorted(filter(None, map(_waits_in, tasks)))
    return "\n".join(found) or None


def _waits_in(task: Path) -> str | None:
    """Return a thread's call, without arguments and addresses: they differ from rank to rank."""
    try:
        call = (task / "syscall").read_text(encoding="ascii").split()[:1]
        place = (task / "wchan").read_text(encoding="ascii")
    except OSError:
        return None
    return f"{place} {call[0] if call else RUNNING}"
