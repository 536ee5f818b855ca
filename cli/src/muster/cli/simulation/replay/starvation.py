"""Whether anybody waited longer than the order of the queue promises.

A place in line is a constant of a queue entry, so who may come before it is a finite set: those
whose place is better, and those that were placed before it came. It is placed at the latest when
all of them are over. That instant, counted from the beginning of the entry, is its bound; it can be
told once the replay has ended.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any

from muster.scheduler.core.rank import Rank
from muster.testing.virtual_time import START


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
    better = _Latest([entry.place for entry in ranked], ranked, until)
    placed = sorted(ranked, key=lambda entry: entry.left or until)
    running = _Latest([entry.left or until for entry in placed], placed, until)
    found = []
    for entry in ranked:
        free_at = max(better.before(entry.place), running.before(entry.entered))
        bound = max(0.0, (free_at - entry.entered).total_seconds())
        waited = ((entry.left or until) - entry.entered).total_seconds()
        found.append(Judged(entry.job, waited, bound))
    return found


class _Latest:
    """When the last is over of all that come before a key."""

    def __init__(self, keys: Sequence[Any], entries: Sequence[Entry], until: datetime) -> None:
        self._keys = keys
        self._latest = list(accumulate((entry.over or until for entry in entries), max))

    def before(self, key: object) -> datetime:
        index = bisect_left(self._keys, key)
        return self._latest[index - 1] if index else START
