"""The log: append on condition, read the last fact, follow in order. The truth of Muster.

This module is the port; `jetstream` and `memory` are its adapters and `tests/contract/log_suite.py`
holds what each must do. Errors that leave an adapter: Conflict, Temporary (UnknownOutcome among
them), Permanent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from muster.contracts.alarms import Alarm
from muster.contracts.events import Event
from muster.contracts.subjects import Key
from muster.domain.errors import Temporary
from muster.domain.nodes import NodeState
from muster.domain.state import JobState


class UnknownOutcome(Temporary):
    """Nobody can say yet whether the write happened: read before anything is concluded."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event as it stands in the log.

    seq: its sequence. at: the server's time when it was stored. head: the last sequence of its key,
    which differs from seq only when something unreadable came after it; conditions name the head.
    """

    event: Event
    seq: int
    at: datetime
    head: int

    @property
    def job(self) -> JobState:
        """The job's state after the event; only for events about jobs."""
        state = self.event.data.job
        assert isinstance(state, JobState)
        return state

    @property
    def node(self) -> NodeState:
        """The node's state after the event; only for events about nodes."""
        state = self.event.data.node
        assert isinstance(state, NodeState)
        return state


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A message of the log that is no event for this version; followers skip it."""

    subject: str
    seq: int
    why: str


@dataclass(frozen=True, slots=True)
class Basis:
    """The fact that a write is based on: `seq` is still the last of `key` (0 = there is none)."""

    key: Key
    seq: int


@dataclass(frozen=True, slots=True)
class Append:
    """One event to write. basis None: only as a further event of a job in the same batch."""

    event: Event
    basis: Basis | None


class Follower(Protocol):
    """Reads the log in order, from a position on. Not for decisions on one job: use `last`."""

    @property
    def position(self) -> int:
        """The last sequence that was returned or is known to hold nothing for this follower."""
        ...

    async def next(self, wait: float = 0.0) -> Sequence[Recorded | Unreadable]:
        """Return what came since, at most some hundreds; wait `wait` seconds for the first."""
        ...

    async def close(self) -> None:
        """Give the server's resources back."""
        ...


class EventLog(Protocol):
    """The port."""

    async def last(self, key: Key, at_least: int = 0, *, leader: bool = False) -> Recorded | None:
        """Return the last event of a key, None if it has none.

        at_least: a sequence of this key known from a trigger; an older answer is repeated at the
        leader. leader: ask the leader at once (after a conflict, and for answers to people).
        """
        ...

    async def append(self, event: Event, based_on: Basis) -> Recorded:
        """Write one event. Raises Conflict when its basis is no longer the last fact.

        An unknown outcome is resolved by reading back; UnknownOutcome when that fails too.
        """
        ...

    async def append_all(
        self, appends: Sequence[Append], fence: Append | None = None
    ) -> Sequence[Recorded]:
        """Write all or nothing. fence: an event whose basis is an epoch, not its own subject.

        Raises Conflict (nothing written) or UnknownOutcome (take a new epoch, read, plan again).
        At most 1,000 messages, one batch in flight for one pool.
        """
        ...

    async def history(self, key: Key) -> Sequence[Recorded | Unreadable]:
        """Return every event of a key that the log still has, in order, as the leader knows it."""
        ...

    async def follow(self, filters: Sequence[str], after: int = 0) -> Follower:
        """Start to read in order everything that matches, from the sequence after `after`."""
        ...

    async def end(self) -> int:
        """Return the log's last sequence, as the leader knows it."""
        ...

    async def trim(self, key: Key, before: int) -> None:
        """Forget the events of a key below a sequence that is one of its own, so that it stays.

        Only for a job whose archive is complete up to there: what is forgotten is nowhere else.
        """
        ...

    async def timer(self, alarm: Alarm) -> None:
        """Set an alarm; it replaces the one of the same owner, kind and job."""
        ...

    async def now(self) -> datetime:
        """Return the server's time."""
        ...


def basis_of(recorded: Recorded, key: Key) -> Basis:
    """Name what was read as the basis of the next write."""
    return Basis(key, recorded.head)


def nothing(key: Key) -> Basis:
    """The basis of the first write of a key."""
    return Basis(key, 0)
