"""Which processes of a worker live on without its keeper, and how each is signalled safely.

A process is known by its number and its birth; both are compared before any signal, so that a
number that now belongs to another process is never hit. Only `census` and `backend`
call this.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from muster.executor.backends.local.keeper import BOOT, birth, signal_group, stat


@dataclass(frozen=True, slots=True)
class Process:
    """A process and nothing that may have its number later."""

    pid: int
    birth: str

    @property
    def alive(self) -> bool:
        """Whether it runs (a zombie does not)."""
        return birth(self.pid) == self.birth

    def signal(self, number: int) -> None:
        """Signal this process alone, if it still lives."""
        if not hasattr(os, "pidfd_open"):
            if self.alive:
                _quietly(self.pid, number)
            return
        try:
            handle = os.pidfd_open(self.pid)
        except OSError:
            return
        try:
            if self.alive:  # what the handle names cannot change any more
                with contextlib.suppress(OSError):
                    signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)

    def signal_group(self, number: int) -> bool:
        """Signal the group that this process leads; False, and nothing hit, if it is dead."""
        return self.alive and signal_group(self.pid, number)


def _quietly(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def remains(leader: Process, mark: str) -> list[Process]:
    """Every live process of the worker that `leader` was, whichever group it has fled to.

    They are the members of its session and group (whose number the system gives to nobody while one
    of them lives) and all that have `mark` in their environment. Without /proc: the group alone.
    """
    if not sys.platform.startswith("linux"):
        return [leader] if leader.alive or signal_group(leader.pid, 0) else []
    if not leader.birth.startswith(f"{BOOT}:"):
        return []  # the machine was started again since
    number = None if _reused(leader) else str(leader.pid)
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [found for pid in pids if (found := _member(pid, number, mark.encode()))]


def _reused(leader: Process) -> bool:
    now = birth(leader.pid)
    return now is not None and now != leader.birth


def _member(pid: int, number: str | None, mark: bytes) -> Process | None:
    fields = stat(pid)
    if fields is None or fields[0] in "ZXx":
        return None
    if number in fields[2:4] or mark in _environment(pid):
        return Process(pid, f"{BOOT}:{fields[19]}")
    return None


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def end_remains(leader: Process, mark: str) -> bool:
    """Kill what is left of a worker without a keeper; False if nothing was left."""
    left = remains(leader, mark)
    for process in left:
        process.signal(signal.SIGKILL)
    if left and not sys.platform.startswith("linux"):
        signal_group(leader.pid, signal.SIGKILL)
    return bool(left)
