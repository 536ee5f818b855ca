"""Signs of life of a worker's processes, from /proc and, where there are GPUs, `nvidia-smi`.

One look at all processes serves all workers that are asked for. Whoever counts as a worker's is
below its keeper, however it has fled. Reading only; where there is no /proc nobody can say. Blocks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from muster.executor.backends import Signs
from muster.executor.backends.local.keeper import stat
from muster.executor.backends.local.records import Record
from muster.executor.backends.local.stacks import Standing
from muster.executor.core.masking import masked

TICKS = os.sysconf("SC_CLK_TCK")
TIMEOUT_S = 5.0
THREADS = 64
"""Threads of one process whose state is looked at."""

_STATE, _PARENT, _SESSION, _CPU = 0, 1, 3, slice(11, 15)
_MOVED = ("rchar:", "wchar:")
_ORDER = "RDTt"
"""States that say most of a worker, before S: one thread that runs, and it runs."""


@dataclass(frozen=True, slots=True)
class GpuUse:
    """busy: share of the time, 0-1. watts: what it draws; None = it does not say."""

    busy: float
    watts: float | None = None


class Processes:
    """Every process of the machine, as it stood when this was made."""

    def __init__(self) -> None:
        self._stats: dict[int, list[str]] = {}
        self._children: defaultdict[int, list[int]] = defaultdict(list)
        if not sys.platform.startswith("linux"):
            return
        for entry in os.scandir("/proc"):
            if entry.name.isdigit() and (fields := stat(int(entry.name))) is not None:
                self._stats[int(entry.name)] = fields
                self._children[int(fields[_PARENT])].append(int(entry.name))

    def of(self, record: Record) -> list[int]:
        """Return a worker's living processes, its first one first."""
        found = dict.fromkeys(self._below(record.worker_pid))
        found |= dict.fromkeys(self._below(record.keeper_pid)[1:])
        session = str(record.worker_pid)
        found |= dict.fromkeys(p for p, s in self._stats.items() if s[_SESSION] == session)
        return [pid for pid in found if pid in self._stats and self._stats[pid][_STATE] not in "ZX"]

    def _below(self, pid: int) -> list[int]:
        found = [pid] if pid in self._stats else []
        for each in found:
            found += self._children[each]
        return found

    def cpu_s(self, pids: Sequence[int]) -> float:
        """Return the CPU seconds of these, and of the children that they have waited for."""
        return sum(int(ticks) for pid in pids for ticks in self._stats[pid][_CPU]) / TICKS


def moved(pids: Sequence[int]) -> int | None:
    """Return the bytes that these have read and written; None where that may not be read."""
    found: int | None = None
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
        except OSError:
            continue
        found = (found or 0) + sum(int(x.split()[1]) for x in lines if x.startswith(_MOVED))
    return found


def state(pids: Sequence[int]) -> str | None:
    """Return R if any thread runs, else D if one waits for a disk, T if stopped, else S."""
    seen = {each for pid in pids for each in _threads(pid)}
    return next((each for each in _ORDER if each in seen), "S") if seen else None


def _threads(pid: int) -> set[str]:
    try:
        tasks = sorted(Path(f"/proc/{pid}/task").iterdir())[:THREADS]
    except OSError:
        return set()
    found = (stat(int(task.name)) for task in tasks)
    return {fields[_STATE] for fields in found if fields is not None}


def gpu_use() -> dict[str, GpuUse]:
    """Return the use of each GPU of this machine, by number and by UUID; empty without any."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return {}
    asked = "--query-gpu=index,uuid,utilization.gpu,power.draw"
    try:
        shown = subprocess.run(
            [program, asked, "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    return read_gpu_use(shown.stdout)


def read_gpu_use(text: str) -> dict[str, GpuUse]:
    """Read what `nvidia-smi` prints: number, UUID, percent, watts; `[N/A]` where it cannot say."""
    found: dict[str, GpuUse] = {}
    for line in text.splitlines():
        number, uuid, busy, watts, *_ = [*(part.strip() for part in line.split(",")), *[""] * 4]
        percent = _number(busy)
        if percent is not None:
            found[number] = found[uuid] = GpuUse(percent / 100, _number(watts))
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def signs_of(
    record: Record,
    devices: Sequence[str],
    processes: Processes,
    gpus: Mapping[str, GpuUse],
    stands: Standing | None,
    printed: int,
) -> Signs | None:
    """Return the signs of one worker; None if nothing of it lives.

    printed: bytes of output, which are none that were moved.
    """
    pids = processes.of(record)
    if not pids:
        return None
    used = [gpus[name] for name in devices if name in gpus]
    watts = [use.watts for use in used if use.watts is not None]
    bytes_moved = moved(pids)
    return Signs(
        cpu_s=processes.cpu_s(pids),
        state=state(pids),
        stack=stands.digest if stands else None,
        standing=masked(stands.words) if stands else None,
        gpu=sum(use.busy for use in used) / len(used) if used else None,
        gpu_watts=sum(watts) if watts else None,
        moved=None if bytes_moved is None else max(0, bytes_moved - printed),
    )
