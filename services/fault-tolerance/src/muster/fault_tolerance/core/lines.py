"""The end of a log as lines that a rule can judge. Pure; nothing here knows any rule.

What a terminal would hide is taken away (colours, overwritten progress bars), and so is whatever
launchers, runtimes and loggers put before a message: whose line it is, when, and how severe. Lines
that cannot be a cause are marked: the frames of a traceback quote the program's own source, and
what an interpreter says while it shuts down follows from something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from muster.fault_tolerance.core.stamps import FORMS, either, stamp

TAIL = 64 * 1024
"""Characters at the end of a text that are read."""
LENGTH = 4096
"""Characters of a line that are read: its beginning, and a quarter of it from its end."""
_END = LENGTH // 4
_LAYERS = 6
"""Prefixes that are taken off one line, at most: a launcher's, a runtime's, a logger's."""

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BAR = re.compile(r"^[^|]{0,160}?\d{1,3}%\|[^|]{0,200}\|[^\]\n]{0,120}\]?")

_ORIGIN = re.compile(
    r"""\[(?:rank|default)\s?(?P<rank>\d+)\]:[ ]?        # torchrun
    |\[\d+,(?P<mpi>\d+)\]<(?:stdout|stderr)>:[ ]?        # mpirun --tag-output
    |\((?:[\w.:<>-]+\s)?pid=\d+(?:,\s?ip=[\w.:-]+)?\)[ ]?  # Ray
    |(?:stdout|stderr)\s[FP]\s                           # container runtimes
    |\s{0,4}(?P<task>\d{1,5}):\s                         # srun --label
    |[\w.-]+:\sranks?\s(?P<named>\d+):\s
    |\[(?:worker|head|launcher|master)-\d+\][:]?\s""",
    re.VERBOSE | re.ASCII,
)
_PREFIX = either(_ORIGIN, *FORMS)
_FRAME = re.compile(r"\s|[│╭╰|^~]")
_OPENS = "Traceback (most recent call last)"
_LATE = re.compile(
    r"Exception ignored in|Error in atexit\._run_exitfuncs|Exception ignored on "
    r"|Exception in thread .{0,60}(?:pin_memory|QueueFeederThread|QueueManagerThread)"
)
_MARKS = (_OPENS, "Exception ignored", "Error in atexit", "Exception in thread", "│", "╭", "╰")
"""Without any of these in it, no line of a text is a frame or came too late."""
_CHAINED = re.compile(
    r"During handling of the above exception|The above exception was the direct cause"
)


class Line(NamedTuple):
    """One line. text: without what stood before it. number: in the whole text, from 1.

    at: the time at its start. frame: quotes source code. late: said while shutting down.
    """

    text: str
    number: int
    at: datetime | None = None
    frame: bool = False
    late: bool = False


def lines(text: str, near: datetime | None = None) -> Iterator[Line]:
    """Yield the lines of the end of a text.

    near: about when they were written, for stamps that leave out the year.
    """
    kept, first = _end_of(text)
    if "\x1b" in kept:
        kept = _ANSI.sub("", kept)
    kept = _CONTROL.sub("", kept)
    blocks: dict[str, _Block] | None = {} if any(mark in kept for mark in _MARKS) else None
    # only the line feed ends a line: splitlines would also end one at a form feed or U+2028
    for number, raw in enumerate(kept.split("\n"), start=first):
        for part in _shown(raw):
            origin, at, message = _peeled(part, near) if _PREFIX.match(part) else ("", None, part)
            frame = late = False
            if blocks is not None:
                frame, late = blocks.setdefault(origin, _Block()).place(message)
            yield Line(message, number, at, frame, late)


def _end_of(text: str) -> tuple[str, int]:
    """Return the part that is read, and the number of its first line."""
    if len(text) <= TAIL:
        return text, 1
    cut = len(text) - TAIL
    # a line that is cut in two says nothing reliable, unless it is all there is
    whole = text.find("\n", cut) + 1 or cut
    return text[whole:], text.count("\n", 0, whole) + 1


def _shown(raw: str) -> Iterator[str]:
    """Yield what a terminal would have shown of a line, without bars of progress."""
    for part in raw.split("\r"):
        seen = _BAR.sub("", part, count=1) if "%|" in part else part
        if seen and not seen.isspace():
            yield shortened(seen)


def shortened(line: str) -> str:
    """Return a line at a length that is safe to search."""
    return line if len(line) <= LENGTH else line[: LENGTH - _END - 3] + "..." + line[-_END:]


def _peeled(line: str, near: datetime | None) -> tuple[str, datetime | None, str]:
    """Split a line into whose it is, when it was written, and what it says."""
    origin, at = "", None
    for _ in range(_LAYERS):
        found = _ORIGIN.match(line)
        if found:
            origin += found.group()
            line = line[found.end() :]
            continue
        when, length = stamp(line, near)
        at, line = at or when, line[length:]
        if not length or not _PREFIX.match(line):
            break
    return origin, at, line


class _Block:
    """Where the lines of one process stand: in a traceback, in one that came too late, or not."""

    __slots__ = ("_late", "_tracing")

    def __init__(self) -> None:
        self._tracing = False
        self._late = False

    def place(self, message: str) -> tuple[bool, bool]:
        """Take the next line; return whether it is a frame, and whether it came too late."""
        if _OPENS in message:
            self._tracing = True
            return True, self._late
        if _LATE.search(message):
            self._late, self._tracing = True, False
            return False, False
        if self._tracing:
            if _FRAME.match(message):
                return True, self._late
            return False, self._ended()
        if self._late and not _CHAINED.search(message):
            self._late = False
        return message.startswith(("│", "╭", "╰")), False

    def _ended(self) -> bool:
        """The exception itself ends a traceback, and the shutdown's block with it."""
        late = self._late
        self._tracing = self._late = False
        return late
