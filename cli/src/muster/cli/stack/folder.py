"""The state folder of one Muster on this machine: what lies where, and which `up` has it.

`up` holds the lock of the folder for as long as it lives, so to get the lock is the proof that none
runs. The record says which process it is and where it can be reached; it is replaced whole. The
folder is its owner's alone: the server's token is in it.
"""

from __future__ import annotations

import fcntl
import os
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from muster.runtime.nats_folder import Record as ServerRecord
from muster.runtime.nats_folder import ServerFolder
from muster.runtime.ports import LOOPBACK
from muster.runtime.processes import is_running, start_mark


class Up(BaseModel):
    """What an `up` says of itself. ready: every service has started."""

    model_config = ConfigDict(frozen=True)

    pid: int
    mark: str
    since: datetime
    ready: bool = False
    gateway: str = ""
    health: str = ""
    nats: str = ""
    nodes: str = ""

    @property
    def runs(self) -> bool:
        """Whether that very process still runs."""
        return is_running(self.pid, self.mark)


class StateFolder:
    """path: absolute. Nothing is created before `prepare`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.nats = path / "nats"
        self.executor = path / "executor"
        self.logs = self.executor / "logs"
        self.log = path / "up.log"
        self._record = path / "up.json"
        self._lock = path / "up.lock"

    def prepare(self) -> None:
        """Make the folder, for its owner only."""
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)

    def take_lock(self) -> int | None:
        """Return a descriptor that holds the lock; None while another `up` has it."""
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor

    @property
    def is_locked(self) -> bool:
        """Whether an `up` has the folder now."""
        if not self._lock.exists():
            return False
        descriptor = self.take_lock()
        if descriptor is not None:
            os.close(descriptor)
        return descriptor is None

    def read(self) -> Up | None:
        """Return what the last `up` said of itself; None if there was none, or it ended well."""
        try:
            return Up.model_validate_json(self._record.read_bytes())
        except (FileNotFoundError, NotADirectoryError, ValidationError):
            return None

    def write(self, up: Up) -> None:
        """Say where this `up` stands."""
        half = self._record.with_suffix(".half")
        half.write_text(up.model_dump_json(), encoding="utf-8")
        half.replace(self._record)

    def forget(self) -> None:
        """The `up` of this folder has ended in order."""
        self._record.unlink(missing_ok=True)

    def server(self) -> ServerRecord | None:
        """Return where the embedded server of this folder listens; None if none was started."""
        return ServerFolder(self.nats).read_record() if self.nats.is_dir() else None

    def server_url(self) -> str | None:
        """Return the embedded server's URL, its token included; None if it does not run."""
        record = self.server()
        if record is None or record.stopped or not server_runs(record):
            return None
        return f"nats://{record.token}@{LOOPBACK}:{record.port}"


def server_runs(record: ServerRecord) -> bool:
    """Tell whether the recorded server still runs."""
    return (
        record.pid is not None and record.mark is not None and is_running(record.pid, record.mark)
    )


def this_process(since: datetime) -> Up:
    """Return the record of the process that asks."""
    pid = os.getpid()
    return Up(pid=pid, mark=start_mark(pid) or "", since=since)
