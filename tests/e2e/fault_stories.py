"""Ways in which a training goes wrong, or only seems to: programs, and what must follow.

Each is a gang of real processes. What a program needs from outside (a full disk, a port that is
taken) comes in its environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

STEPS = """
import os, signal, sys, time
attempt, rank = int(os.environ["MUSTER_ATTEMPT"]), int(os.environ["RANK"])
name = os.environ["MUSTER_JOB_NAME"]
def steps(first, last, pause=0.2):
    for step in range(first, last + 1):
        print(f"{name} step={step} loss={1 / step:.4f}", flush=True)
        time.sleep(pause)
def finish():
    steps(11, 15)
    sys.exit(0)
"""
"""What every program begins with: it tells its steps, and a second attempt goes well.

Its name is in every line, or jobs that end without a word would be taken for one incident.
"""

RESTARTS = {"enabled": True, "max_retries": 1}
WATCHED = {"enabled": True, "max_retries": 1, "hang": {"action": "restart", "window_s": 300}}


@dataclass(frozen=True, slots=True)
class Story:
    """program: after STEPS. retries: the job's `fault_tolerance`.

    phase: where it ends. rules: of which one must decide (empty: no failure is judged; None among
    them: nothing known). blames, actions: the same. facts: of the job, in this order, beside those
    of every life. restarts, hangs, infrastructure: what stands in the ledgers at the end. field:
    that the advice names. keeps_checkpoints: it declares a folder for them.
    """

    program: str
    phase: str
    workers: int = 2
    retries: Mapping[str, Any] = field(default_factory=lambda: dict(RESTARTS))
    rules: tuple[str | None, ...] = ()
    blames: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    facts: tuple[str, ...] = ("workers_failed", "failed")
    attempts: int = 1
    restarts: int = 0
    hangs: int = 0
    infrastructure: int = 0
    field: str | None = None
    keeps_checkpoints: bool = False


def stopped(program: str, **more: Any) -> Story:
    """A mistake that would be made again: no retry, and advice."""
    return Story(program, "failed", actions=("stop",), **more)


def restarted(program: str, **more: Any) -> Story:
    """A failure that the user's own budget pays another attempt for; that one goes well."""
    facts = ("workers_failed", "restarted", "succeeded")
    return Story(program, "succeeded", facts=facts, attempts=2, restarts=1, **more)


def hang(program: str) -> Story:
    """Nothing moves; the next attempt goes well and no budget of the user's is touched."""
    return Story(
        program,
        "succeeded",
        retries=WATCHED,
        rules=(None,),
        blames=("unknown",),
        actions=("retry",),
        facts=("hung", "restarted", "succeeded"),
        attempts=2,
        hangs=1,
    )


STORIES: dict[str, Story] = {
    "import-error": stopped(
        "import a_module_that_nobody_has",
        rules=("py.import",),
        blames=("user",),
        field="image",
    ),
    "bad-argument": stopped(
        """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.parse_args(["--learning-rte", "3"])
""",
        rules=("py.args",),
        blames=("user",),
        field="command",
    ),
    "missing-file": stopped(
        'open("/data/that/is/not/there/train.jsonl")',
        rules=("file.missing",),
        blames=("user",),
        field="storage",
    ),
    "out-of-memory": stopped(
        """
import resource
resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))
steps(1, 3)
batch = bytearray(4 << 30)
""",
        rules=("host.oom_python",),
        blames=("user",),
        field="resource.memory_mib_per_replica",
    ),
    "segmentation-fault": restarted(
        """
if attempt > 1:
    finish()
steps(1, 5)
if rank == 1:
    import ctypes
    ctypes.string_at(0)
time.sleep(600)
""",
        rules=(None,),
        blames=("unknown",),
        actions=("retry",),
    ),
    "killed-rank": restarted(
        """
if attempt > 1:
    finish()
steps(1, 5)
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(600)
""",
        rules=(None,),
        blames=("unknown",),
        actions=("retry",),
    ),
    "silent-rank": hang(
        """
if attempt > 1:
    finish()
steps(1, 5 if rank == 1 else 10)
time.sleep(600)  # rank 1 never comes to the barrier, the other waits there
""",
    ),
    "torn-checkpoint": restarted(
        """
import zipfile
folder = os.environ["MUSTER_CHECKPOINT_DIR"]
if attempt > 1:
    print("told:", os.environ.get("MUSTER_RESUME_FROM"), flush=True)
    finish()
for step in (3, 5) if rank == 0 else ():
    with zipfile.ZipFile(f"{folder}/step_{step}.pt", "w") as file:
        file.writestr("archive/data.pkl", b"x" * 1000)
if rank == 0:
    with open(f"{folder}/step_5.pt", "r+b") as file:
        file.truncate(500)
steps(1, 5)
os.kill(os.getpid(), signal.SIGKILL)
""",
        rules=(None,),
        blames=("unknown",),
        actions=("retry",),
        keeps_checkpoints=True,
    ),
    "left-behind": Story(
        """
steps(1, 5)
if rank == 1:
    sys.exit(0)
time.sleep(600)
""",
        "abnormal",
        rules=("exit.0_partial",),
        blames=("user",),
        actions=("hold",),
        facts=("workers_failed", "escalated"),
    ),
    "ends-well-when-told": Story(
        """
def leave(*_):
    print("checkpoint saved: step=5", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, leave)
steps(1, 5)
time.sleep(600)
""",
        "stopped",
        facts=("stopped",),
    ),
    "disk-full": Story(
        """
steps(1, 3)
with open(os.environ["FULL"], "wb", buffering=0) as file:
    while True:
        if not file.write(b"x" * 65536):
            break
""",
        "abnormal",
        rules=("fs.enospc",),
        blames=("storage",),
        actions=("hold",),
        facts=("workers_failed", "escalated"),
    ),
    "port-in-use": restarted(
        """
import socket
if attempt > 1:
    finish()
if rank == 0:
    server = socket.socket()
    server.bind(("127.0.0.1", int(os.environ["TAKEN"])))
time.sleep(600)
""",
        rules=("port.in_use",),
        blames=("framework",),
        actions=("retry",),
    ),
    "pulse": hang(
        """
if attempt > 1:
    finish()
steps(1, 10)
while True:
    print("PULSE: still here, step=10", flush=True)
    time.sleep(1)
""",
    ),
    "long-evaluation": Story(
        """
steps(1, 10)
print("***** Running Evaluation *****", flush=True)
time.sleep(45)  # three windows long, and not a word
print("evaluation finished", flush=True)
steps(11, 12)
""",
        "succeeded",
        retries=WATCHED,
        facts=("succeeded",),
    ),
}
