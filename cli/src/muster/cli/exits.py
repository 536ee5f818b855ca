"""What the exit code of `muster` means; printed at the end of `muster --help`."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Codes of every command; `submit --follow` uses those of a job's end."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    STOPPED = 3
    ABNORMAL = 4
    UNREACHABLE = 5
    INTERNAL = 70
    INTERRUPTED = 130
