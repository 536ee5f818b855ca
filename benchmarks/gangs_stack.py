"""The services of a benchmark, each in a process of its own as in production, on one log.

Whatever ends the benchmark ends them too: they are in sessions of their own, so that a Ctrl-C
reaches only the benchmark, which then stops them in its own order.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.log_server import prepare, server
from muster.bus.topology import CONSUMERS

ROOT = Path(__file__).resolve().parents[1]
SERVICES = ("admission", "scheduler", "requeue")
GPUS = 8
STOP_S = 10.0


@dataclass(slots=True)
class Stack:
    """url: of the log. processes: by name."""

    url: str
    folder: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(
        self, name: str, module: str, arguments: Sequence[str] = (), **more: str
    ) -> subprocess.Popen[bytes]:
        """Start one service; its log is `<name>.log` in the folder."""
        home = self.folder / name
        home.mkdir(exist_ok=True)
        command = [sys.executable, "-m", module, *arguments]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command,
                cwd=ROOT,
                env=self._environment(home) | more,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self.processes[name]

    def _environment(self, home: Path) -> dict[str, str]:
        own = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        return own | {
            "MUSTER_NATS_URL": self.url,
            "MUSTER_STATE_DIR": str(home),
            "MUSTER_LOG_LEVEL": "WARNING",
            "OTEL_SDK_DISABLED": "true",
        }

    def used(self) -> dict[str, dict[str, float]]:
        """Return CPU seconds and peak megabytes of every process so far; nothing if unknown."""
        found: dict[str, dict[str, float]] = {}
        for name, process in self.processes.items():
            with contextlib.suppress(OSError):
                found[name] = used_by(process.pid)
        return found

    def ended(self) -> str | None:
        """Return what a process that should run said before it ended."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                return f"{name} ended: {(self.folder / f'{name}.log').read_text()[-2000:]}"
        return None

    async def stop(self, *names: str) -> None:
        """Stop some processes, or all of them."""
        going = [self.processes.pop(name) for name in names or tuple(self.processes)]
        for process in going:
            process.terminate()
        for process in going:
            try:
                await asyncio.to_thread(process.wait, STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def kill(self) -> None:
        """End at once what still runs."""
        for process in self.processes.values():
            process.kill()
            process.wait()


def used_by(pid: int) -> dict[str, float]:
    """Return CPU seconds and peak megabytes of a process; OSError where nobody tells."""
    status = Path(f"/proc/{pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(times[11]) + int(times[12])
    return {
        "cpu_s": round(ticks / os.sysconf("SC_CLK_TCK"), 2),
        "mb": round(int(peak.split()[1]) / 1024),
    }


@asynccontextmanager
async def stack(nodes: int, *, sync: str = "always", spot: bool = False) -> AsyncIterator[Stack]:
    """Run a log and the services over a cluster of so many nodes."""
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
        async with server(sync) as url:
            await prepare(url, CONSUMERS)
            running = Stack(url, Path(folder))
            try:
                for name in SERVICES:
                    running.start(name, f"muster.{name}.service")
                cluster = [str(nodes), str(GPUS), *(["spot"] if spot else [])]
                running.start("executor", "benchmarks.gangs_executor", cluster)
                yield running
                await running.stop()
            finally:
                running.kill()
