"""Cards and plain text: what they say, and that nothing a job is called can become markup."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.demand import QueueLimits
from muster.domain.reasons import ReasonCode, reason
from muster.notifier.channels.feishu import MAX_BODY
from muster.notifier.core.cards import message
from muster.notifier.core.message import Message, encode
from muster.notifier.core.notice import Facts, Notice, Trigger
from muster.notifier.core.texts import keys, pair
from muster.notifier.core.wording import Look
from tests.notifier.lives import START, last, queued

ONE_REQUEUE = QueueLimits(max_queue_hours=6, max_requeues=1)
LOOKS = {
    "job_queued": ("blue", "排队中", "queued"),
    "job_running": ("turquoise", "运行中", "running"),
    "job_abnormal": ("orange", "异常", "abnormal"),
    "job_failed": ("red", "运行失败", "failed"),
    "job_succeeded": ("green", "运行成功", "succeeded"),
}


def notice(trigger: Trigger = Trigger.JOB_FAILED, **facts: Any) -> Notice:
    base: dict[str, Any] = {"name": "llama-sft", "owner": "alice", "entry": 1, "attempt": 1}
    return Notice(
        rule="r1",
        trigger=trigger,
        language="zh",
        channel="feishu",
        address="ops",
        tenant="acme",
        subject="j1",
        transition="x:1",
        version=1,
        at=START,
        facts=Facts(**{**base, "gpus": 16, "workers": 2, **facts}),
    )


def built(
    told: Notice, zone: tzinfo, *, repeat: bool = False, keywords: tuple[str, ...] = ()
) -> Message:
    """The message of one notice."""
    return message((told,), Look(zone, keywords=keywords, repeat=repeat), told.id)


def nodes_of(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from nodes_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from nodes_of(inner)


def texts_of(card: Any) -> str:
    return "\n".join(str(node["content"]) for node in nodes_of(card) if "content" in node)


@pytest.mark.parametrize("trigger", [Trigger(name) for name in LOOKS])
@pytest.mark.parametrize("language", ["zh", "en"])
def test_each_state_has_its_colour_and_its_word_in_the_header(
    trigger: Trigger, language: str
) -> None:
    colour, chinese, english = LOOKS[trigger]
    made = built(replace(notice(trigger), language=language), UTC)  # type: ignore[arg-type]
    word = chinese if language == "zh" else english
    header: Any = made.card["header"]
    assert header["template"] == colour
    assert header["title"]["content"] == f"{word} · llama-sft"
    assert header["text_tag_list"][0]["text"]["content"] == word
    assert made.text.startswith(word)


def test_the_form_of_the_card() -> None:
    card: Any = built(notice(), UTC).card
    assert set(card) == {"schema", "config", "header", "body"}
    assert card["schema"] == "2.0"
    assert card["config"]["update_multi"] is True
    tags = {node["tag"] for node in nodes_of(card) if "tag" in node}
    assert tags == {"div", "plain_text", "text_tag", "column_set", "column", "hr"}


def test_queued_says_the_entry_the_requeues_left_and_the_deadline() -> None:
    life = queued(queue=ONE_REQUEUE).runs().evicted().requeued()
    text = built(last(life), UTC).text
    assert "任务被中断，已重新排队：已被驱逐：spot 容量回收" in text
    assert "排队次序: 第 2 次" in text
    assert "剩余重新排队次数: 0" in text
    assert f"排队截止时间: {life.at.replace(hour=life.at.hour + 6):%Y-%m-%d %H:%M:%S} UTC" in text
    assert "将进入异常状态" in text


def test_running_after_a_requeue_reminds_of_the_checkpoint() -> None:
    first = built(last(queued().runs()), UTC).text
    again = built(last(queued().runs().evicted().requeued().runs()), UTC)
    assert "checkpoint" not in first
    assert "通知只提示状态变化，请检查 checkpoint 加载记录" in again.text
    assert "通知只提示状态变化，请检查 checkpoint 加载记录" in texts_of(again.card)
    assert "运行次数: 第 2 次" in again.text


def test_running_after_a_requeue_reminds_in_english_too() -> None:
    life = queued().runs().evicted().requeued().runs()
    assert "checkpoint-loaded" in built(last(life, language="en"), UTC).text


def test_abnormal_says_why_and_that_a_person_must_act() -> None:
    life = queued().then(f.QueueTimedOut(entry=1))
    chinese = built(last(life), UTC).text
    english = built(last(life, language="en"), UTC).text
    assert "排队时长达到上限 6 小时" in chinese
    assert "需要人工处理" in chinese
    assert "the queue time limit of 6 h was reached" in english
    assert "A person must act" in english


def test_failed_by_preemption_has_its_own_advice() -> None:
    life = queued(queue=None).runs().evicted()
    life.then(f.NotRequeued(cause=EvictionCause.SPOT_RECLAIM, by="j2"))
    text = built(last(life, language="en"), UTC).text
    assert "was preempted by another task" in text
    assert "last checkpoint" in text


def test_a_debug_hold_says_how_long_in_the_readers_time_zone() -> None:
    life = queued(hold_s=600).runs().fails()
    text = built(last(life), ZoneInfo("Asia/Shanghai")).text
    assert "集群保留至 2025-03-01 16:16:00 CST" in text


def test_the_footer_names_the_notice_and_marks_a_repeat() -> None:
    once, twice = built(notice(), UTC), built(notice(), UTC, repeat=True)
    assert once.id == twice.id == notice().id
    assert f"通知编号 {once.id}" in texts_of(once.card)
    assert "重复发送" not in once.text
    assert "重复发送" in texts_of(twice.card)
    assert "重复发送" in twice.text


def test_keywords_of_the_bot_are_in_card_and_text() -> None:
    made = built(notice(), UTC, keywords=("训练", "GPU"))
    assert "[Keywords] 训练,GPU" in texts_of(made.card)
    assert "训练,GPU" in made.text


@pytest.mark.parametrize("word", ["[训练]", "*GPU*", "~ops~", "`x`", "a://b"])
def test_a_keyword_stays_as_the_bot_looks_for_it(word: str) -> None:
    assert word in built(notice(), UTC, keywords=(word,)).text


def test_a_keyword_mentions_nobody() -> None:
    assert "<at" not in built(notice(), UTC, keywords=('<at user_id="all">',)).text


def test_many_nodes_are_counted_instead_of_listed() -> None:
    text = built(notice(nodes=tuple(f"node-{i}" for i in range(500))), UTC).text
    assert "node-5 等，另有 494 个" in text
    assert "node-6" not in text


HOSTILE = (
    '<at user_id="all">x</at>',
    "<at id=all></at>",
    "[click](https://evil.example/)",
    "**bold** ~~gone~~ `code`",
    'quote " backslash \\ slash / tab\t newline\n nul\x00 bell\x07',
    "\ud800 lone",
    "abc\u202egnp.exe",
    "😀 训练 🏳️‍🌈",
    "{reason} {0} %s $x",
    "x" * 10_000,
)


@pytest.mark.case("NTF-05")
@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_becomes_markup_or_breaks_the_body(name: str) -> None:
    made = built(notice(name=name, owner=name, reason=(name, name), nodes=(name,) * 9), UTC)
    body = encode(made.card).encode("utf-8")
    assert json.loads(body) == made.card
    assert not [node for node in nodes_of(made.card) if node.get("tag") in {"markdown", "lark_md"}]
    assert not any(mark in made.text for mark in ("<", "[", "*", "`", "~", "://", "\x00", "\u202e"))
    assert len(body) < MAX_BODY


def test_the_card_keeps_the_characters_of_a_name() -> None:
    title: Any = built(notice(name='a<b> "c" \\ *d*'), UTC).card["header"]
    assert title["title"]["content"] == '运行失败 · a<b> "c" \\ *d*'


@given(name=st.text(max_size=300), why=st.text(max_size=2000), node=st.text(max_size=100))
def test_any_text_gives_a_small_card_that_is_json(name: str, why: str, node: str) -> None:
    made = built(notice(name=name, reason=(why, why), nodes=(node,) * 3), UTC)
    body = encode(made.card).encode("utf-8")
    assert json.loads(body) == made.card
    assert len(body) < MAX_BODY
    assert "\n" not in texts_of(made.card["header"]).split("\n")[1]


def test_the_largest_card_is_far_under_the_limit() -> None:
    big = notice(
        Trigger.JOB_FAILED,
        name="训" * 500,
        owner="练" * 500,
        nodes=("节" * 300,) * 50,
        reason=("因" * 9000,) * 2,
        requeues_left=3,
        deadline=START,
        hold_until=START,
    )
    card = built(big, UTC, repeat=True, keywords=("键" * 64,) * 10).card
    assert len(encode(card).encode()) < MAX_BODY


def test_chinese_costs_three_bytes_a_character() -> None:
    assert encode("排队中") == '"排队中"'


def test_a_reason_that_was_not_recorded_is_said_so() -> None:
    assert "未记录原因" in built(notice(reason=None), UTC).text


@pytest.mark.parametrize("key", keys())
def test_both_languages_say_the_same_values(key: str) -> None:
    def names(text: str) -> set[str]:
        return {part.partition("}")[0] for part in text.split("{")[1:]}

    english, chinese = pair(key)
    assert english
    assert chinese
    assert names(english) == names(chinese)


def test_restart_reason_of_a_failure_is_in_the_language_of_the_rule() -> None:
    life = queued().runs().fails(reason(ReasonCode.RESTART_LIMIT, limit=3, why="exit code 1"))
    assert "3 次自动重启已用完" in built(last(life), UTC).text
    assert "all 3 restart(s) are used" in built(last(life, language="en"), UTC).text
