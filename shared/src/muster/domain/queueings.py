"""What was tried for a job: each of its queueings, read from its history.

Pure. For people who must decide about a parked job: how long each queueing waited, what came of it,
and why it did not fit. Called by whoever shows a job.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.model import Frozen, Instant
from muster.domain.phases import PARKED, TERMINAL, Phase
from muster.domain.reasons import Reason
from muster.domain.state import JobState


class Queueing(Frozen):
    """One entry of the queue, and the stay on nodes that it led to.

    waited_s: until the placement that led to a start, or until it ended or `now`. bounced: how
    often a placement was taken back before. ran_s: None when it never ran. end: the event that
    ended it, None while it goes on. cause, by: of its eviction. why: what was said last of why it
    did not fit.
    """

    entry: int
    entered_at: Instant
    waited_s: float
    bounced: int = 0
    ran_s: float | None = None
    end: str | None = None
    cause: EvictionCause | None = None
    by: str | None = None
    why: Reason | None = None


class _Open:
    """The entry that is being read."""

    def __init__(self, state: JobState, at: datetime) -> None:
        self.entry, self.entered = state.queue_entry, at
        self.placed: datetime | None = None
        self.started: datetime | None = None
        self.left: datetime | None = None
        self.bounced = 0
        self.told: dict[str, object] = {}

    def take(self, fact: f.Fact, at: datetime, state: JobState) -> None:
        """Read one event that belongs to the entry."""
        match fact:
            case f.Scheduled():
                self.placed = at
            case f.Started():
                self.started = at
            case f.Preempted():
                self._leave(fact.event, at, cause=fact.cause, by=fact.by)
            case f.ReplacementOrdered() | f.StartFailed():
                cause = state.eviction.cause if state.eviction else None
                self._leave(fact.event, at, cause=cause)
            case f.QueueTimedOut() if fact.why is not None:
                self.told["why"] = fact.why
        if state.phase is Phase.QUEUED and not isinstance(fact, f.Respecified | f.Prioritised):
            self._back(state)
        if state.phase in TERMINAL | PARKED:
            self.left = self.left or at
            self.told.setdefault("end", fact.event)

    def _leave(self, event: str, at: datetime, **more: object) -> None:
        self.left = self.left or at
        self.told |= {"end": event, **more}

    def _back(self, state: JobState) -> None:
        """The placement came to nothing; the same queueing goes on."""
        if self.placed is None:
            return
        self.placed = self.started = self.left = None
        self.bounced += 1
        self.told = {"why": state.reason} if state.reason else {}

    def done(self, now: datetime) -> Queueing:
        """Return what is known of it at an instant."""
        until = self.left or now
        return Queueing.model_validate(
            {
                "entry": self.entry,
                "entered_at": self.entered,
                "waited_s": ((self.placed or until) - self.entered).total_seconds(),
                "bounced": self.bounced,
                "ran_s": (until - self.started).total_seconds() if self.started else None,
                **self.told,
            }
        )


def queueings(
    history: Iterable[tuple[f.Fact, datetime, JobState]], now: datetime
) -> tuple[Queueing, ...]:
    """Return every queueing of a history: what happened, when, and the state after it."""
    found: list[Queueing] = []
    open_: _Open | None = None
    for fact, at, state in history:
        if open_ is None or state.queue_entry != open_.entry:
            if open_ is not None:
                found.append(open_.done(at))
            open_ = _Open(state, at) if state.queue_entry else None
            continue
        open_.take(fact, at, state)
    return (*found, open_.done(now)) if open_ else tuple(found)
