"""The chance of keeping a place: Kaplan-Meier by hand and by force, intervals, calibration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.demand import StabilityLevel
from muster.domain.survival import Outlook
from muster.scheduler.core.stays import Lasted, Stay
from muster.scheduler.core.survival import (
    ENOUGH,
    Estimate,
    brier,
    calibration,
    chance_of,
    estimate,
    falling,
    interval,
)
from tests.scheduler.worlds import at

HOUR_S = 3600.0


def stay(seconds: float, lost: bool, told: float | None = None) -> Stay:
    """Make a stay that began at the worlds' now."""
    outlook = Outlook(at=at(0), risk=0.0, survive_1h=told)
    return Stay(StabilityLevel.LOW, outlook, at(0) + timedelta(seconds=seconds), lost)


def seen(*lost: float, lasted: Sequence[float] = ()) -> list[Lasted]:
    """Return what was lost after so long, and what was seen for so long and not lost."""
    return [*(Lasted(each, True) for each in lost), *(Lasted(each, False) for each in lasted)]


LEUKAEMIA = seen(
    6, 6, 6, 7, 10, 13, 16, 22, 23, lasted=(6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35)
)
"""Weeks in remission under 6-MP (Freireich et al. 1963): the example of the textbooks."""


@pytest.mark.parametrize(
    ("weeks", "chance", "error"),
    [
        (6, 0.857, 0.0764),
        (7, 0.807, 0.0869),
        (10, 0.753, 0.0963),
        (13, 0.690, 0.1068),
        (16, 0.627, 0.1141),
        (22, 0.538, 0.1282),
        (23, 0.448, 0.1346),
    ],
)
def test_the_textbook_example_comes_out(weeks: float, chance: float, error: float) -> None:
    found = estimate(LEUKAEMIA, weeks)
    assert found.chance == pytest.approx(chance, abs=5e-4)
    assert math.sqrt(found.variance) == pytest.approx(error, abs=5e-4)


def test_by_hand_with_who_is_seen_no_longer_in_the_instant_of_a_loss() -> None:
    # 5 there; one lost at 2 (4/5), one seen no longer at 2; 3 there; one lost at 4 (2/3)
    listed = seen(2, 4, lasted=(2, 5, 6))
    assert estimate(listed, 1).chance == 1
    assert estimate(listed, 2).chance == pytest.approx(4 / 5)
    assert estimate(listed, 4).chance == pytest.approx(8 / 15)
    assert estimate(listed, 9).chance == pytest.approx(8 / 15)


def test_what_is_known_at_an_instant_is_who_was_lost_by_then_and_who_lasted_so_long() -> None:
    listed = seen(10, 20, lasted=(5, 10, 20, 30))
    assert estimate(listed, 10)[2:] == (5, 4)
    assert estimate(listed, 20)[2:] == (4, 2)
    assert estimate([], 10) == Estimate(1.0, 0.0, 0, 0)


LISTED = st.lists(st.tuples(st.integers(0, 8), st.booleans()), max_size=12)


@given(LISTED, st.integers(0, 9))
def test_it_is_the_product_over_every_loss(listed: list[tuple[int, bool]], until: int) -> None:
    product = Fraction(1)
    for instant in range(until + 1):
        there = sum(time >= instant for time, _ in listed)
        lost = sum(time == instant and was for time, was in listed)
        product *= 1 - Fraction(lost, there) if there else 1
    found = estimate((Lasted(float(time), lost) for time, lost in listed), until)
    assert found.chance == pytest.approx(float(product))


@given(LISTED, st.integers(0, 9), st.randoms(use_true_random=False))
def test_the_order_in_which_stays_are_told_makes_no_difference(
    listed: list[tuple[int, bool]], until: int, dice: object
) -> None:
    one = [Lasted(float(time), lost) for time, lost in listed]
    assert estimate(one, until) == estimate(one[::-1], until) == estimate(sorted(one), until)


@given(LISTED)
def test_with_nobody_seen_too_short_it_is_the_plain_share(listed: list[tuple[int, bool]]) -> None:
    whole = [Lasted(float(time), lost) for time, lost in listed if lost or time > 4]
    if whole:
        share = sum(one.seconds > 4 for one in whole) / len(whole)
        assert estimate(whole, 4).chance == pytest.approx(share)


# --- intervals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lost", "all_of_them", "low", "high"),
    [(10, 50, 0.6696, 0.8876), (0, 30, 0.8865, 1.0), (30, 30, 0.0, 0.1135), (1, 2, 0.0945, 0.9055)],
)
def test_where_nobody_is_seen_too_short_the_interval_is_wilsons(
    lost: int, all_of_them: int, low: float, high: float
) -> None:
    found = estimate(seen(*[1.0] * lost, lasted=[9.0] * (all_of_them - lost)), 5)
    assert interval(found) == pytest.approx((low, high), abs=1e-4)


