"""What is foreseen of demand: by the hour of the day, and nothing from too little."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.pools import DemandHistory
from muster.scheduler.core.forecast import (
    BY_WEEK,
    LEAST_HOURS,
    MOST_AHEAD,
    foreseen,
    learned,
    usual,
)

MONDAY = datetime(2030, 1, 7, tzinfo=UTC)
Course = Callable[[float], float]


def watched(course: Course, hours: float, step_s: int = 1800) -> DemandHistory:
    """Watch a course, by hours since Monday."""
    history = learned(None, MONDAY, course(0))
    for second in range(step_s, int(hours * 3600) + 1, step_s):
        history = learned(history, MONDAY + timedelta(seconds=second), course(second / 3600))
    return history


def daily(hour: float) -> float:
    """Ask for 100 at noon and 0 at midnight, day by day."""
    return 50 - 50 * math.cos(hour % 24 / 24 * 2 * math.pi)


def ahead(history: DemandHistory, hour: float, demand: float, horizon: int, z: float = 0) -> float:
    found = foreseen(history, MONDAY + timedelta(hours=hour), demand, horizon, z)
    assert found is not None
    return found


@pytest.mark.parametrize("more", [0, 1])
def test_nothing_is_foreseen_before_two_days_were_watched_in_whole_hours(more: int) -> None:
    """The first hour was not watched from its beginning."""
    hours = LEAST_HOURS + more
    history = watched(daily, hours)
    assert history.hours == hours - 1
    found = foreseen(history, MONDAY + timedelta(hours=hours), 10, 4, 1)
    assert (found is not None) is bool(more)


def test_the_morning_rise_is_seen_before_it_comes() -> None:
    history = watched(daily, 96, 600)
    assert ahead(history, 102, daily(6), 1) == pytest.approx(daily(7), abs=3)
    assert ahead(history, 102, daily(6), 4) == pytest.approx(daily(10), abs=3)
    assert ahead(history, 102.5, daily(6.5), 4) == pytest.approx(daily(11), abs=3)


def test_while_demand_falls_no_more_is_foreseen_than_there_is() -> None:
    assert ahead(watched(daily, 96), 114, daily(18), 4) == daily(18)


def test_a_day_that_begins_higher_is_taken_to_go_on_higher() -> None:
    history = watched(daily, 96)
    assert ahead(history, 102, daily(6) + 30, 4) == pytest.approx(
        ahead(history, 102, daily(6), 4) + 30
    )


def test_what_was_foreseen_wrongly_makes_the_forecast_careful() -> None:
    rough = watched(lambda hour: daily(hour) + 20 * (int(hour) % 5), 96)
    smooth = watched(daily, 96)
    careful, sure = (ahead(one, 102, 50, 2, 2) - ahead(one, 102, 50, 2) for one in (rough, smooth))
    assert careful > 5 * sure
    assert rough.errors[0] > smooth.errors[0]


def test_steady_demand_is_foreseen_as_it_is() -> None:
    assert ahead(watched(lambda hour: 40, 49), 49, 40, 12, 3) == pytest.approx(40)


def test_hours_of_the_week_count_by_themselves_only_once_two_weeks_were_watched() -> None:
    def weekly(hour: float) -> float:
        return 80 if hour % 168 < 120 else 10

    slot = int(MONDAY.timestamp()) // 3600 + 12
    before, after = watched(weekly, BY_WEEK, 3600), watched(weekly, BY_WEEK + 1, 3600)
    assert before.hours == BY_WEEK - 1
    assert usual(before, slot) == pytest.approx(sum([80] * 5 + [10] * 2) / 7)
    assert usual(after, slot) == pytest.approx(80)
    assert usual(DemandHistory(hour=0, peak=0), slot) is None


def test_a_gap_teaches_nothing_and_breaks_the_row_of_hours() -> None:
    history = watched(daily, 30)
    later = learned(history, MONDAY + timedelta(hours=40), 5)
    assert (later.whole, later.recent) == (False, ())
    assert later.hours == history.hours + 1
    assert learned(later, MONDAY + timedelta(hours=41), 7).hours == later.hours


def test_a_clock_that_goes_back_changes_no_hour() -> None:
    history = watched(daily, 30)
    back = learned(history, MONDAY + timedelta(hours=2), 7)
    assert back == history.model_copy(update={"peak": max(history.peak, 7)})


@given(
    levels=st.lists(st.floats(0, 1e5), min_size=60, max_size=120),
    horizon=st.integers(1, 11),
    z=st.floats(0, 4),
)
def test_it_never_foresees_less_than_there_is_nor_less_for_longer(
    levels: list[float], horizon: int, z: float
) -> None:
    history = watched(lambda hour: levels[int(hour) % len(levels)], len(levels), 3600)
    now = levels[-1]
    shorter, longer = (ahead(history, len(levels), now, h, z) for h in (horizon, horizon + 1))
    assert now <= shorter <= longer
    assert ahead(history, len(levels), now, horizon, z + 1) >= shorter
    assert len(history.errors) == len(history.recent) == MOST_AHEAD
    assert all(error >= 0 for error in history.errors)
