"""Reading workers' output for what it tells of progress: from where it was read to, and bounded.

Of a file that is long already only its beginning and its end are read: the first steps, and the
last. Blocks: `resuming` calls it in a thread.
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from muster.executor.core.lines import Reader
from muster.executor.core.progress import Splitter, Summary, summarise

PIECE = 1 << 20
"""Bytes that are read of one file in one turn."""

_END = re.compile(r"[\r\n]")

BEHIND = 4 * PIECE
"""Bytes that may be left to read; when there are more, all but the last piece is passed over."""


class OutputFile:
    """One worker's output. summary: of what was read so far."""

    def __init__(self, path: Path, reader: Reader) -> None:
        self._path, self._reader = path, reader
        self._offset = 0
        self.summary = Summary()
        self._fresh(partial=False)

    def _fresh(self, *, partial: bool) -> None:
        self._splitter = Splitter()
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._partial = partial

    def advance(self) -> bool:
        """Read on by a piece; tell whether more is there. A file that is not there yet is empty."""
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:
            return False
        if self._offset and size - self._offset > BEHIND:
            self._pass_over(size)
        if size > self._offset:
            self._read()
        return size > self._offset

    def both_ends(self) -> Summary:
        """Read the beginning and the end of a file that is written no more."""
        if self.advance():
            size = self._path.stat().st_size
            if size - self._offset > PIECE:
                self._pass_over(size)
            while self.advance():
                pass
        return self.summary

    def _pass_over(self, size: int) -> None:
        self._offset = size - PIECE
        self._fresh(partial=True)

    def _read(self) -> None:
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read(PIECE)
        self._offset += len(data)
        text = self._decoder.decode(data)
        if self._partial:  # of the line that is cut by where the reading begins, nothing is known
            _, *rest = _END.split(text, maxsplit=1)
            if not rest:
                return
            self._partial, text = False, rest[0]
        self.summary = summarise(self._splitter.feed(text), self._reader, self.summary)
