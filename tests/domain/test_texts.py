"""Every reason and every rule has its sentence in both languages, and the sentences fill in."""

from __future__ import annotations

import string
from random import Random

import pytest

from muster.domain import facts as f
from muster.domain.phases import Phase
from muster.domain.reasons import Reason, ReasonCode, reason, texts_of
from muster.domain.rules import RULES, violation
from tests.domain.making import make
from tests.domain.stages import stage, waiting
from tests.support.lives import Life, spec

CHINESE = range(0x4E00, 0x9FFF)


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def speaks_chinese(text: str) -> bool:
    return any(ord(char) in CHINESE for char in text)


@pytest.mark.parametrize("code", list(ReasonCode))
def test_a_reason_has_both_languages_with_the_same_particulars(code: ReasonCode) -> None:
    english, chinese = texts_of(code)
    assert english.isascii()
    assert speaks_chinese(chinese)
    assert {name.removesuffix("_zh") for name in places(chinese)} == places(english)


@pytest.mark.parametrize("code", list(ReasonCode))
def test_a_reason_fills_in_and_repeats_what_it_was_given(code: ReasonCode) -> None:
    values = {name: f"<{name}>" for name in places("".join(texts_of(code))) - {"why_zh"}}
    found = reason(code, **values)
    for value in values.values():
        assert value in found.en
        assert value in found.zh
    assert not places(found.en)
    assert (found.code, found.text("zh"), found.text("en")) == (code, found.zh, found.en)
    assert found.text("fr") == found.en


def test_a_reason_prefers_the_chinese_why_and_has_the_english_one_to_fall_back_on() -> None:
    both = reason(ReasonCode.START_REFUSED, why="no such image", why_zh="镜像不存在")
    assert ("no such image" in both.en, "镜像不存在" in both.zh) == (True, True)
    for missing in (None, ""):
        one = reason(ReasonCode.START_REFUSED, why="no such image", why_zh=missing)
        assert "no such image" in one.zh


def test_a_reason_without_a_particular_cannot_be_made() -> None:
    with pytest.raises(KeyError):
        reason(ReasonCode.STOPPED_BY_USER)


def test_what_people_write_is_data() -> None:
    found = reason(ReasonCode.STOPPED_BY_USER, by="{why} {0} <b>")
    assert found.en == "stopped by {why} {0} <b>"


def test_a_code_is_its_own_name() -> None:
    assert all(code.value == code.name for code in ReasonCode)


PROMISED: dict[ReasonCode, str] = {
    ReasonCode.PREEMPTED: "was preempted by another task",
    ReasonCode.QUEUE_TIMEOUT: "排队时长达到上限 3 小时，已停止自动排队，需人工处理",
    ReasonCode.REQUEUE_LIMIT: "重新排队次数达到上限 2 次",
    ReasonCode.INSUFFICIENT_CAPACITY: "Spot 库存不足：需要 4 个 8xH100，当前可调度 1 个",
}


@pytest.mark.parametrize(("code", "words"), PROMISED.items(), ids=[c.value for c in PROMISED])
def test_the_words_that_the_product_promises(code: ReasonCode, words: str) -> None:
    values = {
        "by": "j9",
        "cause": "priority",
        "hours": 3,
        "limit": 2,
        "need": 4,
        "spec": "8xH100",
        "have": 1,
    }
    assert words in reason(code, **values).zh


# --- what a state says of itself ---------------------------------------------------------------


def reason_after(phase: Phase, event: str) -> Reason | None:
    life = stage(phase, event)
    return life.then(make(event, life.state, Random(1))).state.reason


EXPECTED: list[tuple[Phase, str, ReasonCode]] = [
    (Phase.SUBMITTED, "rejected", ReasonCode.INVALID),
    (Phase.STARTING, "unscheduled", ReasonCode.PLAN_WITHDRAWN),
    (Phase.STARTING, "start_refused", ReasonCode.START_REFUSED),
    (Phase.STARTING, "start_failed", ReasonCode.START_FAILED),
    (Phase.RUNNING, "preempted", ReasonCode.EVICTED),
    (Phase.RUNNING, "workers_failed", ReasonCode.WORKER_FAILED),
    (Phase.RUNNING, "succeeded", ReasonCode.SUCCEEDED),
    (Phase.RUNNING, "hung", ReasonCode.HANG),
    (Phase.INTERRUPTED, "not_requeued", ReasonCode.PREEMPTED),
    (Phase.INTERRUPTED, "requeue_exhausted", ReasonCode.REQUEUE_LIMIT),
    (Phase.QUEUED, "queue_timed_out", ReasonCode.QUEUE_TIMEOUT),
    (Phase.RUNNING, "stop_requested", ReasonCode.STOPPED_BY_USER),
]


@pytest.mark.parametrize(
    ("phase", "event", "code"), EXPECTED, ids=[f"{e}-{phase}" for phase, e, _ in EXPECTED]
)
def test_a_fact_leaves_its_reason(phase: Phase, event: str, code: ReasonCode) -> None:
    found = reason_after(phase, event)
    assert found is not None
    assert found.code is code
    assert "None" not in found.en + found.zh
    assert speaks_chinese(found.zh)


def test_a_limit_of_the_run_time_is_told_with_its_seconds() -> None:
    found = Life(spec(max_runtime_s=60)).running().then(f.RunTimedOut()).state.reason
    assert found is not None
    assert found.code is ReasonCode.MAX_RUNTIME
    assert ("60 s" in found.en, "60 秒" in found.zh) == (True, True)


def test_the_third_refusal_says_how_often_and_why() -> None:
    life = Life(waiting())
    for attempt in (1, 2, 3):
        life.placed().then(
            f.StartRefused(attempt=attempt, permanent=True, why="no image", why_zh="镜像不存在")
        )
    found = life.state.reason
    assert found is not None
    assert found.code is ReasonCode.START_LIMIT
    assert "3 times: no image" in found.en
    assert "3 次：镜像不存在" in found.zh


# --- rules -------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", list(RULES))
def test_a_rule_has_both_languages_and_fills_in(code: str) -> None:
    english, chinese = RULES[code]
    assert code.startswith("E_")
    assert english.isascii()
    assert speaks_chinese(chinese)
    needed = places(english) | places(chinese)
    values = {name: f"<{name}>" for name in needed}
    found = violation(code, "$.spec", **values)
    assert (found.code, found.path) == (code, "$.spec")
    assert not places(found.en) | places(found.zh)
    assert (found.text("zh"), found.text("en")) == (found.zh, found.en)
    if needed:
        with pytest.raises(KeyError):
            violation(code, "$.spec")


def test_an_unknown_rule_is_an_error() -> None:
    with pytest.raises(KeyError):
        violation("E_NO_SUCH_RULE", "$")
