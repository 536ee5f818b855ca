"""Thirteen ways in which a training goes wrong, or only seems to: programs, and what must follow.

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
def steps(first, last, pause=0.2):
    for step in range(first, last + 1):
        print(f"step={step} loss={1 / step:.4f}", flush=True)
        time.sleep(pause)
def finish():
    steps(11, 15)
    sys.exit(0)
"""
"""What every program begins with: it tells its steps, and a second attempt goes well."""

RESTARTS = {"enabled": True, "max_retries": 1}
WATCHED = {"enabled": True, "max_retries": 1, "hang": {"action": "restart", "window_s": 300}}


@dataclass(frozen=True, slots=True)
class Story:
    """program: after STEPS. retries: the job's `fault_tolerance`. more: of its specification.

    phase: where it ends. rules: of which one must decide (empty: no failure is judged; None among
    them: nothing known). blames, actions: the same. facts: of the job, in this order, beside those
    of every life. restarts, hangs, infrastructure: what stands in the ledgers at the end. field:
    that the advice names.
    """

    program: str
    phase: str
    workers: int = 2
    retries: Mapping[str, Any] = field(default_factory=lambda: dict(RESTARTS))
    more: Mapping[str, Any] = field(default_factory=dict)
    rules: tuple[str | None, ...] = ()
    blames: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    facts: tuple[str, ...] = ("workers_failed", "failed")
    attempts: int = 1
    restarts: int = 0
    hangs: int = 0
    infrastructure: int = 0
    field: str | None = None


STORIES: dict[str, Story] = {
    "import-error": Story(
        "import a_module_that_nobody_has",
        "failed",
        rules=("py.import",),
        blames=("user",),
        actions=("stop",),
        field="image",
    ),
    "bad-argument": Story(
        """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.parse_args(["--learning-rte", "3"])
""",
        "failed",
        rules=("py.args",),
        blames=("user",),
        actions=("stop",),
        field="command",
    ),
    "missing-file": Story(
        'open("/data/that/is/not/there/train.jsonl")',
        "failed",
        rules=("file.missing",),
        blames=("user", "data"),
        actions=("stop",),
        field="storage",
    ),
    "out-of-memory": Story(
        """
import resource
resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))
steps(1, 3)
batch = bytearray(4 << 30)
""",
        "failed",
        rules=("host.oom_python",),
        blames=("user",),
        actions=("stop",),
        field="resource.memory_mib_per_replica",
    ),
    "segmentation-fault": Story(
        """
if attempt > 1:
    finish()
steps(1, 5)
if rank == 1:
    import ctypes
    ctypes.string_at(0)
time.sleep(600)
""",
        "succeeded",
        rules=("exit.segv", "kern.segfault", "cuda.segv", None),
        blames=("unknown", "framework", "user"),
        actions=("retry", "retry_once", "watch"),
        facts=("workers_failed", "restarted", "succeeded"),
        attempts=2,
        restarts=1,
    ),
    "killed-rank": Story(
        """
if attempt > 1:
    finish()
steps(1, 5)
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(600)
""",
        "succeeded",
        rules=("exit.killed", None),
        blames=("unknown",),
        actions=("retry", "watch"),
        facts=("workers_failed", "restarted", "succeeded"),
        attempts=2,
        restarts=1,
    ),
    "silent-rank": Story(
        """
if attempt > 1:
    finish()
steps(1, 5 if rank == 1 else 10)
time.sleep(600)  # rank 1 never comes to the barrier, the other waits there
""",
        "succeeded",
        retries=WATCHED,
        rules=(None,),
        blames=("unknown",),
        actions=("retry", "in_place"),
        facts=("hung", "restarted", "succeeded"),
        attempts=2,
        hangs=1,
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
        rules=("fs.full", "storage.full", "disk.full", "fs.enospc"),
        blames=("storage",),
        actions=("hold", "stop"),
        facts=("workers_failed", "escalated"),
    ),
    "port-in-use": Story(
        """
import socket
if attempt > 1:
    finish()
if rank == 0:
    server = socket.socket()
    server.bind(("127.0.0.1", int(os.environ["TAKEN"])))
time.sleep(600)
""",
        "succeeded",
        rules=("port.in_use",),
        blames=("framework",),
        actions=("retry",),
        facts=("workers_failed", "restarted", "succeeded"),
        attempts=2,
        restarts=1,
    ),
    "pulse": Story(
        """
if attempt > 1:
    finish()
steps(1, 10)
while True:
    print("PULSE: still here, step=10", flush=True)
    time.sleep(1)
""",
        "succeeded",
        retries=WATCHED,
        rules=(None,),
        blames=("unknown",),
        actions=("retry", "in_place"),
        facts=("hung", "restarted", "succeeded"),
        attempts=2,
        hangs=1,
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
