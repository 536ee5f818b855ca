"""The keeper: a small process that starts one worker, outlives its own starter and records the end.

`keeper.py DIR...` forks one keeper for each directory and returns when all workers are started. A
keeper is in its own session, so neither the executor's death nor a Ctrl-C reaches it. It must
import nothing but light parts of the standard library, since every launch pays for it, and it
decides nothing. `muster.executor.backends.local.starting` runs it by file path, alone and isolated:
that is why everything it needs stands in this one file.

The directory is the whole protocol. `record.json` has one owner: whoever creates it first either
keeps the worker or has declared that nobody ever will. The keeper looks for `stop` and `kill` after
the record says `running`, and whoever writes them looks at the record afterwards: one of the two
always sees the other.

Keepers become children of process 1, which must reap them (in a container: run with an init). What
ends the executor must spare them: under systemd that is `KillMode=process`.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from pathlib import Path

try:
    import ctypes
except ImportError:  # not every interpreter has it
    ctypes = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Command(TypedDict):
        """What `command.json` holds."""

        args: list[str]
        env: dict[str, str]
        workdir: str
        log: str


RECORD = "record.json"  # who keeps the worker, where it stands, how it ended
COMMAND = "command.json"  # program and environment; removed as soon as they are in use
STOP = "stop"  # the worker should stop; holds the deadline
TOLD = "told"  # the worker has had its SIGTERM
KILL = "kill"  # the worker must not run

CLAIMED, RUNNING, EXITED, ABANDONED, LOST = "claimed", "running", "exited", "abandoned", "lost"

_PR_SET_CHILD_SUBREAPER = 36
_WRITE_ATTEMPTS = 600  # a full disk is waited for, one second at a time
_SWEEP_PAUSE_S = 0.005


def _boot() -> str:
    """Name this start of the machine: no process of before can live after the next one."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


BOOT = _boot()


