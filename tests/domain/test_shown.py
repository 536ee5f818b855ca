"""What a person sees of each phase, in both languages."""

from __future__ import annotations

import pytest

from muster.domain import facts as f
from muster.domain.phases import SHOWN_TEXT, Phase, Shown
from tests.domain.making import WHY
from tests.domain.stages import reclaim, stage, stop
from tests.support.lives import Life

WORDS = {
    "submitted": "已提交",
    "rejected": "提交失败",
    "queued": "排队中",
    "starting": "启动中",
    "restarting": "重启中",
    "running": "运行中",
    "handling_fault": "运行中 (故障处理中)",
    "evicting": "驱逐中",
    "stopping": "停止中",
    "debug_holding": "调试保留中",
    "abnormal": "异常",
    "stopped": "已停止",
    "succeeded": "运行成功",
    "failed": "运行失败",
}
HIDDEN = {Phase.FAULTED: Shown.HANDLING_FAULT, Phase.INTERRUPTED: Shown.EVICTING}


def test_the_words_are_those_of_the_product() -> None:
    assert {shown.value: SHOWN_TEXT[shown][1] for shown in Shown} == WORDS
    assert all(english.isascii() and english for english, _ in SHOWN_TEXT.values())


@pytest.mark.parametrize("phase", list(Phase))
def test_a_phase_is_shown_by_its_own_name_unless_it_is_an_inner_matter(phase: Phase) -> None:
    assert stage(phase).state.shown is (HIDDEN.get(phase) or Shown(phase.value))


def test_after_a_restart_in_place_it_restarts_until_it_runs_or_waits() -> None:
    life = Life().faulted().then(f.Restarted(reason=WHY))
    seen = [life.state.shown]
    seen.append(life.then(f.Launching(attempt=2)).state.shown)
    refused = f.StartRefused(attempt=2, permanent=False, why="no room")
    bounced = Life().faulted().then(f.Restarted(reason=WHY), refused)
    seen.append(life.then(f.Started(attempt=2)).state.shown)
    assert seen == [Shown.RESTARTING, Shown.RESTARTING, Shown.RUNNING]
    assert bounced.placed().state.shown is Shown.STARTING


def test_elsewhere_it_simply_starts() -> None:
    life = Life().interrupted("node_lost")
    life.then(f.Requeued(cause="node_lost", counted=False))  # type: ignore[arg-type]
    assert life.placed().state.shown is Shown.STARTING


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ([reclaim(), f.Released(attempt=1)], Shown.EVICTING),
        ([reclaim(), f.Released(attempt=1), f.Prioritised(
            by="ann", request="q", before=50, priority=60)], Shown.EVICTING),
        ([reclaim(), stop()], Shown.STOPPING),
        ([f.Hung(evidence=("x",), seconds=9)], Shown.HANDLING_FAULT),
        ([f.Hung(evidence=("x",), seconds=9), reclaim()], Shown.EVICTING),
    ],
)  # fmt: skip
def test_what_is_shown_on_the_way(facts: list[f.Fact], expected: Shown) -> None:
    assert Life().running().then(*facts).state.shown is expected
