"""Real processes of the example training, started and watched by its tests.

Each rank writes to a file of its own, so a test can look at what has been printed so far; every
wait has an end. Leaving the `with` block ends whatever still runs.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event

PROGRAM = Path(__file__).parents[2] / "examples" / "training" / "train.py"
REPORT = re.compile(r"step=(\d+) loss=([0-9.eE+-]+)")
NOT_PASSED_ON = ("MUSTER_", "PYTHONDONTWRITEBYTECODE")
PATIENCE = 30.0  # seconds; reached only when a test fails


def until(true: Callable[[], bool], what: str) -> None:
    """Look again and again, without spinning, until it is so; fail when it never is."""
    deadline = time.monotonic() + PATIENCE
    pause = Event()
    while not true():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE:g} s in vain until {what}")
        pause.wait(0.01)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@dataclass(frozen=True, slots=True)
class Rank:
    """One running or ended process."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def output(self) -> str:
        return self.log.read_text(encoding="utf-8")

    @property
    def losses(self) -> dict[int, float]:
        """Step and loss of each reported line, in order."""
        return {int(step): float(loss) for step, loss in REPORT.findall(self.output)}

    def until_printed(self, text: str) -> None:
        def printed() -> bool:
            if self.process.poll() is not None and text not in self.output:
                raise AssertionError(f"ended without printing {text!r}:\n{self.output}")
            return text in self.output

        until(printed, f"{self.log.name} holds {text!r}")

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def exit_code(self) -> int:
        return self.process.wait(PATIENCE)


@dataclass(frozen=True, slots=True)
class Launcher:
    """Starts ranks of one gang; what is not given here is the program's default."""

    directory: Path
    ranks: dict[int, Rank]
    port: int
    world_size: int
    attempt: int = 1

    @property
    def checkpoints(self) -> Path:
        return self.directory / "checkpoints"

    @property
    def stop_file(self) -> Path:
        return self.directory / "stop"

    def start(self, rank: int, *options: str, **environment: str) -> Rank:
        log = self.directory / f"attempt-{self.attempt}-rank-{rank}.log"
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(NOT_PASSED_ON)
        }
        of_the_gang = {
            "RANK": str(rank),
            "WORLD_SIZE": str(self.world_size),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(self.port),
            "MUSTER_ATTEMPT": str(self.attempt),
            "MUSTER_CHECKPOINT_DIR": str(self.checkpoints),
            "MUSTER_STOP_FILE": str(self.stop_file),
            # Compiled once for all tests of a session: most of a short run is importing numpy.
            "PYTHONPYCACHEPREFIX": str(self.directory.parent / "bytecode"),
        }
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, str(PROGRAM), *options],
                env=inherited | of_the_gang | environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.ranks[rank] = Rank(process, log)
        return self.ranks[rank]

    def start_all(self, *options: str) -> list[Rank]:
        return [self.start(rank, *options) for rank in range(self.world_size)]

    def exit_codes(self) -> dict[int, int]:
        """Each rank's exit code, once all have ended."""
        return {rank: started.exit_code() for rank, started in sorted(self.ranks.items())}


@contextmanager
def gang_of(world_size: int, directory: Path, attempt: int = 1) -> Iterator[Launcher]:
    """A launcher whose processes do not outlive the block."""
    directory.mkdir(exist_ok=True)
    launcher = Launcher(directory, {}, free_port(), world_size, attempt)
    try:
        yield launcher
    finally:
        for rank in launcher.ranks.values():
            if rank.process.poll() is None:
                rank.process.kill()
            rank.process.wait()


def run_gang(world_size: int, directory: Path, *options: str, attempt: int = 1) -> Rank:
    """Run a gang to its successful end; rank 0."""
    with gang_of(world_size, directory, attempt) as gang:
        gang.start_all(*options)
        codes = gang.exit_codes()
        assert set(codes.values()) == {0}, gang.ranks[0].output
        return gang.ranks[0]
