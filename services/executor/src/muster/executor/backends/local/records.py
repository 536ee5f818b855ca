"""The durable records of one state directory: a folder for each worker, written before its spawn.

    workers/<job>@<attempt>@<worker>/launch.json   what was chosen for it (slots, port)
                                     record.json   written by its keeper (see `keeper`)
                                     stop, told, kill, command.json
    logs/<job>/<attempt>/<worker>.log              stays when the folder goes; proof of a launch

Folders appear by one rename, complete. This module reads, writes and locks them; whether a process
lives is `census`'s question. Everything here blocks: `backend` calls it in a thread.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import uuid4

from muster.executor.backends import WorkerKey
from muster.executor.backends.local import keeper
from muster.executor.backends.local.processes import Process

NAME_LIMIT = 200
"""Bytes of a folder's name; file systems allow 255."""

_SEPARATOR = "@"
_PART = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Plan:
    """What the backend chose for a worker before it was started.

    slots: numbers of its GPUs on the node. milli, card: of a worker that shares its only one, the
    thousandths that it has and the number that the scheduler gave the card.
    """

    node: str
    slots: tuple[int, ...]
    port: int
    leads: bool
    log: str
    milli: int = 0
    card: int | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """What the keeper (or, once, whoever took its place) wrote last. Times: seconds since 1970."""

    state: str
    keeper_pid: int = 0
    keeper_birth: str = ""
    worker_pid: int = 0
    worker_birth: str = ""
    started_at: float | None = None
    exit_code: int | None = None
    ended_at: float | None = None

    @property
    def keeper(self) -> Process:
        """Who waits for the worker."""
        return Process(self.keeper_pid, self.keeper_birth)

    @property
    def worker(self) -> Process:
        """The worker's first process, the leader of its session and group."""
        return Process(self.worker_pid, self.worker_birth)


def folder_name(key: WorkerKey) -> str | None:
    """Return the name of the worker's folder; None if the key cannot be one."""
    if not (_PART.fullmatch(key.job) and _PART.fullmatch(key.worker)):
        return None
    name = _SEPARATOR.join((key.job, str(key.attempt), key.worker))
    return name if len(name) <= NAME_LIMIT else None


def key_of(name: str) -> WorkerKey:
    """Return the key that a folder is named after."""
    job, attempt, worker = name.split(_SEPARATOR)
    return WorkerKey(job, int(attempt), worker)


class Folder:
    """One worker's folder."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def stop_file(self) -> Path:
        """Appears when the worker is told to stop; holds the deadline."""
        return self.path / keeper.STOP

    def plan(self) -> Plan:
        """Read what was chosen. Raises FileNotFoundError if the folder is gone."""
        content = json.loads((self.path / "launch.json").read_text(encoding="utf-8"))
        return Plan(**{**content, "slots": tuple(content["slots"])})

    def record(self) -> Record | None:
        """Read where the worker stands; None while nobody has claimed it."""
        try:
            content = (self.path / keeper.RECORD).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        return Record(**json.loads(content))

    def version(self) -> tuple[int, int, int] | None:
        """What changes whenever the record changes."""
        try:
            found = (self.path / keeper.RECORD).stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def abandon(self) -> bool:
        """Declare that no keeper will ever start this worker; False if one has claimed it."""
        return keeper.create(self.path / keeper.RECORD, {"state": keeper.ABANDONED})

    def give_up(self, record: Record) -> None:
        """Write that the worker is gone and its exit is unknown. Only when its keeper is dead."""
        keeper.replace(self.path / keeper.RECORD, {**asdict(record), "state": keeper.LOST})

    def mark(self, marker: str, content: str = "") -> None:
        """Put a marker file there, whole."""
        draft = self.path / f"{marker}.{uuid4().hex}"
        draft.write_text(content, encoding="utf-8")
        draft.replace(self.path / marker)

    def marked(self, marker: str) -> bool:
        """Tell whether a marker is there."""
        return (self.path / marker).exists()


class Records:
    """The folders of one state directory."""

    def __init__(self, state_dir: Path) -> None:
        self.workers = state_dir / "workers"
        self.logs = state_dir / "logs"
        self._lock_file = state_dir / "lock"
        for path in (state_dir, self.workers, self.logs):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Let nobody else, in any process, choose slots and ports meanwhile."""
        with self._lock_file.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            for draft in self.workers.glob(".*"):  # of one who died in the middle
                shutil.rmtree(draft, ignore_errors=True)
            yield

    def names(self) -> list[str]:
        """Names of all folders."""
        with os.scandir(self.workers) as found:
            return [entry.name for entry in found if not entry.name.startswith(".")]

    def folder(self, name: str) -> Folder:
        """Return the folder of that name, there or not."""
        return Folder(self.workers / name)

    def log_of(self, key: WorkerKey) -> Path:
        """Where the worker's output goes."""
        return self.logs / key.job / str(key.attempt) / f"{key.worker}.log"

    def ever_started(self, key: WorkerKey, name: str) -> bool:
        """Tell whether a worker with this key has a folder, or had one."""
        return (self.workers / name).exists() or self.log_of(key).exists()

    def add(self, name: str, plan: Plan, command: keeper.Command) -> bool:
        """Make a worker's folder, complete by one rename; False if it was there already."""
        draft = self.workers / f".{name}.{uuid4().hex}"
        draft.mkdir(mode=0o700)
        try:
            keeper.create(draft / keeper.COMMAND, dict(command))
            keeper.create(draft / "launch.json", asdict(plan))
            Path(plan.log).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft.rename(self.workers / name)
        except OSError:
            shutil.rmtree(draft, ignore_errors=True)
            if (self.workers / name).exists():
                return False
            raise
        return True

    def remove(self, name: str, key: WorkerKey) -> None:
        """Drop a folder at once; what is left of the worker is its log."""
        log = self.log_of(key)
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        log.touch(mode=0o640)
        leaving = self.workers / f".{name}.{uuid4().hex}"
        with contextlib.suppress(FileNotFoundError):
            (self.workers / name).rename(leaving)
        shutil.rmtree(leaving, ignore_errors=True)
