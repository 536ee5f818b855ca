"""Whether anybody waited longer than the order of the queue promises.

A job's place in line is a constant of its queue entry, so who may stand before it is a finite set:
those whose place is better. It is placed at the latest when all of them have ended. That instant,
counted from its submission, is its bound; it can be told once the replay is over.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate

from muster.cli.simulation.replay.meters import Trail


@dataclass(frozen=True, slots=True)
class Starvation:
    """longest: who waited longest. bound_s: of that job. beyond: who waited beyond its own."""

    longest: Trail | None
    bound_s: float
    beyond: tuple[Trail, ...]


def starvation(trails: Iterable[Trail]) -> Starvation:
    """Judge jobs that were placed in their first queue entry, or are still in it."""
    ranked = sorted((t for t in trails if t.place is not None), key=lambda t: t.place or ())
    ends = list(
        accumulate(
            (t.ended or datetime.max.replace(tzinfo=t.submitted.tzinfo) for t in ranked), max
        )
    )
    places = [t.place or () for t in ranked]
    beyond, longest, bound_of_longest = [], None, 0.0
    for trail in ranked:
        index = bisect_left(places, trail.place or ())
        bound = max(0.0, (ends[index - 1] - trail.submitted).total_seconds()) if index else 0.0
        if longest is None or trail.longest_s > longest.longest_s:
            longest, bound_of_longest = trail, bound
        if trail.evictions == 0 and trail.longest_s > bound:
            beyond.append(trail)
    return Starvation(longest, bound_of_longest, tuple(beyond))
