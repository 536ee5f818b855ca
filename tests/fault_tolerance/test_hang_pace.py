"""How long a silence may last: floors, caps and the user's window, on both sides of each."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from muster.domain.demand import HangLimits
from muster.fault_tolerance.core import hang_pace
from muster.fault_tolerance.core.hang_pace import STEP_TIMES, Learned, Pace
from muster.fault_tolerance.hanging.settings import HangSettings

PACE = Pace()


def limits(window_s: int = 300) -> HangLimits:
    return HangLimits(window_s=window_s, restart=True)


def steps(seconds: float) -> Learned:
    return Learned(steps=(seconds,) * 10)


@pytest.mark.parametrize(
    ("window_s", "step_s", "expected"),
    [
        pytest.param(300, 1, 300, id="the floor"),
        pytest.param(300, 60, 300, id="five steps are the floor"),
        pytest.param(300, 61, 305, id="five steps are above it"),
        pytest.param(300, 719, 3595, id="five steps below the cap"),
        pytest.param(300, 721, 3600, id="the cap"),
        pytest.param(1800, 60, 1800, id="the user's window"),
        pytest.param(1800, 361, 1805, id="five steps above the user's window"),
        pytest.param(86400, 900, 86400, id="the user's window above the cap"),
    ],
)
def test_the_window(window_s: int, step_s: float, expected: float) -> None:
    assert hang_pace.window(limits(window_s), steps(step_s), PACE) == expected


def test_without_step_times_the_window_is_the_floor_or_the_users() -> None:
    assert hang_pace.window(limits(300), Learned(), PACE) == 300
    assert hang_pace.window(limits(301), Learned(), PACE) == 301


@pytest.mark.parametrize(("window_s", "expected"), [(300, 1800), (1800, 1800), (1801, 1801)])
def test_the_first_step(window_s: int, expected: float) -> None:
    assert hang_pace.first_step(limits(window_s), Learned(), PACE) == expected


@pytest.mark.parametrize(
    ("name", "longest", "expected"),
    [
        ("checkpoint", None, 1800),
        ("evaluation", None, 3600),
        ("loading", None, 7200),
        ("compile", None, 7200),
        ("something else", None, 1800),
        ("checkpoint", 10, 300),
        ("checkpoint", 100, 300),
        ("checkpoint", 101, 303),
        ("evaluation", 5000, 15000),
    ],
)
def test_a_declared_phase(name: str, longest: float | None, expected: float) -> None:
    learned = Learned(longest={} if longest is None else {name: longest})
    assert hang_pace.phase(name, limits(), learned, PACE) == expected


def test_a_contradicted_silence_waits_for_the_cap_or_the_users_window() -> None:
    assert hang_pace.contradicted(limits(300), Learned(), PACE) == 3600
    assert hang_pace.contradicted(limits(3601), Learned(), PACE) == 3601


def test_the_99th_percentile_leaves_the_slowest_of_a_hundred_out() -> None:
    assert Learned(steps=(1.0,) * 99 + (50.0,)).p99 == 1.0
    assert Learned(steps=(1.0,) * 98 + (50.0,) * 2).p99 == 50.0
    assert Learned(steps=(7.0,)).p99 == 7.0
    assert Learned().p99 is None


def test_only_the_newest_step_times_are_remembered() -> None:
    learned = Learned()
    for number in range(STEP_TIMES + 5):
        learned = learned.step(float(number))
    assert len(learned.steps) == STEP_TIMES
    assert learned.steps[0] == 5.0


def test_every_time_is_a_setting() -> None:
    assert HangSettings().pace == Pace()
    settings = HangSettings(hang_floor_s=60, hang_cap_s=120, hang_factor=2, hang_scale=0.5)
    assert settings.pace == Pace(floor_s=60, cap_s=120, factor=2, scale=0.5)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"hang_floor_s": 3601}, "hang_floor_s may not be above hang_cap_s"),
        ({"hang_idle_cores": 0.9}, "hang_idle_cores may not be above hang_busy_cores"),
        ({"hang_gpu_idle": 0.96}, "hang_gpu_idle may not be above hang_gpu_full"),
        ({"hang_gap_s": 29}, "twice hang_poll_s"),
        ({"hang_scale": 1.1}, "hang_scale"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        HangSettings(**wrong)


@pytest.mark.parametrize(
    ("given", "poll", "gap"),
    [
        ({}, 15.0, 150.0),
        ({"hang_scale": 0.5}, 7.5, 75.0),
        ({"hang_scale": 0.1}, 1.5, 15.0),
        ({"hang_scale": 0.01}, 1.0, 3.0),
        ({"hang_scale": 0.001, "hang_poll_s": 0.5}, 0.5, 1.5),
    ],
)
def test_the_scale_alone_shortens_looks_and_gaps_together(
    given: dict[str, Any], poll: float, gap: float
) -> None:
    settings = HangSettings(**given)
    assert settings.poll_s == pytest.approx(poll)
    assert settings.pace.longest_gap_s == pytest.approx(gap)


def test_settings_at_their_limits_are_taken() -> None:
    HangSettings(hang_floor_s=3600, hang_idle_cores=0.8, hang_gpu_idle=0.95, hang_gap_s=30)
