"""How long idle jobs keep their places, as people read it, in both languages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from muster.cli import texts
from muster.cli.views.fragments import fragments_document
from muster.cli.views.job import facts
from muster.cli.views.plan import answer_lines
from muster.cli.views.stability import outlook_text, stability_view
from muster.contracts.queries import QueryAnswer
from muster.domain.demand import StabilityLevel
from muster.domain.pools import FragmentsMeasured, StabilityMeasured
from muster.domain.survival import (
    BandSurvival,
    Calibration,
    Chance,
    Foretold,
    LevelSurvival,
    Outlook,
)
from muster.domain.waiting import Fit, FitOutcome
from tests.cli.test_views import STORY, rendered

AT = datetime(2030, 1, 1, tzinfo=UTC)
LOW, MEDIUM, HIGH = StabilityLevel
TOLD = Outlook(at=AT, risk=0.25, survive_1h=0.9312, survive_6h=0.5)


def chance(value: float) -> Chance:
    return Chance(chance=value, low=value - 0.05, high=value + 0.02, known=64)


MEASURED = StabilityMeasured(
    levels=(
        LevelSurvival(level=LOW, stays=120, survive_1h=chance(0.8), survive_6h=chance(0.55)),
        LevelSurvival(level=MEDIUM, bound=0.75, measured=True, stays=64, survive_1h=chance(0.9)),
        LevelSurvival(level=HIGH, bound=0.1, stays=3),
    ),
    bands=(
        BandSurvival(upto=0.0, stays=70, survive_1h=chance(0.95)),
        BandSurvival(above=0.2, upto=0.35, stays=90, survive_1h=chance(0.9)),
        BandSurvival(above=5.0, stays=27),
    ),
    calibration=(
        Calibration(
            hours=1,
            known=64,
            brier=0.0831,
            error=0.024,
            rows=(Foretold(predicted=0.924, observed=chance(0.9)),),
        ),
    ),
)


def seen(found: StabilityMeasured | None, calibration: bool = False) -> list[str]:
    """Return the lines, with single spaces."""
    lines = rendered(*stability_view("p", found, calibration), width=150).splitlines()
    return [" ".join(line.split()) for line in lines]


@pytest.fixture
def chinese() -> Iterator[None]:
    texts.use("zh")
    yield
    texts.use("en")


def test_each_level_has_its_measured_chance_or_says_that_there_is_none() -> None:
    lines = seen(MEASURED)
    assert lines[0].startswith("pool p: how likely idle jobs keep their places")
    assert lines[1] == "STABILITY RISK KEEPS PLACE 1 H KEEPS PLACE 6 H STAYS"
    assert lines[2:5] == [
        "low any 80.0 % (75.0 %-82.0 %) 55.0 % (50.0 %-57.0 %) 120",
        "medium up to 0.75 90.0 % (85.0 %-92.0 %) too few to say 64",
        "high up to 0.1 (assumed) too few to say too few to say 3",
    ]
    assert not any("Brier" in line for line in lines)


def test_where_nothing_is_measured_it_says_so() -> None:
    assert seen(None) == ["pool p: no idle job was placed yet, so nothing is measured"]
    found = StabilityMeasured(levels=(LevelSurvival(level=LOW),))
    assert seen(found, calibration=True)[-1].startswith("too few predictions have come true")


def test_the_calibration_is_by_risk_and_by_what_was_told() -> None:
    lines = seen(MEASURED, calibration=True)
    assert "0 95.0 % (90.0 %-97.0 %) too few to say 70" in lines
    assert "above 0.2, up to 0.35 90.0 % (85.0 %-92.0 %) too few to say 90" in lines
    assert "above 5 too few to say too few to say 27" in lines
    assert any("mean error 2.4 %, Brier score 0.083, for 1 h, 64 stays" in line for line in lines)
    assert lines[-1] == "1 92.4 % 90.0 % (85.0 %-92.0 %) 64"


@pytest.mark.usefixtures("chinese")
def test_all_of_it_is_there_in_chinese() -> None:
    lines = seen(MEASURED, calibration=True)
    assert lines[0].startswith("资源池 p：闲时任务保留位置的概率")
    assert "高 不超过 0.1（假定） 样本不足 样本不足 3" in lines
    assert any("平均误差 2.4 %，Brier 分数 0.083" in line for line in lines)
    assert outlook_text(TOLD) == "保留 1 小时的概率 93.1 %，6 小时 50.0 %（风险 0.25）"


def test_programs_get_everything() -> None:
    free = FragmentsMeasured(free_milli=0, fragmented_milli=0)
    found = fragments_document("p", free, MEASURED)["stability"]
    assert StabilityMeasured.model_validate(found) == MEASURED
    assert fragments_document("p", free)["stability"] is None


def test_a_job_shows_what_it_was_told_when_it_was_placed() -> None:
    state = STORY[-1].job
    labels = [label for label, _ in facts(state, AT)]
    assert "when placed" not in labels
    idle = state.model_copy(update={"outlook": TOLD})
    shown = dict(facts(idle, AT))["when placed"]
    assert shown == "keeps its place for 1 h with 93.1 %, for 6 h with 50.0 % (risk 0.25)"


def test_half_known_and_unknown_chances_are_told_as_that() -> None:
    half = TOLD.model_copy(update={"survive_6h": None})
    assert "for 6 h with unknown chance" in outlook_text(half)
    none = half.model_copy(update={"survive_1h": None})
    assert outlook_text(none) == "how long it keeps its place is not measured yet (risk 0.25)"


def test_a_trial_of_an_idle_job_says_how_long_it_would_stay() -> None:
    fit = Fit(outcome=FitOutcome.PLACED, gpus=1, workers=1, outlook=TOLD)
    answer = QueryAnswer(kind="fit", pool="default", position=7, at=AT, round=3, fit=fit)
    lines = [line.plain for line in answer_lines(answer, "j")]
    assert lines[-2] == f"it is an idle job: {outlook_text(TOLD)}"
