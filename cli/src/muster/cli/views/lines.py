"""A line that a worker printed: who, in which attempt, and the text as it is, harmless."""

from __future__ import annotations

import zlib

from rich.text import Text

from muster.cli.words import plain

_COLOURS = ("cyan", "green", "magenta", "yellow", "blue")


def printed_line(worker: str, attempt: int, text: str) -> Text:
    """Return the line; each worker keeps one colour."""
    colour = _COLOURS[zlib.crc32(worker.encode()) % len(_COLOURS)]
    return Text.assemble((f"{worker}#{attempt} ", colour), plain(text))
