"""The local backend as the contract suite and the local tests use it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from muster.executor.backends import WorkerKey
from muster.executor.backends.local import LocalBackend, NodeConfig
from tests.contract.backend_suite import Cluster

_NOTE = """
import os, signal, sys
def note(kind, text=""):
    name = "-".join((kind, os.environ["MUSTER_JOB"], os.environ["MUSTER_ATTEMPT"],
                     os.environ["MUSTER_WORKER"]))
    with open(os.path.join(sys.argv[1], name), "a") as file:
        file.write(text + "\\n")
"""

_STOPS = """
def stop(*_):
    with open(os.environ["MUSTER_STOP_FILE"]) as file:
        note("told", file.read().strip())
    os._exit(7)
signal.signal(signal.SIGTERM, stop)
note("ran")
while True:
    signal.pause()
"""

# a child in the group, and one that fled: own session, orphaned by a double fork
_IGNORES = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
note("pid", str(os.getpid()))
if os.fork() == 0:
    note("pid", str(os.getpid()))
    while True:
        signal.pause()
middle = os.fork()
if middle == 0:
    os.setsid()
    if os.fork() == 0:
        note("pid", str(os.getpid()))
        note("ran")
        while True:
            signal.pause()
    os._exit(0)
os.waitpid(middle, 0)
"""

_WAITS = """
while True:
    signal.pause()
"""

_COUNTS = """
def stop(*_):
    with open(os.environ["MUSTER_STOP_FILE"]) as file:
        note("told", file.read().strip())
signal.signal(signal.SIGTERM, stop)
note("ran")
"""

_LEAVES = """
sys.exit(4)
"""

_SHOWS = """
import json
note("env", json.dumps(dict(os.environ)))
"""


STRANGER = (sys.executable, "-I", "-S", "-c", "import signal; signal.pause()")
"""A process that is nobody's worker."""


class LocalCluster(Cluster):
    """One virtual node with four GPUs on a state directory of its own."""

    def __init__(self, root: Path) -> None:
        self.state_dir = root / "state"
        self.notes = root / "notes"
        self.notes.mkdir()
        self.kernel_log = root / "kernel.log"
        self.node = NodeConfig(name="node-1", gpus=4, cpus=4, kernel_log=self.kernel_log)

    def backend(self, *, patience: float = 10.0) -> LocalBackend:
        return LocalBackend(self.state_dir, [self.node], poll=0.02, patience=patience)

    def python(self, *parts: str) -> tuple[str, ...]:
        """A command that runs this code without the cost of site-packages."""
        return ("python", "-I", "-S", "-c", "".join((_NOTE, *parts)), str(self.notes))

    def exits(self, code: int) -> tuple[str, ...]:
        return self.python(f"note('ran')\nsys.exit({code})")

    def dies_by(self, signal: int) -> tuple[str, ...]:
        return self.python(f"note('ran')\nos.kill(os.getpid(), {signal})")

    def stops_when_told(self) -> tuple[str, ...]:
        return self.python(_STOPS)

    def ignores_stop(self) -> tuple[str, ...]:
        return self.python(_IGNORES, _WAITS)

    def counts_signals(self) -> tuple[str, ...]:
        """Notes each signal to stop, and goes on."""
        return self.python(_COUNTS, _WAITS)

    def leaves_children(self) -> tuple[str, ...]:
        """Exits with 4 and leaves two children running, one of them in a session of its own."""
        return self.python(_IGNORES, "note('left')", _LEAVES)

    def shows_environment(self) -> tuple[str, ...]:
        """Notes its environment and exits."""
        return self.python(_SHOWS)

    def prints(self, text: str) -> tuple[str, ...]:
        return self.python(f"print({text!r})\nsys.exit(1)")

    def works(self) -> tuple[str, ...]:
        return self.python("note('ran')\nwhile True:\n    pass")

    def say(self, text: str, at: datetime | None) -> None:
        time = f"{at:%Y-%m-%dT%H:%M:%S},{at:%f}+00:00 " if at else ""
        with self.kernel_log.open("a", encoding="utf-8") as file:
            file.write(f"{time}{text}\n")

    def runs(self, key: WorkerKey) -> int:
        return len(self.noted("ran", key))

    def told(self, key: WorkerKey) -> list[datetime]:
        return [datetime.fromisoformat(line) for line in self.noted("told", key)]

    def pids(self, key: WorkerKey) -> list[int]:
        """Every process of a worker that ignores its stop."""
        return [int(line) for line in self.noted("pid", key)]

    def environment(self, key: WorkerKey) -> dict[str, Any] | None:
        """What `shows_environment` noted."""
        noted = self.noted("env", key)
        return json.loads(noted[0]) if noted else None

    def noted(self, kind: str, key: WorkerKey) -> list[str]:
        """Whole lines that a worker noted."""
        path = self.notes / f"{kind}-{key.job}-{key.attempt}-{key.worker}"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def records(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Every folder with its record, read behind the backend's back."""
        for path in sorted((self.state_dir / "workers").glob("*/record.json")):
            yield path.parent, json.loads(path.read_text(encoding="utf-8"))


def lives(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except FileNotFoundError:
        return False
    except OSError:
        os.kill(pid, 0)
        return True
    return fields[0] not in "ZX"
