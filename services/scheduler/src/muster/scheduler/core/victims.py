"""Whose going makes room for a gang: proven useful, minimal, and from the bottom.

Of few candidates the best set is found (`minimal`). Of many they come cheapest first: who leaves
anyway, then the lowest level, then placements on paper before running jobs, then the least lost
work; as many as are needed, less those that are not, or one that is enough alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, IntEnum, auto
from typing import NamedTuple

from muster.scheduler.core.minimal import Piece, best_set, price_of
from muster.scheduler.core.placement import Placed, Shortfall
from muster.scheduler.core.rank import Level, lot, work_until
from muster.scheduler.core.snapshot import JobKey, Listed
from muster.scheduler.core.stayers import Stayer, nodes_of
from muster.scheduler.core.tally import Tally

Fits = Callable[[frozenset[JobKey], set[str]], Placed | Shortfall]
"""Place the gang as if these jobs were gone, who have something on these nodes."""

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


Cost = tuple[Level, Exit, float, str]
"""Level, way out, work that is lost, the lot."""


class Candidate(NamedTuple):
    """A job whose going would give room; `cost` orders candidates, cheapest first."""

    job: Listed
    exit: Exit
    level: Level
    cost: Cost
    key: JobKey
    nodes: tuple[str, ...]


def leaver(job: Listed) -> Candidate:
    """Return somebody who leaves anyway: that costs nothing."""
    cost = LOWEST, Exit.LEAVES_ANYWAY, 0.0, lot(job.state)
    return Candidate(job, Exit.LEAVES_ANYWAY, LOWEST, cost, job.key, nodes_of(job.state))


def candidates(stayers: Sequence[Stayer], now: datetime) -> list[Candidate]:
    """Return some as candidates, cheapest first.

    Made in the order in which a search goes through them, so that it goes through memory in order.
    """
    costs = [_cost(one, now) for one in stayers]
    order = sorted(range(len(costs)), key=costs.__getitem__)
    return [
        Candidate(one.job, cost[1], one.level, cost, one.key, one.nodes)
        for one, cost in ((stayers[index], costs[index]) for index in order)
    ]


def _cost(one: Stayer, now: datetime) -> Cost:
    how = Exit.EVICTED if one.runs else Exit.HOLD_TAKEN
    return one.level, how, work_until(now, one.since, one.weight), one.lot


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
    singles: int,
    lawful: Lawful | None = None,
    tries: int = TRIES,
    counted: Callable[[], Tally] | None = None,
) -> Way | None:
    """Return the cheapest way: of few candidates the best there is, else the best that is found.

    None if not even all of them are enough. A way of many candidates may be unlawful. counted: how
    to count instead of placing, where that will do; what is found is placed in the end.
    """
    order = sorted(candidates, key=lambda one: one.cost)
    victims = [one for one in order if one.exit is not Exit.LEAVES_ANYWAY]
    many = len(victims) > EXACT
    search = _Search(fits, counted if many else None)
    prefix = _shortest_prefix(order, search) if order else None
    if prefix is None:
        return None
    enough: Sequence[Candidate] = search.trimmed(prefix)
    if not many:
        enough = _best(order, enough, search, lawful, tries) or enough
    elif sum(one.exit is Exit.EVICTED for one in enough) > 1:
        enough = _single(order, enough, search, singles) or enough
    placement = search.fit(enough)
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
        if not search.is_enough([*leaving, *chosen]):
            return False
        return lawful is None or lawful(chosen)

    below = price_of([piece(one) for one in mine]) if lawful is None or lawful(mine) else None
    keys = best_set([piece(one) for one in victims], enough, below, tries)
    if keys is None:
        return None
    return search.trimmed([*leaving, *(one for one in victims if one.key in keys)])


def _shortest_prefix(order: Sequence[Candidate], search: _Search) -> Sequence[Candidate] | None:
    """Return as many of the first as are enough, None if not even all of them are.

    Who leaves anyway is tried together; then a few, as mostly a few will do, and ever more. Where
    there is a count, at least as many as it says.
    """
    step = 1
    low, high = 0, sum(one.exit is Exit.LEAVES_ANYWAY for one in order) or 1
    if search.counted is not None:
        least = _counted_prefix(order, search.counted())
        if least is None:
            return None
        low, high = least - 1, least
    enough = order[:high]
    while not search.is_enough(enough):
        if high >= len(order):
            return None
        low, high, step = high, min(high + step, len(order)), step * 2
        enough = order[:high]
    while low + 1 < high:
        middle = (low + high) // 2
        if search.is_enough(order[:middle]):
            high, enough = middle, order[:middle]
        else:
            low = middle
    return enough


def _counted_prefix(order: Sequence[Candidate], tally: Tally) -> int | None:
    """Return how many of the first there must be at least, None if not even all may be enough."""
    for count, one in enumerate(order, start=1):
        tally.take(one.key, one.nodes)
        if tally.enough:
            return count
    return None


class _Search:
    """The questions of one search. Lists that were asked about are never changed."""

    def __init__(self, fits: Fits, counted: Callable[[], Tally] | None = None) -> None:
        self.counted = counted
        self._fits = fits
        self._known: dict[frozenset[JobKey], Placed | Shortfall] = {}
        self._last: Sequence[Candidate] | None = None
        self._found: Placed | Shortfall | None = None

    def fit(self, gone: Sequence[Candidate]) -> Placed | Shortfall:
        """Place the gang as if these were gone. The same list is mostly asked about again."""
        if self._found is None or gone is not self._last:
            self._last, self._found = gone, self._placed(gone)
        return self._found

    def _placed(self, gone: Sequence[Candidate]) -> Placed | Shortfall:
        keys = frozenset([one.key for one in gone])
        if keys not in self._known:
            while len(self._known) >= PLACED:
                del self._known[next(iter(self._known))]
            self._known[keys] = self._fits(keys, {node for one in gone for node in one.nodes})
        return self._known[keys]

    def is_enough(self, gone: Sequence[Candidate]) -> bool:
        """Tell whether there is a place for the gang then."""
        return not isinstance(self.fit(gone), Shortfall)

    def touching(self, some: Sequence[Candidate], placement: Placed) -> list[Candidate]:
        """Return those that have something on a node of the placement."""
        used = set(placement)
        return [one for one in some if not used.isdisjoint(one.nodes)]

    def concerned(self, some: Sequence[Candidate], placement: Placed) -> Sequence[Candidate]:
        """Return those of whom the placement has something: room on its nodes, or in a share."""
        touching = self.touching(some, placement)
        if len(touching) == len(some):
            return some
        return touching if self.is_enough(touching) else some

    def trimmed(self, enough: Sequence[Candidate]) -> list[Candidate]:
        """Give back whom it does not need, the dearest first."""
        placement = self.fit(enough)
        assert not isinstance(placement, Shortfall)
        kept = self.touching(enough, placement)
        if not self.is_enough(kept):
            kept = list(enough)  # fewer nodes: roles may get in each other's way
        if self.counted is not None:
            return self._trimmed_by_count(kept, self.counted())
        return self._without_needless(kept)

    def _without_needless(self, kept: list[Candidate]) -> list[Candidate]:
        for one in reversed(kept.copy()):
            rest = [other for other in kept if other is not one]
            if self.is_enough(rest):
                kept = rest
        return kept

    def _trimmed_by_count(self, kept: list[Candidate], tally: Tally) -> list[Candidate]:
        """Place anew only where the count leaves it open whether somebody is needed."""
        for one in kept:
            tally.take(one.key, one.nodes)
        gone = dict.fromkeys(range(len(kept)))
        for number in reversed(range(len(kept))):
            one = kept[number]
            if tally.needs(one.key, one.nodes):
                continue
            del gone[number]
            if tally.exact or self.is_enough([kept[each] for each in gone]):
                tally.give(one.key, one.nodes)
            else:
                gone[number] = None
        if len(gone) == len(kept):
            return kept
        found = [kept[number] for number in sorted(gone)]
        if tally.exact and not self.is_enough(found):
            return self._without_needless(kept)
        return found


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
            tally.take(one.key, one.nodes)
    for one in victims[:singles]:
        if _may_do(one, tally) and search.is_enough([*leaving, one]):
            return search.trimmed([*leaving, one])
    return None


def _may_do(one: Candidate, tally: Tally | None) -> bool:
    """Tell whether one victim may be enough, as far as can be counted."""
    if tally is None:
        return True
    tally.take(one.key, one.nodes)
    found = tally.enough
    tally.give(one.key, one.nodes)
    return found
