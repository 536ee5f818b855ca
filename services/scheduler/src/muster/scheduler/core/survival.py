"""The chance of keeping a place, from stays: Kaplan-Meier, with Wilson's interval.

Pure statistics: it knows nothing of levels, bounds or pools. Called by `steadiness`.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from muster.domain.survival import Calibration, Chance, Foretold
from muster.scheduler.core.stays import Lasted, Stay

ENOUGH = 30
"""Of fewer stays whose fate is known nothing is concluded."""

Z = 1.959964
"""Of the normal distribution, for 95 %."""

DIGITS = 4
"""Chances are told so exactly."""

CHANCES = (0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
"""Upper ends of what counts as about the same prediction."""


class Estimate(NamedTuple):
    """Of lasting longer than a time. variance: Greenwood's. beyond: how many did for certain."""

    chance: float
    variance: float
    known: int
    beyond: int


class Curve(NamedTuple):
    """The chance of lasting longer than each instant at which something was lost.

    greenwood: the sum of which the variance is made, up to there.
    """

    times: list[float]
    chances: list[float]
    greenwood: list[float]


def curve(seen: Sequence[Lasted]) -> Curve:
    """Return the product-limit estimate (Kaplan and Meier). seen: the shortest first.

    Who is lost, or seen no longer, in an instant was there in it.
    """
    found = Curve([], [], [])
    chance, total = 1.0, 0.0
    losses = Counter(time for time, lost in seen if lost)
    for time in sorted(losses):
        there, lost = len(seen) - bisect_left(seen, (time, False)), losses[time]
        chance *= 1 - lost / there
        total += lost / (there * (there - lost)) if there > lost else 0.0
        for column, value in zip(found, (time, chance, total), strict=True):
            column.append(value)
    return found


def estimate(seen: Iterable[Lasted], seconds: float) -> Estimate:
    """Return the chance of lasting longer than some seconds."""
    listed = sorted(seen)
    times, chances, sums = curve(listed)
    index = bisect_right(times, seconds) - 1
    chance, greenwood = (chances[index], sums[index]) if index >= 0 else (1.0, 0.0)
    beyond = sum(_lasts(one, seconds) for one in listed)
    known = beyond + sum(lost and time <= seconds for time, lost in listed)
    return Estimate(chance, chance * chance * greenwood, known, beyond)


def _lasts(one: Lasted, seconds: float) -> bool:
    return one.seconds > seconds or (one.seconds == seconds and not one.lost)


def interval(found: Estimate) -> tuple[float, float]:
    """Return Wilson's 95 % interval, for as many simple trials as would be as uncertain.

    (Rothman 1978; unlike Greenwood's own it stays inside 0 and 1, and says something where nobody
    was lost, or everybody.)
    """
    p, trials = found.chance, float(found.beyond if found.chance == 1 else found.known)
    if 0 < p < 1 and found.variance > 0:
        trials = p * (1 - p) / found.variance
    if trials <= 0:
        return 0.0, 1.0
    square = Z * Z / trials
    middle = (p + square / 2) / (1 + square)
    half = Z * math.sqrt(p * (1 - p) / trials + square / (4 * trials)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)


def chance_of(seen: Iterable[Lasted], seconds: float, at_least: int = ENOUGH) -> Chance | None:
    """Return the chance of lasting so long; None if too little is known."""
    found = estimate(seen, seconds)
    if found.known < at_least:
        return None
    low, high = interval(found)
    return Chance(
        chance=round(found.chance, DIGITS),
        low=round(low, DIGITS),
        high=round(high, DIGITS),
        known=found.known,
    )


def falling(
    groups: Sequence[Sequence[Lasted]], seconds: float, at_least: int = ENOUGH
) -> list[Chance | None]:
    """Return the chance of each group, where none may have more than those before it.

    Groups of which too little is known have none. Neighbours that are the wrong way round are
    judged together (pool adjacent violators).
    """
    blocks: list[tuple[list[int], list[Lasted], Chance]] = []
    for index, group in enumerate(groups):
        found = chance_of(group, seconds, at_least)
        if found is None:
            continue
        block = ([index], list(group), found)
        while blocks and blocks[-1][2].chance < block[2].chance:
            numbers, seen, _ = blocks.pop()
            both = [*seen, *block[1]]
            together = chance_of(both, seconds, at_least)
            assert together is not None
            block = ([*numbers, *block[0]], both, together)
        blocks.append(block)
    chances: list[Chance | None] = [None] * len(groups)
    for numbers, _, found in blocks:
        for index in numbers:
            chances[index] = found
    return chances


# --- how true predictions were ----------------------------------------------------------------


def calibration(
    stays: Iterable[Stay], told: Callable[[Stay], float | None], hours: int
) -> Calibration | None:
    """Compare what was told of surviving some hours with what came; None: too little is known."""
    seconds = hours * 3600.0
    foretold = [(chance, stay.lasted) for stay in stays if (chance := told(stay)) is not None]
    score = brier(foretold, seconds)
    if score is None:
        return None
    groups: dict[int, list[tuple[float, Lasted]]] = {}
    for chance, seen in foretold:
        groups.setdefault(bisect_left(CHANCES, chance), []).append((chance, seen))
    rows = [row for _, group in sorted(groups.items()) if (row := _row(group, seconds))]
    known = sum(row.observed.known for row in rows)
    off = sum(abs(row.predicted - row.observed.chance) * row.observed.known for row in rows)
    return Calibration(
        hours=hours,
        known=known,
        brier=round(score, DIGITS),
        error=round(off / known, DIGITS),
        rows=tuple(rows),
    )


def _row(group: Sequence[tuple[float, Lasted]], seconds: float) -> Foretold | None:
    observed = chance_of((seen for _, seen in group), seconds, at_least=1)
    if observed is None:
        return None
    predicted = math.fsum(chance for chance, _ in group) / len(group)
    return Foretold(predicted=round(predicted, DIGITS), observed=observed)


def brier(
    told: Sequence[tuple[float, Lasted]], seconds: float, at_least: int = ENOUGH
) -> float | None:
    """Return the mean squared error of predictions; None if too few came to be known.

    Who ended by itself too early stands in nobody's place: those who did not weigh as much more as
    such ends are likely before theirs (Graf et al. 1999).
    """
    seen_until = curve(sorted(Lasted(one.seconds, not one.lost) for _, one in told))
    squares = weights = 0.0
    known = 0
    for chance, one in told:
        lasts = _lasts(one, seconds)
        if not lasts and not one.lost:
            continue
        known += 1
        earlier = bisect_left(seen_until.times, seconds if lasts else one.seconds) - 1
        weight = 1 / (seen_until.chances[earlier] if earlier >= 0 else 1.0)
        weights += weight
        squares += weight * (lasts - chance) ** 2
    return squares / weights if known >= at_least else None
