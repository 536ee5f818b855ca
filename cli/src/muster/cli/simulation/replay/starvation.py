"""Whether anybody waited longer than the order of the queue promises.

A place in line is a constant of a queue entry, so who may stand before it is a finite set: those
whose place is better. A job that fits into what these leave behind is placed at the latest when all
of them are over. That instant, counted from the beginning of the entry, is its bound; it can be
told once the replay has ended.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate

from muster.scheduler.core.rank import Rank


@dataclass(slots=True)
class Entry:
    """One queueing of a job. left: when it was placed or gave up; over: when it held nothing any
    more after that. None = not yet."""

    job: str
    place: Rank
    entered: datetime
    left: datetime | None = None
    over: datetime | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """A queueing that is over. bound_s: what its place promised."""

    job: str
    waited_s: float
    bound_s: float

    @property
    def beyond(self) -> bool:
        """Whether it waited longer than promised."""
        return self.waited_s > self.bound_s


def judged(entries: Iterable[Entry], until: datetime) -> list[Judged]:
    """Return every queueing with its bound, the best place first. until: the replay's end."""
    ranked = sorted(entries, key=lambda entry: entry.place)
    places = [entry.place for entry in ranked]
    latest = list(accumulate((entry.over or until for entry in ranked), max))
    found = []
    for entry in ranked:
        before = bisect_left(places, entry.place)
        bound = (latest[before - 1] - entry.entered).total_seconds() if before else 0.0
        waited = ((entry.left or until) - entry.entered).total_seconds()
        found.append(Judged(entry.job, waited, max(0.0, bound)))
    return found
