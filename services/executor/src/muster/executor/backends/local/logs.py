"""Following a worker's log file, line by line, from any offset.

Memory is bounded: one chunk of the file and one line that is cut into pieces if it is too long. It
only reads, and knows nothing of subjects or jobs; the executor's log publisher calls `follow` with
`Observed.log_path` and remembers `Line.end` if it wants to go on after a restart. `LogFile` is the
same file as the port shows it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

LINE_LIMIT = 16 * 1024
"""Bytes; what is longer comes in several pieces."""

_CHUNK = 64 * 1024
_CONTINUATION = range(0x80, 0xC0)  # the bytes of UTF-8 inside which no line is cut


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end. end: offset in the file of what follows.

    whole: False for a piece whose rest comes next, and for a last line without an end.
    Bytes that are not UTF-8 are replaced by U+FFFD.
    """

    text: str
    end: int
    whole: bool = True


class LogFile:
    """A worker's log file, there or not, as the port shows output."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = path

    def size(self) -> int:
        """See WorkerOutput."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def read(self, offset: int, most: int) -> bytes:
        """See WorkerOutput."""
        try:
            with self.path.open("rb") as file:
                file.seek(offset)
                return file.read(most)
        except FileNotFoundError:
            return b""


async def follow(
    path: Path, offset: int = 0, *, ended: asyncio.Event | None = None, pause: float = 0.2
) -> AsyncIterator[Line]:
    """Yield every line from `offset` on, and wait for more, also for a file that is not there yet.

    Ends when `ended` is set and all that was written before has been yielded; without it, never.
    """
    rest = b""
    while True:
        last = ended is not None and ended.is_set()  # asked before reading: nothing is missed
        chunk = await asyncio.to_thread(LogFile(path).read, offset + len(rest), _CHUNK)
        buffer, start = rest + chunk, offset
        for line in _split(buffer, start):
            yield line
            offset = line.end
        rest = buffer[offset - start :]
        if not chunk and last:
            break
        if not chunk:
            await _wait(ended, pause)
    if rest:
        yield Line(_text(rest), offset + len(rest), whole=False)


async def _wait(ended: asyncio.Event | None, pause: float) -> None:
    if ended is None:
        await asyncio.sleep(pause)
        return
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(ended.wait(), pause)


def _split(buffer: bytes, offset: int) -> Iterator[Line]:
    start = 0
    while True:
        newline = buffer.find(b"\n", start, start + LINE_LIMIT + 1)
        if newline >= 0:
            yield Line(_text(buffer[start:newline]), offset + newline + 1)
            start = newline + 1
        elif len(buffer) - start > LINE_LIMIT:
            cut = _cut(buffer, start)
            yield Line(_text(buffer[start:cut]), offset + cut, whole=False)
            start = cut
        else:
            return


def _cut(buffer: bytes, start: int) -> int:
    """Where to cut a line that is too long: not inside a character, if these are characters."""
    cut = start + LINE_LIMIT
    for earlier in range(cut, cut - 4, -1):
        if buffer[earlier] not in _CONTINUATION:
            return earlier
    return cut


def _text(line: bytes) -> str:
    return line.removesuffix(b"\r").decode("utf-8", errors="replace")
