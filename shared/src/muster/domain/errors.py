"""The only errors that cross an adapter's border. Adapters translate and chain the cause.

MusterError
├── Permanent   the same input will fail again: park it, tell the sender
├── Temporary   try again after `delay` seconds; never counted against the message
└── Conflict    what the write was based on is no longer the last fact: read again, decide again
"""

from __future__ import annotations


class MusterError(Exception):
    """Root of all errors that Muster raises on purpose."""


class Permanent(MusterError):
    """The same input fails again whenever it is tried."""


class Temporary(MusterError):
    """Something outside is away; the same input may succeed after `delay` seconds."""

    def __init__(self, message: str, delay: float = 1.0) -> None:
        super().__init__(message)
        self.delay = delay


class Conflict(MusterError):
    """Somebody appended first; nothing of this write happened."""
