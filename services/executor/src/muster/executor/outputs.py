"""Reading workers' output: for what it tells of progress, and its end for who judges a failure.

Bounded: of output that is long already only its beginning and its end are read. Blocks: `following`
and `evidence` call it aside.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable

from muster.executor.backends import WorkerOutput
from muster.executor.core.lines import Reader
from muster.executor.core.masking import masked
from muster.executor.core.progress import Splitter, Summary, summarise

PIECE = 1 << 20
"""Bytes that are read of one file in one turn."""

_END = re.compile(r"[\r\n]")

BEHIND = 4 * PIECE
"""Bytes that may be left to read; when there are more, all but the last piece is passed over."""


class OutputReader:
    """One worker's output. summary: of what was read so far."""

    def __init__(self, output: WorkerOutput, reader: Reader) -> None:
        self._output, self._reader = output, reader
        self._offset = 0
        self.summary = Summary()
        self._fresh(partial=False)

    def _fresh(self, *, partial: bool) -> None:
        self._splitter = Splitter()
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._partial = partial

    def advance(self) -> bool:
        """Read on by a piece; tell whether more is there."""
        size = self._output.size()
        if self._offset and size - self._offset > BEHIND:
            self._pass_over(size)
        if size > self._offset:
            self._read()
        return size > self._offset

    def both_ends(self) -> Summary:
        """Read the beginning and the end of output that grows no more."""
        if self.advance():
            size = self._output.size()
            if size - self._offset > PIECE:
                self._pass_over(size)
            while self.advance():
                pass
        return self.summary

    def _pass_over(self, size: int) -> None:
        self._offset = size - PIECE
        self._fresh(partial=True)

    def _read(self) -> None:
        data = self._output.read(self._offset, PIECE)
        self._offset += len(data)
        text = self._decoder.decode(data)
        if self._partial:  # of the line that is cut by where the reading begins, nothing is known
            _, *rest = _END.split(text, maxsplit=1)
            if not rest:
                return
            self._partial, text = False, rest[0]
        self.summary = summarise(self._splitter.feed(text), self._reader, self.summary)


MARGIN = 4096
"""Bytes before a tail that are read with it, so that a secret that the cut runs through is seen."""


def tail(output: WorkerOutput, most: int, secrets: Iterable[str] = ()) -> str:
    """Return the end of what a worker printed, at most so many bytes of UTF-8, secrets masked.

    It begins with a whole line, unless the last line alone is longer than that.
    """
    size = output.size()
    start = max(0, size - most - MARGIN)
    text = output.read(start, size - start).decode("utf-8", errors="replace")
    if start:
        text = text.partition("\n")[2] or text
    return last(masked(text, secrets), most)


def last(text: str, most: int) -> str:
    """Return the end of a text, at most so many bytes of UTF-8, from the beginning of a line."""
    raw = text.encode()
    if len(raw) <= most:
        return text
    cut = raw[len(raw) - most :].decode("utf-8", errors="ignore") if most else ""
    return cut.partition("\n")[2] or cut