def stat(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat from the state on: state, parent, group, session, ..."""
    try:
        shown = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return shown.rpartition(")")[2].split()
    except OSError:
        return None


def birth(pid: int) -> str | None:
    """When the process was born, which tells it from a later one of its number; None if it is dead.

    A zombie is dead: it runs nothing and holds nothing.
    """
    if not sys.platform.startswith("linux"):
        return _birth_by_ps(pid)
    fields = stat(pid)
    if fields is None or fields[0] in "ZXx":
        return None
    return f"{BOOT}:{fields[19]}"


def _birth_by_ps(pid: int) -> str | None:
    import subprocess  # noqa: PLC0415  (only where there is no /proc)

    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    return None if not shown or shown[0].startswith("Z") else " ".join(shown[1:])


def signal_group(group: int, number: int) -> bool:
    """Signal a process group by its number (0 only looks); False if there is none."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def create(path: Path, content: dict[str, object]) -> bool:
    """Write a file that must not exist yet, complete or not at all; False if somebody was first."""
    draft = _draft(path, content)
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


def replace(path: Path, content: dict[str, object]) -> None:
    """Write the next version of a file by atomic rename."""
    _draft(path, content).replace(path)


def _draft(path: Path, content: dict[str, object]) -> Path:
    draft = path.with_name(f"{path.name}.{os.getpid()}.{time.monotonic_ns()}")
    with draft.open("w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    return draft


def _insist(path: Path, content: dict[str, object]) -> None:
    """Write even if the disk is full for a while: nobody else knows how the worker ended."""
    for _ in range(_WRITE_ATTEMPTS):
        try:
            return replace(path, content)
        except FileNotFoundError:
            return None  # the whole state was deleted: nobody asks any more
        except OSError:
            select.select([], [], [], 1.0)
    return None


def keep(directory: Path, ready: int) -> None:
    """Start the worker of this directory, wait for the end of its whole tree, write it down."""
    os.setsid()
    os.chdir("/")
    for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(ignored, signal.SIG_IGN)
    path = directory / RECORD
    known: dict[str, object] = {"keeper_pid": os.getpid(), "keeper_birth": birth(os.getpid())}
    if not create(path, {"state": CLAIMED, **known}):
        return
    command = _take_command(directory)
    if (directory / KILL).exists():
        replace(path, {"state": EXITED, **known, **_end(128 + signal.SIGKILL)})
        return
    _adopt_orphans()
    worker, go = _fork_worker(command)
    known |= {"worker_pid": worker, "worker_birth": birth(worker), "started_at": time.time()}
    replace(path, {"state": RUNNING, **known})
    _open_gate(go)
    os.close(ready)
    _heed_markers(directory, worker)
    exit_code = _wait_for_end(worker)
    _insist(path, {"state": EXITED, **known, **_end(exit_code)})


def _take_command(directory: Path) -> Command:
    path = directory / COMMAND
    command: Command = json.loads(path.read_text(encoding="utf-8"))
    path.unlink()  # the environment may hold secrets
    return command


def _end(exit_code: int) -> dict[str, object]:
    return {"exit_code": exit_code, "ended_at": time.time()}


def _adopt_orphans() -> None:
    """Become the parent of every orphan below, so that no grandchild can hide by a double fork."""
    if sys.platform.startswith("linux") and ctypes is not None:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _fork_worker(command: Command) -> tuple[int, int]:
    """Fork the worker up to just before its exec; it goes on when a byte arrives on the pipe.

    So no program ever runs that no record speaks of: if the keeper dies first, the pipe closes.
    """
    told, tell = os.pipe()
    gate, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(told)
            os.close(go)
            os.setsid()
            _obey_signals()
            os.write(tell, b"s")
            if os.read(gate, 1):
                _become(command)
        finally:
            os._exit(127)
    os.close(tell)
    os.close(gate)
    os.read(told, 1)  # from here on a signal to its group finds it and is not ignored
    os.close(told)
    return pid, go


def _obey_signals() -> None:
    """Undo what the keeper and Python ignore and the executor may block: exec inherits it."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _open_gate(go: int) -> None:
    try:
        os.write(go, b"g")
    except BrokenPipeError:
        pass  # it was killed already; the wait will tell
    finally:
        os.close(go)


def _become(command: Command) -> None:
    """Turn this process into the worker's program. Does not return if that works."""
    output = os.open(command["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
    os.dup2(output, 1)
    os.dup2(output, 2)
    program = command["args"][0]
    try:
        os.chdir(command["workdir"])
        os.execvpe(program, command["args"], command["env"])
    except OSError as error:
        os.write(2, f"muster: cannot start {program}: {error}\n".encode())
        os._exit(126 if isinstance(error, PermissionError) else 127)


def _heed_markers(directory: Path, worker: int) -> None:
    """Carry out what was asked while there was nobody yet to ask."""
    if (directory / KILL).exists():
        signal_group(worker, signal.SIGKILL)
    elif (directory / STOP).exists() and not (directory / TOLD).exists():
        signal_group(worker, signal.SIGTERM)
        (directory / TOLD).touch()


def _wait_for_end(worker: int) -> int:
    """Wait for the worker, kill what it left, return its exit code (128+n after signal n)."""
    if hasattr(os, "waitid"):
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)) is not None:
            if ended.si_pid == worker:
                break  # not reaped yet: the number of the group is still ours
            os.waitpid(ended.si_pid, 0)
        signal_group(worker, signal.SIGKILL)
    _, status = os.waitpid(worker, 0)
    _sweep(worker)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _sweep(worker: int) -> None:
    """Kill until nothing of the worker's tree is left; orphans become our children one by one."""
    while True:
        for child in _children():
            os.kill(child, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            if sys.platform.startswith("linux") or not signal_group(worker, signal.SIGKILL):
                return
        select.select([], [], [], _SWEEP_PAUSE_S)


def _children() -> list[int]:
    """Our own children: their numbers cannot become another's before we reap them."""
    me = os.getpid()
    try:
        shown = Path(f"/proc/self/task/{me}/children").read_text(encoding="ascii")
        return [int(pid) for pid in shown.split()]
    except OSError:
        pass  # not every kernel has this file
    try:
        every = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    except OSError:
        return []  # no /proc: the process group is all that can be seen
    return [pid for pid in every if (fields := stat(pid)) and fields[1] == str(me)]


def main(directories: list[str]) -> int:
    """Fork a keeper for each directory; return when each worker runs or needs no start."""
    wait, ready = os.pipe()
    for directory in directories:
        if os.fork() == 0:
            try:
                os.close(wait)
                keep(Path(directory), ready)
            except Exception:  # noqa: BLE001  (a fork must never return into its parent's loop)
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(0)
    os.close(ready)
    os.read(wait, 1)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
