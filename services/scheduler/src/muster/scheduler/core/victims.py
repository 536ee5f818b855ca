"""Whose going makes room for a gang: proven useful, minimal, and from the bottom.

Of few candidates the best set is found (`minimal`). Of many they come cheapest first: who leaves
anyway, then the lowest level, then placements on paper before running jobs, then the least lost
work; as many as are needed, less those that are not, or one that is enough alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, IntEnum, auto
from functools import lru_cache

from muster.scheduler.core.minimal import Piece, best_set, price_of
from muster.scheduler.core.placement import Placed, Shortfall
from muster.scheduler.core.rank import Level, level, lost_work, lot
from muster.scheduler.core.snapshot import JobKey, Listed, is_hold
from muster.scheduler.core.tally import Tally

Fits = Callable[[frozenset[JobKey]], Placed | Shortfall]
"""Place the gang as if these jobs were gone."""

NodesOf = Callable[[JobKey], Sequence[str]]
"""The nodes on which a candidate has something."""

LOWEST: Level = (-1, -1)


class Search(Enum):
    """How a search for victims ended. CUT: there is a way, and too many events for this round.

    LIMITED: there is one, and too many have left for others of late. BEGUN: it is too long for one
    batch; as many as possible were told to leave, and the room is kept.
    """

    PLACED = auto()
    NO_WAY = auto()
    CUT = auto()
    LIMITED = auto()
    BEGUN = auto()


class Exit(IntEnum):
    """How a candidate makes room, cheapest first."""

    LEAVES_ANYWAY = 0
    HOLD_TAKEN = 1
    EVICTED = 2


@dataclass(frozen=True, slots=True)
class Candidate:
    """A job whose going would give room; `cost` orders candidates, cheapest first."""

    job: Listed
    exit: Exit
    level: Level
    cost: tuple[Level, Exit, float, str]
    key: JobKey


def candidate(job: Listed, now: datetime, *, leaving: bool) -> Candidate:
    """Say what the going of a job costs."""
    state = job.state
    if leaving:
        how, height, work = Exit.LEAVES_ANYWAY, LOWEST, 0.0
    else:
        how = Exit.HOLD_TAKEN if is_hold(state) else Exit.EVICTED
        height, work = level(state), lost_work(state, now)
    return Candidate(job, how, height, (height, how, work, lot(state)), job.key)


@dataclass(frozen=True, slots=True)
class Way:
    """A placement, and the candidates that it needs gone."""

    placement: Placed
    candidates: tuple[Candidate, ...]

    @property
    def has_victims(self) -> bool:
        """Tell whether somebody would have to go who would otherwise stay."""
        return any(one.exit is not Exit.LEAVES_ANYWAY for one in self.candidates)


Lawful = Callable[[Sequence[Candidate]], bool]
"""Whether these may leave together."""

EXACT = 12
"""Up to so many candidates the best set of all is found."""
TRIES = 4096
"""So many sets are tried for it at most: every set of so many candidates."""

PLACED = 8
"""So many of the last placements are remembered: a set that is enough is asked about repeatedly."""


def find_way(
    candidates: Sequence[Candidate],
    fits: Fits,
    nodes_of: NodesOf,
    singles: int,
    lawful: Lawful | None = None,
    tries: int = TRIES,
    counted: Callable[[], Tally] | None = None,
) -> Way | None:
    """Return the cheapest way: of few candidates the best there is, else the best that is found.

    None if not even all of them are enough. A way of many candidates may be unlawful. counted: how
    to count instead of placing, where that will do; what is found is placed in the end.
    """
    fits = lru_cache(maxsize=PLACED)(fits)
    order = sorted(candidates, key=lambda one: one.cost)
    victims = [one for one in order if one.exit is not Exit.LEAVES_ANYWAY]
    many = len(victims) > EXACT
    search = _Search(fits, nodes_of, counted if many else None)
    needed = _shortest_prefix(order, search) if order else None
    if needed is None:
        return None
    enough: Sequence[Candidate] = search.trimmed(order[:needed])
    if not many:
        enough = _best(order, enough, search, lawful, tries) or enough
    elif sum(one.exit is Exit.EVICTED for one in enough) > 1:
        enough = _single(order, enough, search, singles) or enough
    placement = fits(_keys(enough))
    if isinstance(placement, Shortfall):
        return None
    return Way(placement, tuple(search.concerned(enough, placement)))


def piece(one: Candidate) -> Piece:
    """Return a candidate as a piece of a set."""
    tier, priority = one.level
    return Piece(one.key, one.exit is Exit.EVICTED, tier, priority, one.cost[2], one.cost[3])


def _best(
    order: Sequence[Candidate],
    known: Sequence[Candidate],
    search: _Search,
    lawful: Lawful | None,
    tries: int,
) -> Sequence[Candidate] | None:
    """Return a better set than the one known, if there is one. Who leaves anyway costs nothing."""
    leaving = [one for one in order if one.exit is Exit.LEAVES_ANYWAY]
    victims = [one for one in order if one.exit is not Exit.LEAVES_ANYWAY]
    mine = [one for one in known if one.exit is not Exit.LEAVES_ANYWAY]

    def enough(keys: frozenset[JobKey]) -> bool:
        chosen = [one for one in victims if one.key in keys]
        if isinstance(search.fits(_keys([*leaving, *chosen])), Shortfall):
            return False
        return lawful is None or lawful(chosen)

    below = price_of([piece(one) for one in mine]) if lawful is None or lawful(mine) else None
    keys = best_set([piece(one) for one in victims], enough, below, tries)
    if keys is None:
        return None
    return search.trimmed([*leaving, *(one for one in victims if one.key in keys)])


def _keys(candidates: Sequence[Candidate]) -> frozenset[JobKey]:
    return frozenset(one.key for one in candidates)


def _shortest_prefix(order: Sequence[Candidate], search: _Search) -> int | None:
    """Return how many of the first are enough, None if not even all of them are.

    Who leaves anyway is tried together; then a few, as mostly a few will do, and ever more. Where
    there is a count, at least as many as it says.
    """
    fits, step = search.fits, 1
    low, high = 0, sum(one.exit is Exit.LEAVES_ANYWAY for one in order) or 1
    if search.counted is not None:
        least = _counted_prefix(order, search.counted())
        if least is None:
            return None
        low, high = least - 1, least
    while isinstance(fits(_keys(order[:high])), Shortfall):
        if high >= len(order):
            return None
        low, high, step = high, min(high + step, len(order)), step * 2
    while low + 1 < high:
        middle = (low + high) // 2
        if isinstance(fits(_keys(order[:middle])), Shortfall):
            low = middle
        else:
            high = middle
    return high


def _counted_prefix(order: Sequence[Candidate], tally: Tally) -> int | None:
    """Return how many of the first there must be at least, None if not even all may be enough."""
    for count, one in enumerate(order, start=1):
        tally.take(one.key)
        if tally.enough:
            return count
    return None


@dataclass(frozen=True, slots=True)
class _Search:
    fits: Fits
    nodes_of: NodesOf
    counted: Callable[[], Tally] | None = None

    def touching(self, some: Sequence[Candidate], placement: Placed) -> list[Candidate]:
        """Return those that have something on a node of the placement."""
        used = set(placement)
        return [one for one in some if not used.isdisjoint(self.nodes_of(one.key))]

    def concerned(self, some: Sequence[Candidate], placement: Placed) -> Sequence[Candidate]:
        """Return those of whom the placement has something: room on its nodes, or in a share."""
        touching = self.touching(some, placement)
        return some if isinstance(self.fits(_keys(touching)), Shortfall) else touching

    def trimmed(self, enough: Sequence[Candidate]) -> list[Candidate]:
        """Give back whom it does not need, the dearest first."""
        placement = self.fits(_keys(enough))
        assert not isinstance(placement, Shortfall)
        kept = self.touching(enough, placement)
        if isinstance(self.fits(_keys(kept)), Shortfall):
            kept = list(enough)  # fewer nodes: roles may get in each other's way
        if self.counted is not None:
            return self._trimmed_by_count(kept, self.counted())
        return self._without_needless(kept)

    def _without_needless(self, kept: list[Candidate]) -> list[Candidate]:
        for one in reversed(kept.copy()):
            rest = [other for other in kept if other is not one]
            if not isinstance(self.fits(_keys(rest)), Shortfall):
                kept = rest
        return kept

    def _trimmed_by_count(self, kept: list[Candidate], tally: Tally) -> list[Candidate]:
        """Place anew only where the count leaves it open whether somebody is needed."""
        gone = {one.key: one for one in kept}
        for key in gone:
            tally.take(key)
        for one in reversed(kept):
            if tally.needs(one.key):
                continue
            del gone[one.key]
            if tally.exact or self._fit_without(gone):
                tally.give(one.key)
            else:
                gone[one.key] = one
        found = [one for one in kept if one.key in gone]
        if tally.exact and not self._fit_without(gone):
            return self._without_needless(kept)
        return found

    def _fit_without(self, gone: Collection[JobKey]) -> bool:
        return not isinstance(self.fits(frozenset(gone)), Shortfall)


def _single(
    order: Sequence[Candidate], instead: Sequence[Candidate], search: _Search, singles: int
) -> list[Candidate] | None:
    """Look for one victim in place of several, no higher than the highest of them."""
    ceiling = max(one.level for one in instead)
    leaving = [one for one in order if one.exit is Exit.LEAVES_ANYWAY]
    victims = [one for one in order if one.exit is Exit.EVICTED and one.level <= ceiling]
    tally = search.counted() if search.counted is not None else None
    if tally is not None:
        for one in leaving:
            tally.take(one.key)
    for one in victims[:singles]:
        if _may_do(one, tally) and not isinstance(search.fits(_keys([*leaving, one])), Shortfall):
            return search.trimmed([*leaving, one])
    return None


def _may_do(one: Candidate, tally: Tally | None) -> bool:
    """Tell whether one victim may be enough, as far as can be counted."""
    if tally is None:
        return True
    tally.take(one.key)
    found = tally.enough
    tally.give(one.key)
    return found
