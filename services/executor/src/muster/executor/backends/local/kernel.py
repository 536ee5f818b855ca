"""What the kernel said: of this machine, or of a pretended node, from a file that its entry names.

Reading only, and bounded: the last piece of a file, or of what `dmesg` or the journal print. On a
machine that many share, a line about a process that is no worker's is none of the job's. Blocks.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from muster.domain.evidence import NodeLine, Scope

PIECE = 1 << 18
"""Bytes of the end of a kernel's log that are read."""
MOST_LINES = 500
"""Lines about one node, the newest."""
LONGEST = 1000
TIMEOUT_S = 5.0

_TOOLS = (
    ("dmesg", "--time-format", "iso"),
    ("journalctl", "--dmesg", "--no-pager", "--output", "short-iso-precise", "--lines", "2000"),
)
_TIME = re.compile(r"^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)([.,]\d+)?(Z|[+-]\d\d:?\d\d)?\s+")
_PROCESS = re.compile(r"\b(?:[^\s\[\]]{1,64}\[(\d+)\]: |(?:Killed process|Kill process) (\d+)\b)")
_OUT_OF_MEMORY = re.compile(r"(?:[Oo]ut of memory|oom-kill).*?\bKilled process (\d+)\b")


def machine_lines() -> list[NodeLine]:
    """Return the newest lines of this machine's kernel; none where it may not be read."""
    for command in _TOOLS:
        if (program := shutil.which(command[0])) is not None:
            shown = _run((program, *command[1:]))
            if shown:
                return read_lines(shown)
    return []


def file_lines(path: Path) -> list[NodeLine]:
    """Return the newest lines of a file in the form of a kernel's log; none if it is not there."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - PIECE))
            return read_lines(file.read(PIECE))
    except OSError:
        return []


def _run(command: tuple[str, ...]) -> bytes:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return b""
    return done.stdout[-PIECE:]


def read_lines(raw: bytes) -> list[NodeLine]:
    """Read lines, oldest first. One without a time has that of the line before it, if any."""
    lines: list[NodeLine] = []
    at: datetime | None = None
    for line in raw.decode("utf-8", errors="replace").splitlines()[-4 * MOST_LINES :]:
        found = _TIME.match(line)
        if found is not None:
            at = _instant(found)
        text = line[found.end() :] if found else line
        if text.strip():
            lines.append(NodeLine(scope=Scope.KERNEL, text=text[:LONGEST], at=at))
    return lines


def _instant(found: re.Match[str]) -> datetime:
    date, fraction, zone = found.groups()
    text = date.replace(" ", "T") + (fraction or "").replace(",", ".")[:7] + (zone or "Z")
    return datetime.fromisoformat(text).astimezone(UTC)


def within(lines: Iterable[NodeLine], since: datetime, until: datetime) -> Iterator[NodeLine]:
    """Yield the lines of a window, and those whose time nobody knows."""
    return (line for line in lines if line.at is None or since <= line.at <= until)


def about(lines: Iterable[NodeLine], pids: Collection[int]) -> Iterator[NodeLine]:
    """Yield the lines that speak of no process, or of one of these."""
    return (line for line in lines if (pid := process_of(line.text)) is None or pid in pids)


def process_of(text: str) -> int | None:
    """Return the process that a line speaks of."""
    found = _PROCESS.search(text)
    return int(found[1] or found[2]) if found else None


def out_of_memory(lines: Iterable[NodeLine], pid: int) -> str | None:
    """Return the line in which the kernel says that it killed this process for want of memory."""
    return next(
        (x.text for x in lines if (m := _OUT_OF_MEMORY.search(x.text)) and int(m[1]) == pid), None
    )
