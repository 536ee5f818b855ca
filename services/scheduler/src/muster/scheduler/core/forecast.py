"""How much the demand for one GPU model is likely to be in the next hours, and how sure that is.

By the hour of the day (of the week, once two weeks were watched): the demand now, moved as it
usually moves at this time, and beyond that as much as such forecasts were wrong lately. Where no
usual course is known the demand is taken to stay as it is. Pure; the history is all its memory.
"""

from __future__ import annotations

from datetime import datetime
from statistics import fmean

from muster.domain.pools import DemandHistory

HOUR_S = 3600
DAY, WEEK = 24, 168
MOST_AHEAD = 12
"""So many hours ahead errors are kept track of."""

LEAST_HOURS = 2 * DAY
"""With fewer whole hours watched nothing is foreseen: a day for the course, one for the errors."""

BY_WEEK = 2 * WEEK
"""From so many hours on an hour of the week counts by itself."""

_SEASON = 0.3
_ERROR = 0.02
"""Weights of what is new: about three weeks, and two days."""


def learned(history: DemandHistory | None, at: datetime, demand: float) -> DemandHistory:
    """Return the history with the demand of an instant taken in."""
    hour = int(at.timestamp()) // HOUR_S
    if history is None:
        return DemandHistory(hour=hour, peak=demand)
    if hour <= history.hour:
        return history.model_copy(update={"peak": max(history.peak, demand)})
    done = _closed(history) if history.whole else history
    follows = hour == history.hour + 1
    recent = done.recent if follows else ()
    return done.model_copy(
        update={"hour": hour, "peak": demand, "whole": follows, "recent": recent}
    )


def _closed(history: DemandHistory) -> DemandHistory:
    """Take in the hour that was going on."""
    slot, peak = history.hour % WEEK, history.peak
    before = history.week[slot]
    mean = peak if before is None else before + _SEASON * (peak - before)
    week = (*history.week[:slot], round(mean, 3), *history.week[slot + 1 :])
    return history.model_copy(
        update={
            "week": week,
            "recent": (*history.recent, peak)[-MOST_AHEAD:],
            "errors": tuple(_errors(history)),
            "hours": history.hours + 1,
        }
    )


def _errors(history: DemandHistory) -> list[float]:
    """Compare the hour with what would have been said of it 1, 2, ... hours before."""
    found, now = list(history.errors), usual(history, history.hour)
    weight = max(_ERROR, 1 / max(1, history.hours - DAY + 1))
    for ahead, peak in enumerate(reversed(history.recent)):
        then = usual(history, history.hour - ahead - 1)
        if now is None or then is None:
            break
        square = (history.peak - peak - (now - then)) ** 2
        before = found[ahead] if ahead < len(found) else square
        found[ahead : ahead + 1] = [round(before + weight * (square - before), 3)]
    return found


def usual(history: DemandHistory, hour: int) -> float | None:
    """Return the usual peak of an hour, by what is known: of the week, else of the day."""
    slot = hour % WEEK
    known = history.week[slot]
    if history.hours >= BY_WEEK and known is not None:
        return known
    days = [value for value in history.week[slot % DAY :: DAY] if value is not None]
    return fmean(days) if days else None


def foreseen(
    history: DemandHistory, at: datetime, demand: float, horizon_h: int, z: float
) -> float | None:
    """Return the most that the demand comes to within some hours; None if that cannot be said.

    z: so many standard deviations of the errors are added.
    """
    if history.hours < LEAST_HOURS or not history.errors:
        return None
    hour, rest = divmod(int(at.timestamp()), HOUR_S)
    now = _between(history, hour, rest / HOUR_S)
    worst = demand
    for ahead in range((rest + horizon_h * HOUR_S - 1) // HOUR_S + 1):
        then = usual(history, hour + ahead)
        level = demand if now is None or then is None else demand + then - now
        error = history.errors[min(max(ahead, 1), len(history.errors)) - 1] ** 0.5
        worst = max(worst, level + z * error)
    return worst


def _between(history: DemandHistory, hour: int, part: float) -> float | None:
    """Return what is usual in the midst of an hour: it goes from the last peak to the next one."""
    last, this = usual(history, hour - 1), usual(history, hour)
    return None if last is None or this is None else last * (1 - part) + this * part
