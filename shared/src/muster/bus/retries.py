"""When a message comes again after its handler failed, and when it does not.

Pure but for a bounded memory of failures. The server's count of deliveries is not used: it counts
the deliveries that ended because a database was away, and those must never be held against it.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from muster.domain.errors import Conflict, Permanent, Temporary

REMEMBERED = 10_000
SHORTEST_S = 0.05


@dataclass(frozen=True, slots=True)
class Retries:
    """tries: deliveries that an unknown exception gets. backoff: seconds before each further one.

    A replica counts what it saw itself, so of two replicas each may try so often.
    """

    tries: int = 5
    backoff: tuple[float, ...] = (1.0, 5.0, 30.0, 120.0)
    conflicts: tuple[float, ...] = (0.1, 0.2, 0.5, 1.0, 2.0)
    jitter: float = 0.2
    chance: Callable[[], float] = field(default=random.random)

    def spread(self, seconds: float) -> float:
        """Move a delay a little, so that what failed together does not come again together."""
        return max(SHORTEST_S, seconds * (1 + self.jitter * (2 * self.chance() - 1)))


class Failures:
    """What to do about an exception, given how often this message failed before."""

    def __init__(self, retries: Retries) -> None:
        self._retries = retries
        self._unknown: OrderedDict[int, int] = OrderedDict()
        self._conflicts: OrderedDict[int, int] = OrderedDict()

    def delay(self, seq: int, error: Exception) -> float | None:
        """Return the seconds until the next try of the message; None: park it."""
        match error:
            case Permanent():
                return None
            case Temporary(delay=delay):
                return self._retries.spread(delay)
            case Conflict():
                times = _count(self._conflicts, seq)
                return self._retries.spread(_nth(self._retries.conflicts, times))
        times = _count(self._unknown, seq)
        if times >= self._retries.tries:
            return None
        return self._retries.spread(_nth(self._retries.backoff, times))

    def forget(self, seq: int) -> None:
        """The message is done with."""
        if self._unknown:
            self._unknown.pop(seq, None)
        if self._conflicts:
            self._conflicts.pop(seq, None)


def _count(counts: OrderedDict[int, int], seq: int) -> int:
    counts[seq] = counts.pop(seq, 0) + 1
    if len(counts) > REMEMBERED:
        counts.popitem(last=False)
    return counts[seq]


def _nth(delays: tuple[float, ...], times: int) -> float:
    return delays[min(times, len(delays)) - 1]
