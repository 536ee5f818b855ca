"""Stays of idle jobs on their nodes, from the placement to the end, as the log tells of them.

Learned by the fold, kept in its checkpoint, read by `survival`. A stay is lost when the job has to
leave for a reason that is neither its own nor its owner's; one that ends in any other way lasted at
least so long.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from muster.domain.causes import PREEMPTIONS, EvictionCause
from muster.domain.demand import StabilityLevel
from muster.domain.facts import Fact, Unscheduled, Withdrawal
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.domain.survival import Outlook

REMEMBERED = 2000
"""So many stays of a level are remembered, those that ended last."""

WINDOW = timedelta(days=7)
"""Placements of longer ago count no more."""

LOSSES = PREEMPTIONS | {
    EvictionCause.NODE_DRAIN,
    EvictionCause.NODE_LOST,
    EvictionCause.START_FAILED,
}
"""Causes for which neither the job nor its owner can do anything."""

TAKEN_BACK = frozenset({Withdrawal.HOLD_TAKEN, Withdrawal.NODE_GONE, Withdrawal.STOCK_GONE})
"""The same of a placement on paper."""

_STAYING = frozenset({Phase.STARTING, Phase.RUNNING, Phase.FAULTED})


class Lasted(NamedTuple):
    """How long something was seen, and whether it was lost then."""

    seconds: float
    lost: bool


@dataclass(frozen=True, slots=True)
class Stay:
    """One stay. lost: the job had to leave; otherwise nothing is known but that it lasted."""

    level: StabilityLevel
    outlook: Outlook
    ended: datetime
    lost: bool = False

    @property
    def lasted(self) -> Lasted:
        """Return how long it was, and whether it was lost."""
        return Lasted(max(0.0, (self.ended - self.outlook.at).total_seconds()), self.lost)


def level_of(state: JobState) -> StabilityLevel:
    """Return the level of an idle job: without one it may go anywhere."""
    return state.demand.stability_level or StabilityLevel.LOW


def _stays(state: JobState) -> Outlook | None:
    """Return the outlook of a job that is where it was placed and was not told to leave."""
    return state.outlook if state.phase in _STAYING and state.eviction is None else None


def stay_of(state: JobState, now: datetime) -> Stay | None:
    """Return a stay that goes on, as far as it has come; None if the job has none."""
    outlook = _stays(state)
    return Stay(level_of(state), outlook, now) if outlook else None


def ended(before: JobState, after: JobState, fact: Fact, at: datetime) -> Stay | None:
    """Return the stay that a fact has ended, None if it has ended none."""
    outlook = _stays(before)
    if outlook is None or _stays(after) is not None:
        return None
    return Stay(level_of(before), outlook, at, _is_loss(after, fact))


def _is_loss(after: JobState, fact: Fact) -> bool:
    if isinstance(fact, Unscheduled):
        return fact.cause in TAKEN_BACK
    return after.eviction is not None and after.eviction.cause in LOSSES


def _empty() -> dict[StabilityLevel, deque[Stay]]:
    return {level: deque(maxlen=REMEMBERED) for level in StabilityLevel}


@dataclass(slots=True)
class Stays:
    """The stays of a pool that are over, by level, in the order in which they ended."""

    by_level: dict[StabilityLevel, deque[Stay]] = field(default_factory=_empty)

    def add(self, stay: Stay) -> None:
        """Note that a stay is over."""
        self.by_level[stay.level].append(stay)

    def __iter__(self) -> Iterator[Stay]:
        """Yield all of them."""
        for known in self.by_level.values():
            yield from known

    def at(self, now: datetime, going: Iterable[Stay]) -> list[Stay]:
        """Return those that count at an instant, with those that go on.

        Of each level all that began after an instant, and none before: who began earlier and is
        still there would say nothing of those who began with it and are forgotten.
        """
        since = dict.fromkeys(StabilityLevel, now - WINDOW)
        for level, known in self.by_level.items():
            if len(known) == known.maxlen:
                since[level] = max(since[level], known[0].ended)
        every = [*self, *going]
        return [one for one in every if since[one.level] <= one.outlook.at <= now]
