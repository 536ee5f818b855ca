"""What is due when, and whose alarm is not set: two heaps, so that a turn costs what it does.

Pure: the time comes in with every call, as Muster's instant and as monotonic seconds. An entry of a
heap that is no longer true stays there until it comes up. Called by `deadlines` alone.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from sys import intern

from muster.domain.state import DeadlineKind, JobState

LATE_S = 1.0
"""The index leaves the alarm this much time before it fires by itself."""
REFIRE_S = 2.0
"""What was fired and still stands, since its owner waits for more, is fired again after this."""
MAX_REFIRE_S = 30.0
"""Each time it waits twice as long, and no longer than this."""
REARM_S = 60.0
"""An alarm is set again when half of its time is over, but not sooner than this."""
DRIFT_S = 0.25
"""When the clock has moved against the monotonic one by this much, every moment is found anew."""
ROUNDING_S = 0.001
"""Instants have microseconds, monotonic seconds more."""
SHRINK = 4
"""A heap that is so many times as long as it need be is made anew."""


@dataclass(slots=True, eq=False)
class Kept:
    """One deadline. look: when it is looked at next, in monotonic seconds. tries: firings so far.

    wanted: its alarm is to be set. gone: the state does not want it any more.
    """

    tenant: str
    job: str
    kind: DeadlineKind
    version: int
    at: datetime
    look: float
    tries: int = 0
    wanted: bool = True
    gone: bool = False


Entry = tuple[float, int, Kept]
"""When, a number that nothing shares, and what."""


class DeadlineIndex:
    """See the module."""

    def __init__(self) -> None:
        self._jobs: dict[str, tuple[Kept, ...]] = {}
        self._due: list[Entry] = []
        self._missing: list[Entry] = []
        self._numbers = count()
        self._scale: float | None = None
        self._kept = 0

    def __len__(self) -> int:
        """Return how many deadlines are kept."""
        return self._kept

    # --- what the log says ----------------------------------------------------------------------

    def note(
        self,
        state: JobState,
        armed: Sequence[tuple[DeadlineKind, datetime]],
        now: datetime,
        ticks: float,
    ) -> None:
        """Keep exactly these deadlines of a job from now on."""
        before = self._jobs.pop(state.job, ())
        if not before and not armed:
            return
        kept = tuple(self._again(state, kind, at, before, now, ticks) for kind, at in armed)
        for old in before:
            old.gone = old not in kept
        self._kept += len(kept) - len(before)
        if kept:
            self._jobs[state.job] = kept

    def _again(
        self,
        state: JobState,
        kind: DeadlineKind,
        at: datetime,
        before: tuple[Kept, ...],
        now: datetime,
        ticks: float,
    ) -> Kept:
        """Keep what is known of a deadline that stays; what was fired in vain may succeed now."""
        for old in before:
            if old.kind is kind and old.at == at:
                old.version = state.version
                if old.tries:
                    old.tries = 0
                    self._look(old, ticks)
                return old
        due = ticks + (at - now).total_seconds()
        kept = Kept(intern(state.tenant), state.job, kind, state.version, at, 0.0)
        self._look(kept, due + LATE_S)
        heapq.heappush(self._missing, (due, next(self._numbers), kept))
        return kept

    # --- alarms ----------------------------------------------------------------------------------

    def is_set(self, job: str, kind: DeadlineKind, at: datetime) -> bool:
        """Tell whether the alarm of this very deadline was set, as far as the log was read."""
        kept = self._find(job, kind, at)
        return kept is not None and not kept.wanted

    def note_set(
        self, job: str, kind: DeadlineKind, at: datetime, now: datetime, ticks: float
    ) -> bool:
        """Note that its alarm is set; False if no such deadline is kept.

        It may be lost: look again halfway, and halfway from there. So an entry of 12 hours has it
        set 11 times, not 720.
        """
        kept = self._find(job, kind, at)
        if kept is None:
            return False
        kept.wanted = False
        left = (at - now).total_seconds()
        again = max(REARM_S, left / 2)
        if again < left:
            self._look(kept, ticks + again)
        return True

    def take_missing(self, now: datetime, ticks: float, limit: int) -> list[Kept]:
        """Return alarms to set, the nearest first. Each comes again while `note_set` does not."""
        found: list[Kept] = []
        while self._missing and len(found) < limit:
            kept = heapq.heappop(self._missing)[2]
            if not kept.gone and kept.wanted and kept.at > now:
                found.append(kept)
        for kept in found:
            due = ticks + (kept.at - now).total_seconds()
            heapq.heappush(self._missing, (due, next(self._numbers), kept))
        return found

    # --- what is over ----------------------------------------------------------------------------

    def take_due(self, now: datetime, ticks: float, limit: int) -> list[Kept]:
        """Return what is over and has not just been fired, in order of its time."""
        self._find_moments_anew(now, ticks)
        found: list[Kept] = []
        while self._due and self._due[0][0] <= ticks and len(found) < limit:
            look, _, kept = heapq.heappop(self._due)
            if kept.gone or look != kept.look:
                continue
            late = (now - kept.at).total_seconds()
            if late >= LATE_S - ROUNDING_S:
                self._look(kept, ticks + min(REFIRE_S * 2**kept.tries, MAX_REFIRE_S))
                kept.tries += 1
                found.append(kept)
            else:
                self._look(kept, ticks + LATE_S - late)
                if not kept.wanted:  # half of its time is over
                    kept.wanted = True
                    heapq.heappush(self._missing, (ticks - late, next(self._numbers), kept))
        return found

    def _find_moments_anew(self, now: datetime, ticks: float) -> None:
        scale = now.timestamp() - ticks
        if self._scale is not None and abs(scale - self._scale) < DRIFT_S:
            if len(self._due) <= SHRINK * (self._kept + 1000):
                return
        elif self._scale is not None:
            for kept in self._all():
                kept.look = min(kept.look, ticks + LATE_S + (kept.at - now).total_seconds())
        self._scale = scale
        self._due = [(kept.look, next(self._numbers), kept) for kept in self._all()]
        heapq.heapify(self._due)

    def _all(self) -> Iterator[Kept]:
        return (kept for kinds in self._jobs.values() for kept in kinds)

    def _find(self, job: str, kind: DeadlineKind, at: datetime) -> Kept | None:
        found = (k for k in self._jobs.get(job, ()) if k.kind is kind and k.at == at)
        return next(found, None)

    def _look(self, kept: Kept, ticks: float) -> None:
        kept.look = ticks
        heapq.heappush(self._due, (ticks, next(self._numbers), kept))
