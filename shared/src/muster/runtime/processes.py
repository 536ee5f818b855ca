"""Who a process id belongs to: ids are reused, so an id alone proves nothing.

Called by whatever records a process to find it again after its own death. Knows nothing of what the
process does.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def start_mark(pid: int) -> str | None:
    """When the process started, in the kernel's own words; None if there is no such process.

    Two processes with the same id never have the same mark. Only ever compare it for equality.
    """
    if pid <= 0:
        return None
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None if Path("/proc/self/stat").exists() else _start_by_ps(pid)
    fields = stat.rpartition(")")[2].split()
    state, ticks = fields[0], fields[19]
    return None if state in {"Z", "X"} else f"{_boot()}/{ticks}"


def is_running(pid: int, mark: str) -> bool:
    """True if the process that had this mark still runs."""
    return start_mark(pid) == mark


def send_signal(pid: int, mark: str, number: int) -> bool:
    """Signal exactly that process; False if it is gone."""
    if not is_running(pid, mark):
        return False
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _boot() -> str:
    """Ticks count from the start of the machine, so a mark also names that."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "this-boot"


def _start_by_ps(pid: int) -> str | None:
    """For systems without /proc. A process that ended and waits for its parent counts as gone."""
    command = ["ps", "-o", "stat=", "-o", "lstart=", "-p", str(pid)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    state, _, started = done.stdout.strip().partition(" ")
    return None if not state or state.startswith("Z") else started.strip()
