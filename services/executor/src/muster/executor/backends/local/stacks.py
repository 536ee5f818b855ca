"""Where the threads of a process stand: as one digest, equal for equal places, and in words.

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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT_S = 5.0
LOOKED_AT = 8
"""Processes of one worker whose stacks are looked at."""
THREADS = 64
FRAMES, WORDS, MAIN = 8, 240, "MainThread"
"""Of what is told in words: frames, characters, and the thread that tells most."""
RUNNING = "running"


@dataclass(frozen=True, slots=True)
class Standing:
    """digest: of all threads of all processes. words: where the one that tells most stands."""

    digest: str
    words: str


@dataclass(frozen=True, slots=True)
class Place:
    """One process. whole: every thread, for the digest. python: its words name functions."""

    whole: str
    words: str
    python: bool = False


def standing(pids: Sequence[int]) -> Standing | None:
    """Return where these processes stand; None where nobody can say."""
    places = [place for pid in pids[:LOOKED_AT] if (place := _by_python(pid) or _by_kernel(pid))]
    if not places:
        return None
    whole = "\n".join(place.whole for place in places)
    best = next((place for place in places if place.python), places[0])
    return Standing(hashlib.sha256(whole.encode()).hexdigest()[:16], best.words[:WORDS])


def _program() -> str | None:
    beside = Path(sys.executable).with_name("py-spy")
    return str(beside) if beside.exists() else shutil.which("py-spy")


def _by_python(pid: int) -> Place | None:
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
        threads = json.loads(shown.stdout)
        return Place(frames(threads), spoken(threads), python=True)
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


def spoken(threads: Iterable[dict[str, Any]]) -> str:
    """Return where the main thread stands, the innermost function first; none: the deepest one."""
    by_name = sorted(threads, key=lambda one: (one["thread_name"] != MAIN, -len(one["frames"])))
    found = by_name[0]["frames"][:FRAMES] if by_name else []
    return " < ".join(f"{x['name']} ({Path(x['filename']).name}:{x['line']})" for x in found)


def _by_kernel(pid: int) -> Place | None:
    try:
        tasks = sorted(Path(f"/proc/{pid}/task").iterdir())[:THREADS]
    except OSError:
        return None
    found = sorted(filter(None, map(_waits_in, tasks)))
    calls = sorted({each.split(" ")[0] for each in found})
    return Place("\n".join(found), ", ".join(calls)) if found else None


def _waits_in(task: Path) -> str | None:
    """Return a thread's call, without arguments and addresses: they differ from rank to rank."""
    try:
        call = (task / "syscall").read_text(encoding="ascii").split()[:1]
        place = (task / "wchan").read_text(encoding="ascii")
    except OSError:
        return None
    return f"{place} {call[0] if call else RUNNING}"
