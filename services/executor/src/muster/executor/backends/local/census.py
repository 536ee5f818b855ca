"""Where every worker stands: the records compared with the living processes.

The keeper's word counts while it lives and after it has written the end. Where a keeper is dead or
never came, this finds out by itself, does the keeper's last duty (nothing of an ended worker goes
on running), and writes the verdict down so that it is found only once. `backend` calls it.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace

from muster.executor.backends import WorkerKey, WorkerStatus
from muster.executor.backends.local import keeper
from muster.executor.backends.local.processes import end_remains
from muster.executor.backends.local.records import Folder, Plan, Record, Records, key_of

_ENDED = {
    keeper.EXITED: WorkerStatus.EXITED,
    keeper.ABANDONED: WorkerStatus.GONE,
    keeper.LOST: WorkerStatus.GONE,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One worker as it stands now."""

    key: WorkerKey
    folder: Folder
    plan: Plan
    first_seen: float
    status: WorkerStatus = WorkerStatus.STARTING
    record: Record | None = None
    version: tuple[int, int, int] | None = None

    @property
    def ended(self) -> bool:
        """Whether it can never change again."""
        return self.status in (WorkerStatus.EXITED, WorkerStatus.GONE)


class Census:
    """Remembers what it read; only what changed is read again, and what ended never."""

    def __init__(self, records: Records, claim_timeout: float) -> None:
        self._records = records
        self._claim_timeout = claim_timeout
        self._entries: dict[str, Entry] = {}
        self._lock = threading.Lock()

    def take(self) -> dict[WorkerKey, Entry]:
        """Return every worker that has a folder."""
        with self._lock:
            names = self._records.names()
            known = ((name, self._entry(name)) for name in names)
            self._entries = {name: entry for name, entry in known if entry is not None}
            return {entry.key: entry for entry in self._entries.values()}

    def _entry(self, name: str) -> Entry | None:
        entry = self._entries.get(name)
        if entry is not None and entry.ended:
            return entry
        try:
            return self._judged(entry or self._first_look(name))
        except FileNotFoundError:
            return None  # forgotten since its name was read

    def _first_look(self, name: str) -> Entry:
        folder = self._records.folder(name)
        return Entry(key_of(name), folder, folder.plan(), time.monotonic())

    def _judged(self, entry: Entry) -> Entry:
        entry = _reread(entry)
        match entry.record:
            case None:
                return self._unclaimed(entry)
            case Record(state=state) if state in _ENDED:
                return replace(entry, status=_ENDED[state])
            case Record() as record if record.keeper.alive:
                return replace(entry, status=_kept(record))
            case _:
                return _unkept(entry)

    def _unclaimed(self, entry: Entry) -> Entry:
        """No keeper yet: after a while nobody may become one any more."""
        if time.monotonic() - entry.first_seen < self._claim_timeout or not entry.folder.abandon():
            return entry
        return replace(_reread(entry), status=WorkerStatus.GONE)


def _reread(entry: Entry) -> Entry:
    version = entry.folder.version()
    if version == entry.version:
        return entry
    if version is None:
        raise FileNotFoundError(entry.folder.path)  # forgotten meanwhile
    return replace(entry, record=entry.folder.record(), version=version)


def _kept(record: Record) -> WorkerStatus:
    return WorkerStatus.RUNNING if record.state == keeper.RUNNING else WorkerStatus.STARTING


def _unkept(entry: Entry) -> Entry:
    """The keeper is dead: read its last word, then look at the worker with our own eyes."""
    entry = _reread(entry)
    record = entry.record
    if record is None or record.state in _ENDED:
        return replace(entry, status=_ENDED[record.state]) if record else entry
    if record.state == keeper.RUNNING and _lives(entry, record):
        return replace(entry, status=WorkerStatus.RUNNING)
    entry.folder.give_up(record)
    return replace(_reread(entry), status=WorkerStatus.GONE)


def _lives(entry: Entry, record: Record) -> bool:
    """Whether the worker runs on; what an ended one left behind is killed and still counts."""
    return record.worker.alive or end_remains(record.worker, str(entry.folder.stop_file))
