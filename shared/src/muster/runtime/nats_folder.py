"""The folder of one embedded nats-server: its lock, its record, its configuration, its store.

Called by `muster.runtime.nats_server` only. Knows files; starts and stops nothing.

The server inherits the lock, so it is held for exactly as long as the server lives, whoever started
it: to get the lock is the proof that nothing runs on the store. The record says where the server
listens; it is replaced whole, so that a reader never sees half of it.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

MAX_PAYLOAD = 1024 * 1024
LOG_BYTES = 10 * 1024 * 1024


class Record(BaseModel):
    """Where the server of a folder listens, and which process it is.

    pid, mark: None between the decision to start one and the start (see `processes.start_mark`).
    stopped:   somebody ended it on purpose, so that no watcher starts it again.
    """

    model_config = ConfigDict(frozen=True)

    port: int
    monitor_port: int
    token: str
    pid: int | None = None
    mark: str | None = None
    stopped: bool = False


class ServerFolder:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.path = folder.resolve()
        self.config = self.path / "nats-server.conf"
        self.log = self.path / "nats-server.log"
        self._lock = self.path / "nats-server.lock"
        self._pid = self.path / "nats-server.pid"
        self._record = self.path / "nats-server.json"

    def take_lock(self) -> int | None:
        """A descriptor that holds the lock; None while a server, or its starter, has it."""
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor

    def read_record(self) -> Record | None:
        try:
            return Record.model_validate_json(self._record.read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def write_record(self, record: Record) -> None:
        _replace(self._record, record.model_dump_json())

    def read_pid(self) -> int | None:
        """What the server wrote about itself; the file of an earlier server is gone by then."""
        try:
            return int(self._pid.read_text())
        except (FileNotFoundError, ValueError):
            return None

    def prepare(self, record: Record) -> None:
        """Everything that a server needs to start as the record says. Only with the lock held."""
        self._pid.unlink(missing_ok=True)
        if self.log.exists() and self.log.stat().st_size > LOG_BYTES:
            self.log.replace(self.log.with_suffix(".log.1"))
        _replace(self.config, self._config_text(record))
        self.write_record(record)

    def last_words(self) -> str:
        """The end of the server's log, for an error's message."""
        if not self.log.exists():
            return "it wrote no log"
        text = self.log.read_text(encoding="utf-8", errors="replace")
        return " | ".join(text.splitlines()[-3:])

    def _config_text(self, record: Record) -> str:
        # In `jetstream` only newlines and commas separate; a semicolon becomes part of the value.
        return f"""\
listen: "127.0.0.1:{record.port}"
http: "127.0.0.1:{record.monitor_port}"
server_name: muster
pid_file: {_quoted(self._pid)}
max_payload: {MAX_PAYLOAD}
authorization {{
  token: {_quoted(record.token)}
}}
jetstream {{
  store_dir: {_quoted(self.path / "store")}
  sync_interval: always
}}
"""


def _quoted(value: str | Path) -> str:
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _replace(path: Path, text: str) -> None:
    """Write the whole file or nothing; for its owner's eyes only, since it holds the token."""
    half = path.with_name(f"{path.name}.{os.getpid()}.half")
    descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    half.replace(path)
