"""The log in memory: deterministic, on a given clock, and able to fail like a real one.

For simulation, dry runs and tests. Every operation passes two gates where `hooks` may suspend it,
fail it, or crash the caller; without hooks it never suspends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from muster.contracts.alarms import Alarm
from muster.contracts.conditions import require_condition
from muster.contracts.events import Event, UnreadableEvent, read_event
from muster.contracts.subjects import Key
from muster.domain.errors import Conflict, Permanent
from muster.log import Append, Basis, Follower, Recorded, UnknownOutcome, Unreadable

MAX_BATCH = 1000
PAGE = 256


class LogFault(StrEnum):
    """What a hook may order for one operation.

    late: nobody answers, and the write may arrive at the server some time later (`Store.land`).
    """

    NONE = "none"
    STALE = "stale"
    LOST = "lost"
    UNKNOWN_STORED = "unknown_stored"
    UNKNOWN_LOST = "unknown_lost"
    LATE = "late"


class Hooks(Protocol):
    """Where a simulation interferes."""

    async def before(self, operation: str) -> LogFault:
        """Called before an operation touches anything; may suspend or raise."""
        ...

    async def after(self, operation: str) -> None:
        """Called when the operation has happened but its caller does not know yet."""
        ...


class _Quiet:
    async def before(self, operation: str) -> LogFault:
        return LogFault.NONE

    async def after(self, operation: str) -> None:
        return None


@dataclass(slots=True)
class StoredEntry:
    """One stored message. event: None when it is none that this version understands (why says)."""

    subject: str
    seq: int
    at: datetime
    body: bytes
    event: Event | None
    why: str = ""


@dataclass(slots=True)
class Store:
    """The "server": what was stored and which alarms wait. Shared by every client of a world."""

    now: Callable[[], datetime]
    entries: list[StoredEntry] = field(default_factory=list)
    heads: dict[str, list[int]] = field(default_factory=dict)
    alarms: dict[str, Alarm] = field(default_factory=dict)
    under_way: list[Sequence[Append]] = field(default_factory=list)

    def land(self, number: int) -> bool:
        """Let a write that is still under way arrive; tell whether its conditions held then."""
        arrived = self.under_way.pop(number)
        if not all(self.holds(append.basis) for append in arrived if append.basis):
            return False
        for append in arrived:
            self.put(append.event.subject, append.event.to_bytes(), conditioned=True)
        return True

    def holds(self, basis: Basis) -> bool:
        """Tell whether what a write is based on is still the last fact."""
        return self.head(basis.key.condition) == basis.seq

    def put(self, subject: str, body: bytes, *, conditioned: bool = False) -> StoredEntry:
        """Store a message as a server would: bytes in, whatever they are.

        conditioned: it was written by the log, on a condition that held; others are foreign.
        """
        seq = len(self.entries) + 1
        try:
            event = read_event(subject, body)
            if not conditioned:
                require_condition(subject, {})
            entry = StoredEntry(subject, seq, self.now(), body, event)
        except UnreadableEvent as error:
            entry = StoredEntry(subject, seq, self.now(), body, None, str(error))
        self.entries.append(entry)
        for name in _names(subject):
            self.heads.setdefault(name, []).append(seq)
        return entry

    def sequences(self, condition: str) -> list[int]:
        """Return the sequences of everything that a condition filter matches, in order."""
        return self.heads.get(condition, [])

    def head(self, condition: str) -> int:
        """Return the last of them, 0 if there is none."""
        found = self.sequences(condition)
        return found[-1] if found else 0

    def forget(self, condition: str, before: int) -> None:
        """Drop what a condition filter matches below a sequence; all others keep their numbers."""
        for seq in [seq for seq in self.sequences(condition) if seq < before]:
            entry = self.entries[seq - 1]
            self.entries[seq - 1] = replace(entry, subject="", event=None, why="trimmed")
            for name in _names(entry.subject):
                self.heads[name].remove(seq)


def _names(subject: str) -> list[str]:
    tokens = subject.split(".")
    above = [".".join([*tokens[:depth], ">"]) for depth in range(1, len(tokens))]
    return [subject, *above]


class MemoryLog:
    """One client's view of a store."""

    def __init__(self, store: Store, hooks: Hooks | None = None) -> None:
        self._store = store
        self._hooks: Hooks = hooks or _Quiet()

    async def last(self, key: Key, at_least: int = 0, *, leader: bool = False) -> Recorded | None:
        """See the port. A stale read leaves the newest entries out, never below `at_least`."""
        fault = await self._hooks.before("last")
        sequences = self._store.sequences(key.condition)
        if fault is LogFault.STALE and not leader:
            older = sequences[:-1]
            if older and older[-1] >= at_least:
                sequences = older
        found = self._newest_readable(sequences)
        await self._hooks.after("last")
        return found

    def _newest_readable(self, sequences: Sequence[int]) -> Recorded | None:
        for seq in reversed(sequences):
            entry = self._store.entries[seq - 1]
            if entry.event is not None:
                return Recorded(entry.event, seq, entry.at, sequences[-1])
        return None

    async def append(self, event: Event, based_on: Basis) -> Recorded:
        """See the port."""
        fault = await self._hooks.before("append")
        if fault is LogFault.LOST:
            raise UnknownOutcome("the write did not reach the log")
        if fault is LogFault.LATE:
            self._store.under_way.append([Append(event, based_on)])
        if fault in {LogFault.UNKNOWN_LOST, LogFault.LATE}:
            return await self._resolve(event, based_on)
        self._check(based_on)
        entry = self._store.put(event.subject, event.to_bytes(), conditioned=True)
        await self._hooks.after("append")
        if fault is LogFault.UNKNOWN_STORED:
            return await self._resolve(event, based_on)
        assert entry.event is not None, entry.why
        return Recorded(entry.event, entry.seq, entry.at, entry.seq)

    async def _resolve(self, event: Event, based_on: Basis) -> Recorded:
        for recorded in await self.history(based_on.key):
            if isinstance(recorded, Recorded) and recorded.event.id == event.id:
                return recorded
        raise UnknownOutcome("the write timed out and has not appeared")

    def _check(self, basis: Basis) -> None:
        if not self._store.holds(basis):
            head = self._store.head(basis.key.condition)
            raise Conflict(f"{basis.key.condition} is at {head}, not at {basis.seq}")

    async def append_all(
        self, appends: Sequence[Append], fence: Append | None = None
    ) -> Sequence[Recorded]:
        """See the port."""
        everything = [*([fence] if fence else []), *appends]
        if len(everything) > MAX_BATCH:
            raise Permanent(f"a batch holds at most {MAX_BATCH} messages, not {len(everything)}")
        fault = await self._hooks.before("append_all")
        if fault is LogFault.LATE:
            self._store.under_way.append(everything)
        if fault in {LogFault.LOST, LogFault.UNKNOWN_LOST, LogFault.LATE}:
            raise UnknownOutcome("the batch timed out")
        for append in everything:
            if append.basis is not None:
                self._check(append.basis)
        entries = [
            self._store.put(a.event.subject, a.event.to_bytes(), conditioned=True)
            for a in everything
        ]
        await self._hooks.after("append_all")
        if fault is LogFault.UNKNOWN_STORED:
            raise UnknownOutcome("the batch timed out")
        written = entries[1:] if fence else entries
        return [Recorded(e.event, e.seq, e.at, e.seq) for e in written if e.event is not None]

    async def history(self, key: Key) -> Sequence[Recorded | Unreadable]:
        """See the port."""
        await self._hooks.before("history")
        return [self._as_read(seq) for seq in self._store.sequences(key.condition)]

    def _as_read(self, seq: int) -> Recorded | Unreadable:
        entry = self._store.entries[seq - 1]
        if entry.event is None:
            return Unreadable(entry.subject, seq, entry.why)
        return Recorded(entry.event, seq, entry.at, seq)

    async def follow(self, filters: Sequence[str], after: int = 0) -> Follower:
        """See the port."""
        return MemoryFollower(self, filters, after)

    async def end(self) -> int:
        """See the port."""
        await self._hooks.before("end")
        return len(self._store.entries)

    async def trim(self, key: Key, before: int) -> None:
        """See the port."""
        fault = await self._hooks.before("trim")
        if self._store.head(key.condition) < before:
            raise Permanent(f"{before} is beyond the last event of {key.condition}")
        if fault is not LogFault.LOST:
            self._store.forget(key.condition, before)
        await self._hooks.after("trim")

    async def timer(self, alarm: Alarm) -> None:
        """See the port."""
        fault = await self._hooks.before("timer")
        if fault is not LogFault.LOST:
            self._store.alarms[alarm.waits_on] = alarm
        await self._hooks.after("timer")

    async def now(self) -> datetime:
        """See the port."""
        return self._store.now()


