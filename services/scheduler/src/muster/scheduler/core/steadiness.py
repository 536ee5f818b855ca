"""How far idle jobs of a level may go: the bound of its risk, from what was measured of stays.

The bound of a level is the largest risk at which measured stays last an hour as often as the level
promises. Where too little is known it stays where it is assumed to be right. It moves by one band
at a time and never leaves its limits, whatever is measured. docs/decisions/0080 says why.

`judge` is called by the leader now and then and makes a pool fact; rounds read that fact with
`bounds` and `outlook`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from muster.domain.demand import StabilityLevel
from muster.domain.pools import StabilityMeasured
from muster.domain.survival import BandSurvival, Calibration, Chance, LevelSurvival, Outlook
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.stability import BOUNDS
from muster.scheduler.core.stays import Lasted, Stay
from muster.scheduler.core.survival import calibration, chance_of, falling

Bounds = Mapping[StabilityLevel, float | None]

HOUR_S = 3600.0

EDGES = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0)
"""Upper ends of the bands of risk; above the last one is one more. Bounds are among them."""

LIMITS: Mapping[StabilityLevel, tuple[float, float]] = {
    StabilityLevel.MEDIUM: (0.05, 2.5),
    StabilityLevel.HIGH: (0.0, 0.75),
}
"""No bound is ever outside; what nobody else can use is open to everybody."""


def bounds(measured: StabilityMeasured | None) -> Bounds:
    """Return the bounds in force. None: nothing was measured yet."""
    found = dict(BOUNDS)
    for one in measured.levels if measured else ():
        if one.bound is not None and one.level in LIMITS:
            found[one.level] = _within(one.level, one.bound)
    return found


def _within(level: StabilityLevel, bound: float) -> float:
    least, most = LIMITS[level]
    return min(max(bound, least), most)


def outlook(
    measured: StabilityMeasured | None, level: StabilityLevel, risk: float, now: datetime
) -> Outlook:
    """Return what an idle job is told that is placed now: what places of this risk are worth for
    jobs of its level, else what the level is worth, else nothing."""
    hour = six = None
    if measured is not None:
        levels = [one for one in measured.levels if one.level is level]
        bands = [band for one in levels for band in one.bands if _is_in(band, risk)]
        known: list[BandSurvival | LevelSurvival] = [*bands, *levels]
        hour = next((one.survive_1h.chance for one in known if one.survive_1h), None)
        six = next((one.survive_6h.chance for one in known if one.survive_6h), None)
    if hour is not None and six is not None:
        six = min(hour, six)
    return Outlook(at=now, risk=round(risk, 4), survive_1h=hour, survive_6h=six)


def _is_in(band: BandSurvival, risk: float) -> bool:
    above = band.above is None or risk > band.above
    return above and (band.upto is None or risk <= band.upto)


def judge(
    stays: Iterable[Stay], policy: Policy, last: StabilityMeasured | None
) -> StabilityMeasured:
    """Return what stays tell, and the bounds that follow. last: what was told before."""
    listed = list(stays)
    levels: list[LevelSurvival] = []
    for level in StabilityLevel:  # from low to high: a higher one never goes further
        most = levels[-1].bound if levels else None
        levels.append(_level(level, listed, policy, last, most))
    return StabilityMeasured(
        levels=tuple(levels),
        bands=tuple(_bands(_by_risk(listed), ())),
        calibration=tuple(_calibrations(listed)),
    )


Groups = Sequence[Sequence[Lasted]]
"""How long stays lasted, by band of risk, the least first."""


def _by_risk(stays: Iterable[Stay]) -> Groups:
    groups: list[list[Lasted]] = [[] for _ in range(len(EDGES) + 1)]
    for stay in stays:
        groups[bisect_left(EDGES, stay.outlook.risk)].append(stay.lasted)
    return groups


def _bands(mine: Groups, others: Groups) -> Iterator[BandSurvival]:
    """Yield what the bands are worth where anybody was. others: who stands in where too few were.

    Those who wait for a place of little risk are placed at other times than those who take any: in
    places of the same risk they fare otherwise.
    """
    hours, sixes = (_stood_in(mine, others, s) for s in (HOUR_S, 6 * HOUR_S))
    ends = pairwise((None, *EDGES, None))
    for (above, upto), group, hour, six in zip(ends, mine, hours, sixes, strict=True):
        if group or hour or six:
            yield BandSurvival(
                above=above, upto=upto, stays=len(group), survive_1h=hour, survive_6h=six
            )


def _stood_in(mine: Groups, others: Groups, seconds: float) -> list[Chance | None]:
    if not others:
        return falling(mine, seconds)
    pairs = zip(mine, others, strict=True)
    return falling([one if chance_of(one, seconds) else other for one, other in pairs], seconds)


def _level(
    level: StabilityLevel,
    stays: Sequence[Stay],
    policy: Policy,
    last: StabilityMeasured | None,
    most: float | None,
) -> LevelSurvival:
    """Return what a level is worth. most: its bound is no higher."""
    mine = [stay for stay in stays if stay.level is level]
    bands = tuple(_bands(_by_risk(mine), _by_risk(stays)))
    lasted = [stay.lasted for stay in mine]
    target = policy.promised(level)
    aim = aim_of(level, target, bands) if policy.stability == "measured" else None
    bound = _step(level, bounds(last)[level], aim) if aim is not None else BOUNDS[level]
    return LevelSurvival(
        level=level,
        bound=bound if bound is None or most is None else min(bound, most),
        measured=aim is not None and any(band.survive_1h for band in bands),
        stays=len(mine),
        survive_1h=chance_of(lasted, HOUR_S),
        survive_6h=chance_of(lasted, 6 * HOUR_S),
        bands=bands,
    )


def aim_of(
    level: StabilityLevel, target: float | None, bands: Iterable[BandSurvival]
) -> float | None:
    """Return where the bound of a level should be; None where there is none.

    Bands that keep the promise are inside, bands that break it are outside; of those between, of
    which too little is known, nothing follows: there the assumed bound stands.
    """
    assumed = BOUNDS[level]
    if assumed is None or target is None:
        return assumed
    kept, broken = 0.0, math.inf
    for band in bands:
        if band.survive_1h is None:
            continue
        if band.survive_1h.chance >= target:
            kept = max(kept, math.inf if band.upto is None else band.upto)
        else:
            broken = min(broken, band.above or 0.0)
    return _within(level, min(max(assumed, kept), broken))


def _step(level: StabilityLevel, now: float | None, aim: float) -> float:
    """Return the next edge on the way from one bound to another."""
    start = BOUNDS[level] if now is None else now
    assert start is not None
    here, there = bisect_left(EDGES, start), bisect_left(EDGES, aim)
    return _within(level, EDGES[here + (there > here) - (there < here)])


def _calibrations(stays: Sequence[Stay]) -> Iterable[Calibration]:
    found = (
        calibration(stays, lambda stay: stay.outlook.survive_1h, 1),
        calibration(stays, lambda stay: stay.outlook.survive_6h, 6),
    )
    return (one for one in found if one is not None)