def test_of_nothing_nothing_is_known() -> None:
    assert interval(estimate([], 5)) == (0.0, 1.0)


@given(LISTED, st.integers(0, 9))
def test_the_interval_holds_the_chance_and_is_one(
    listed: list[tuple[int, bool]], until: int
) -> None:
    found = estimate((Lasted(float(time), lost) for time, lost in listed), until)
    low, high = interval(found)
    assert 0 <= low <= high <= 1
    assert low - 1e-9 <= found.chance <= high + 1e-9


def test_who_is_seen_too_short_makes_the_interval_wider() -> None:
    whole = interval(estimate(seen(*[1.0] * 10, lasted=[9.0] * 40), 5))
    part = interval(estimate(seen(*[1.0] * 10, lasted=[9.0] * 10 + [0.5] * 30), 5))
    assert part[1] - part[0] > whole[1] - whole[0]


# --- stays -------------------------------------------------------------------------------------


def test_of_too_few_nothing_is_concluded() -> None:
    short = [Lasted(60, lost=False)] * 500
    few = [Lasted(7200, lost=False)] * (ENOUGH - 1)
    assert chance_of([*few, *short], HOUR_S) is None
    found = chance_of([*few, *short, Lasted(60, lost=True)], HOUR_S)
    assert found is not None
    assert found.known == ENOUGH


def group(lost: int, lasted: int) -> list[Lasted]:
    """Return stays in places of about the same risk."""
    return [Lasted(60, True)] * lost + [Lasted(7200, False)] * lasted


def test_neighbours_the_wrong_way_round_are_judged_together() -> None:
    groups = [group(0, 40), group(20, 20), group(10, 30), group(30, 10)]
    found = [one.chance if one else None for one in falling(groups, HOUR_S)]
    assert found == [1.0, 0.625, 0.625, 0.25]
    assert [one.known for one in falling(groups, HOUR_S) if one] == [40, 80, 80, 40]


def test_a_group_of_which_too_little_is_known_has_no_chance_and_bends_no_other() -> None:
    groups = [group(30, 10), group(0, ENOUGH - 1), group(30, 10)]
    found = falling(groups, HOUR_S)
    assert found[1] is None
    assert found[0] == found[2]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=8))
def test_the_chance_never_rises_with_the_risk(counts: list[tuple[int, int]]) -> None:
    groups = [group(lost, lasted) for lost, lasted in counts]
    found = falling(groups, HOUR_S)
    told = [one.chance for one in found if one]
    assert told == sorted(told, reverse=True)
    enough = [lost + lasted >= ENOUGH for lost, lasted in counts]
    assert [one is not None for one in found] == enough


# --- calibration -------------------------------------------------------------------------------


def test_the_score_is_the_mean_square_where_everything_is_known() -> None:
    told = [(0.9, Lasted(9, False))] * 30 + [(0.9, Lasted(1, True))] * 10
    assert brier(told, 5) == pytest.approx((30 * 0.01 + 10 * 0.81) / 40)
    assert brier([(1.0, Lasted(9, False))] * 20 + [(0.0, Lasted(1, True))] * 20, 5) == 0
    assert brier(told[:29], 5) is None
    assert brier(told[:30], 5) == pytest.approx(0.01)


def test_who_ended_by_itself_is_stood_for_by_who_was_still_there() -> None:
    # of 80 half are seen no longer at 2; each loss at 3 and each that lasts then counts for two
    told = [(0.5, Lasted(2, False))] * 40
    told += [(0.5, Lasted(1, True))] * 10 + [(1.0, Lasted(3, True))] * 10
    told += [(1.0, Lasted(9, False))] * 30
    weight = 1 / (1 - 40 / 80)
    expected = (10 * 0.25 + 10 * weight * 1.0) / (10 + 40 * weight)
    assert brier(told, 5) == pytest.approx(expected)


def test_what_was_told_stands_beside_what_came() -> None:
    good = [stay(7200, False, told=0.96)] * 95 + [stay(60, True, told=0.96)] * 5
    bad = [stay(7200, False, told=0.6)] * 20 + [stay(60, True, told=0.6)] * 20
    silent = [stay(60, True)] * 100
    found = calibration([*good, *bad, *silent], lambda one: one.outlook.survive_1h, 1)
    assert found is not None
    rows = [(row.predicted, row.observed.chance, row.observed.known) for row in found.rows]
    assert rows == [(0.6, 0.5, 40), (0.96, 0.95, 100)]
    assert (found.hours, found.known) == (1, 140)
    assert found.error == pytest.approx((0.1 * 40 + 0.01 * 100) / 140, abs=1e-4)
    assert calibration(silent, lambda one: one.outlook.survive_1h, 1) is None
