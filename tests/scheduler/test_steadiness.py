"""How far idle jobs of a level may go: what stays say, within limits, one band at a time."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.domain.demand import StabilityLevel
from muster.domain.facts import Scheduled
from muster.domain.pools import StabilityMeasured
from muster.domain.survival import BandSurvival, Chance, LevelSurvival, Outlook
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.stability import BOUNDS
from muster.scheduler.core.stays import REMEMBERED, WINDOW, Stay, Stays
from muster.scheduler.core.steadiness import EDGES, LIMITS, aim_of, bounds, judge, outlook
from muster.scheduler.core.survival import ENOUGH
from tests.scheduler.worlds import at, decide, decisions, node, placements, queued, running

LOW, MEDIUM, HIGH = StabilityLevel


def stays(
    risk: float, lost: int, lasted: int, level: StabilityLevel = LOW, when: float = 0
) -> list[Stay]:
    """Return stays that began at an instant: of a minute if lost, of a day if not."""
    told = Outlook(at=at(when), risk=risk)
    gone = Stay(level, told, told.at + timedelta(minutes=1), True)
    return [gone] * lost + [Stay(level, told, told.at + timedelta(days=1))] * lasted


def bound_after(
    listed: list[Stay], times: int = 1, level: StabilityLevel = MEDIUM, policy: Policy | None = None
) -> float | None:
    """Return the bound of a level after so many judgements."""
    told: StabilityMeasured | None = None
    for _ in range(times):
        told = judge(listed, policy or Policy(), told)
    return bounds(told)[level]


def test_before_anything_is_measured_bounds_are_what_is_assumed() -> None:
    assert bounds(None) == BOUNDS
    found = judge([], Policy(), None)
    assert bounds(found) == BOUNDS
    assert [one.measured for one in found.levels] == [False, False, False]
    assert {bound for bound in BOUNDS.values() if bound is not None} <= set(EDGES)


def test_one_stay_too_few_moves_nothing() -> None:
    assert bound_after(stays(0.6, 0, ENOUGH - 1), 9) == 0.5
    assert bound_after(stays(0.6, 0, ENOUGH), 9) == 0.75


def test_where_the_promise_is_kept_is_open_and_where_it_is_broken_is_not() -> None:
    kept, broken = stays(0.9, 20, 80), stays(1.2, 21, 79)
    assert bound_after([*kept, *broken], 9) == 1.0
    assert bound_after([*kept, *broken], 9, HIGH) == 0.1
    strict = replace(Policy(), medium_survives=0.81)
    assert bound_after([*kept, *broken], 9, MEDIUM, strict) == 0.5


def test_what_breaks_the_promise_below_the_assumed_bound_closes_it() -> None:
    assert bound_after(stays(0.3, 50, 50), 9) == 0.2
    assert bound_after(stays(0.07, 50, 50), 9, HIGH) == 0.05


def test_a_bound_moves_by_one_band_and_stays_inside_its_limits() -> None:
    far = stays(9.0, 0, 99)
    moves = [bound_after(far, times) for times in range(1, 8)]
    assert moves == [0.75, 1.0, 1.5, 2.5, 2.5, 2.5, 2.5]
    nothing_lasts = stays(0.0, 99, 0)
    assert bound_after(nothing_lasts, 99) == LIMITS[MEDIUM][0]
    assert bound_after(nothing_lasts, 99, HIGH) == LIMITS[HIGH][0] == 0.0
    assert bound_after(far, 99, LOW) is None


def test_a_bound_comes_back_when_what_moved_it_is_forgotten() -> None:
    told = None
    for _ in range(3):
        told = judge(stays(9.0, 0, 99), Policy(), told)
    assert bounds(told)[MEDIUM] == 1.5
    back = []
    for _ in range(4):
        told = judge([], Policy(), told)
        back.append(bounds(told)[MEDIUM])
    assert back == [1.0, 0.75, 0.5, 0.5]


def test_an_operator_may_want_the_assumed_bounds() -> None:
    fixed = Policy(stability="fixed")
    told = judge(stays(9.0, 0, 99), Policy(), None)
    found = judge(stays(9.0, 0, 99), fixed, told)
    assert bounds(found) == BOUNDS
    assert not any(one.measured for one in found.levels)
    assert found.levels[0].survive_1h == told.levels[0].survive_1h is not None


def test_what_a_damaged_fact_says_is_kept_inside_the_limits() -> None:
    levels = (
        LevelSurvival(level=LOW, bound=0.1),
        LevelSurvival(level=MEDIUM, bound=99.0),
        LevelSurvival(level=HIGH),
    )
    assert bounds(StabilityMeasured(levels=levels)) == {LOW: None, MEDIUM: 2.5, HIGH: 0.1}


COUNTS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.03, 0.1, 0.3, 0.5, 0.9, 2.0, 4.0, 50.0]),
        st.integers(0, 50),
        st.integers(0, 50),
        st.sampled_from(StabilityLevel),
    ),
    max_size=8,
)


@settings(deadline=None)
@given(st.lists(COUNTS, min_size=1, max_size=4))
def test_whatever_is_measured_bounds_are_edges_in_limits_and_in_order(
    histories: list[list[tuple[float, int, int, StabilityLevel]]],
) -> None:
    told: StabilityMeasured | None = None
    for counts in histories:
        listed = [one for count in counts for one in stays(*count)]
        before, last = bounds(told), told
        told = judge(listed, Policy(), last)
        assert told == judge(listed[::-1], Policy(), last)
        after = bounds(told)
        high, medium = after[HIGH], after[MEDIUM]
        assert high is not None
        assert medium is not None
        assert high <= medium
        for level, bound in ((HIGH, high), (MEDIUM, medium)):
            was = before[level]
            assert was is not None
            assert LIMITS[level][0] <= bound <= LIMITS[level][1]
            assert abs(EDGES.index(bound) - EDGES.index(was)) <= 1
        chances = [band.survive_1h.chance for band in told.bands if band.survive_1h]
        assert all(one >= two for one, two in pairwise(chances))


def test_where_enough_of_a_levels_own_jobs_were_they_speak_for_it() -> None:
    others, mine = stays(0.9, 10, 90), stays(0.9, ENOUGH - 1, 0, MEDIUM)
    few = judge([*others, *mine], Policy(), None)
    assert outlook(few, MEDIUM, 0.9, at(0)).survive_1h == pytest.approx(90 / 129, abs=1e-4)
    one_more = [*others, *mine, *stays(0.9, 1, 0, MEDIUM)]
    told = judge(one_more, Policy(), None)
    assert outlook(told, MEDIUM, 0.9, at(0)).survive_1h == 0.0
    assert outlook(told, LOW, 0.9, at(0)).survive_1h == 0.9
    assert outlook(told, HIGH, 0.9, at(0)).survive_1h == pytest.approx(90 / 130, abs=1e-4)


def test_a_higher_level_never_goes_further_though_its_own_jobs_fare_better() -> None:
    listed = [*stays(0.07, 50, 50, MEDIUM), *stays(0.07, 0, 99, HIGH), *stays(0.7, 0, 99, HIGH)]
    assert bound_after(listed, 9) == 0.05
    assert bound_after(listed, 9, HIGH) == 0.05


def band(above: float | None, upto: float | None, chance: float) -> BandSurvival:
    """Return a band that was measured."""
    found = Chance(chance=chance, low=0, high=1, known=99)
    return BandSurvival(above=above, upto=upto, stays=99, survive_1h=found)


@pytest.mark.parametrize(
    ("bands", "aim"),
    [
        ([], 0.5),
        ([band(None, 0.0, 1.0)], 0.5),
        ([band(0.2, 0.35, 0.8)], 0.5),
        ([band(0.2, 0.35, 0.79)], 0.2),
        ([band(0.05, 0.1, 0.9), band(0.35, 0.5, 0.7)], 0.35),
        ([band(0.05, 0.1, 0.9), band(1.0, 1.5, 0.7)], 0.5),
        ([band(0.75, 1.0, 0.9), band(1.5, 2.5, 0.7)], 1.0),
        ([band(None, 0.0, 0.1)], 0.05),
        ([band(5.0, None, 0.9)], 2.5),
    ],
)
def test_between_what_keeps_the_promise_and_what_breaks_it_the_assumed_bound_stands(
    bands: list[BandSurvival], aim: float
) -> None:
    assert aim_of(MEDIUM, 0.8, bands) == aim


# --- which stays count -------------------------------------------------------------------------


def test_placements_of_too_long_ago_count_no_more() -> None:
    known, now = Stays(), at(0) + WINDOW
    for when in (-1.0, 0.0):
        known.add(stays(0.0, 1, 0, when=when)[0])
    assert [one.outlook.at for one in known.at(now, ())] == [at(0)]


def test_where_stays_were_forgotten_only_placements_after_them_count() -> None:
    known = Stays()
    first = [replace(one, ended=at(i + 1)) for i, one in enumerate(stays(0.0, 2, 0))]
    rest = stays(0.0, REMEMBERED - 1, 0, when=5)
    goes_on = Stay(LOW, Outlook(at=at(0), risk=0.0), at(99))
    for one in (first[0], *rest):
        known.add(one)
    assert len(known.at(at(1000), [goes_on])) == REMEMBERED - 1
    known = Stays()
    for one in (*first[:1], *rest[1:]):
        known.add(one)
    assert len(known.at(at(1000), [goes_on])) == REMEMBERED


# --- what jobs are told and where they go ---------------------------------------------------------


def test_a_job_is_told_what_such_places_are_worth_else_its_level_else_nothing() -> None:
    listed = [*stays(0.3, 10, 90), *stays(9.0, 60, 40, HIGH), *stays(2.0, 3, 3, HIGH)]
    told = judge(listed, Policy(), None)
    assert outlook(told, MEDIUM, 0.21, at(0)).survive_1h == 0.9
    assert outlook(told, MEDIUM, 0.35, at(0)).survive_1h == 0.9
    assert outlook(told, HIGH, 6.0, at(0)).survive_1h == 0.4
    assert outlook(told, HIGH, 2.0, at(0)).survive_1h == pytest.approx(43 / 106, abs=1e-4)
    assert outlook(told, MEDIUM, 2.0, at(0)) == Outlook(at=at(0), risk=2.0)
    assert outlook(None, HIGH, 0.123456, at(7)) == Outlook(at=at(7), risk=0.1235)


def test_a_measured_bound_opens_and_closes_nodes_to_a_level() -> None:
    nodes = [node("n1"), node("n2"), node("n3"), node("n4")]
    usual = [running("u", ["n4"], gpus=8, guarantee=True)]  # three free ones: 10 / 3 each
    job = queued("i", gpus=8, kind="idle", stability_level=MEDIUM)
    assert "i" not in placements(decide(nodes, [*usual, job]))
    wide = StabilityMeasured(levels=(LevelSurvival(level=MEDIUM, bound=2.5),))
    many = [node(f"n{i}") for i in range(6)]
    held = [running("u", ["n5"], gpus=8, guarantee=True)]  # five free ones: 2 each
    assert "i" not in placements(decide(many, [*held, job]))
    assert "i" in placements(decide(many, [*held, job], stability=wide))
    assert "i" not in placements(decide(nodes, [*usual, job], stability=wide))


def test_only_idle_jobs_are_told_of_a_chance() -> None:
    nodes = [node("n1"), node("n2", gpus=5)]
    jobs = [
        queued("i", gpus=4, kind="idle"),
        queued("o", gpus=8),
        queued("s", gpus=1, kind="spot"),
    ]
    found = decisions(decide(nodes, jobs))
    told = {job: fact.outlook for job, fact in found.items() if isinstance(fact, Scheduled)}
    # half of what the pool runs wants one card, and only one node has some left: 10 / 2
    assert told == {"i": Outlook(at=at(0), risk=5.0), "o": None, "s": None}