class MemoryFollower:
    """See the port `Follower`."""

    def __init__(self, log: MemoryLog, filters: Sequence[str], after: int) -> None:
        self._log, self._filters, self._position = log, tuple(filters), after

    @property
    def position(self) -> int:
        """See the port."""
        return self._position

    async def next(self, wait: float = 0.0) -> Sequence[Recorded | Unreadable]:
        """See the port; never waits, since virtual time stands still while it runs."""
        fault = await self._log._hooks.before("follow")
        if fault is LogFault.STALE:
            return []
        store = self._log._store
        page = store.entries[self._position : self._position + PAGE]
        self._position += len(page)
        return [self._log._as_read(e.seq) for e in page if matches(e.subject, self._filters)]

    async def close(self) -> None:
        """Nothing is held."""


def matches(subject: str, filters: Sequence[str]) -> bool:
    """Tell whether a subject matches one of some filters (`*` = one token, `>` = the rest)."""
    tokens = subject.split(".")
    return any(_matches(tokens, pattern.split(".")) for pattern in filters)


def _matches(tokens: list[str], pattern: list[str]) -> bool:
    for index, part in enumerate(pattern):
        if part == ">":
            return len(tokens) > index
        if index >= len(tokens) or part not in {"*", tokens[index]}:
            return False
    return len(tokens) == len(pattern)
