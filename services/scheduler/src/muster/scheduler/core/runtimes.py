"""How long jobs of a kind have run: what a guess about the others rests on.

Jobs that succeed teach, and jobs that their own run limit ends: they would have run at least so
long. Failures and evictions teach nothing, as they come at any time.

Learned by the fold from the log, kept in its checkpoint, read by reservations and estimates. No
proof of anything: a limit on the run time is one. Whole numbers only, so that the same log always
teaches the same.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from muster.domain.state import JobState

MAX_KINDS = 1000
"""So many kinds are known in a pool; of more the ones that were not heard of for longest go."""

ENOUGH = 5
"""Of fewer runs nothing is concluded."""

FADING = 256
"""When a kind has so many runs, each counts half from then on: the old ones fade."""


def _bounds() -> tuple[int, ...]:
    found, bound = [1], 1
    while bound < 60 * 86_400:
        bound = bound + max(1, bound // 5)
        found.append(bound)
    return tuple(found)


BOUNDS = _bounds()
"""Upper ends of the buckets in seconds, each about a fifth above the one before."""


class Kind(NamedTuple):
    """Jobs that are expected to run alike. user, stem: empty = of anybody, of any name."""

    tenant: str
    user: str
    stem: str
    shape: str


def kinds_of(state: JobState) -> tuple[Kind, Kind]:
    """Return the kinds that a job belongs to, the narrowest first."""
    shape = "+".join(
        f"{role.replicas}x{role.gpus or role.gpu_milli / 1000:g}" for role in state.demand.roles
    )
    stem = state.name.rstrip("0123456789").rstrip("-_.")
    return Kind(state.tenant, state.user, stem, shape), Kind(state.tenant, "", "", shape)


@dataclass(frozen=True, slots=True)
class Histogram:
    """counts: bucket -> runs, as pairs in order."""

    counts: tuple[tuple[int, int], ...] = ()

    @property
    def total(self) -> int:
        """Return how many runs it knows."""
        return sum(count for _, count in self.counts)

    def learned(self, seconds: float) -> Histogram:
        """Return it with one run more."""
        bucket = min(bisect_left(BOUNDS, seconds), len(BOUNDS) - 1)
        counts = dict(self.counts)
        if self.total >= FADING:
            counts = {b: count // 2 for b, count in counts.items() if count > 1}
        counts[bucket] = counts.get(bucket, 0) + 1
        return Histogram(tuple(sorted(counts.items())))

    def quantile(self, percent: int, beyond: float = 0) -> int | None:
        """Return the run time that so many of a hundred do not exceed.

        beyond: only of runs longer than this, as one is that has gone on for so long. None: too
        little is known.
        """
        if self.total < ENOUGH:
            return None
        longer = [(bucket, count) for bucket, count in self.counts if BOUNDS[bucket] > beyond]
        sums = list(accumulate(count for _, count in longer))
        if not sums:
            return None
        return BOUNDS[longer[bisect_left(sums, -(-sums[-1] * percent // 100))][0]]


@dataclass(frozen=True, slots=True)
class Runtimes:
    """What a pool has taught. The kind heard of last comes last."""

    kinds: Mapping[Kind, Histogram] = field(default_factory=dict)

    def learned(self, state: JobState, seconds: float) -> Runtimes:
        """Return it with one run more."""
        kinds = dict(self.kinds)
        for kind in kinds_of(state):
            kinds[kind] = kinds.pop(kind, Histogram()).learned(seconds)
        while len(kinds) > MAX_KINDS:
            del kinds[next(iter(kinds))]
        return Runtimes(kinds)

    def expected(self, state: JobState, percent: int, gone: float = 0) -> int | None:
        """Return after how many seconds of running a job has ended, by so many of a hundred.

        gone: the seconds that it has run. None: nothing like it is known, or all of it was shorter.
        """
        if not self.kinds:
            return None
        for kind in kinds_of(state):
            known = self.kinds.get(kind)
            found = known.quantile(percent, gone) if known else None
            if found is not None:
                return found
        return None

    def packed(self) -> Iterator[tuple[Kind, tuple[tuple[int, int], ...]]]:
        """Yield what makes the same again."""
        return ((kind, known.counts) for kind, known in self.kinds.items())


UNTAUGHT = Runtimes()
