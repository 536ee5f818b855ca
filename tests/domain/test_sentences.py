"""Every event is told to people in both languages, with its particulars."""

from __future__ import annotations

import re
import string
from datetime import UTC, datetime
from typing import Any

import pytest

from muster.domain import facts as f
from muster.domain.causes import CAUSES_ZH, EvictionCause
from muster.domain.evidence import CheckpointFound
from muster.domain.phases import Phase
from muster.domain.reasons import ReasonCode, reason, texts_of
from muster.domain.sentences import SENTENCES, sentence
from muster.domain.survival import Outlook
from muster.domain.waiting import WhyCode
from muster.domain.waiting_words import why
from tests.support.lives import spec

NOW = datetime(2030, 1, 1, tzinfo=UTC)
WHY = reason(ReasonCode.NEEDS_HUMAN, why="disk full")
BY = {"by": "ann", "request": "r1"}
PLACED = {"n1": ("worker-0", "worker-1")}
FAILURES = (
    f.WorkerFailure(worker="worker-0", node="n1", exit_code=137),
    f.WorkerFailure(worker="worker-1", node="n2", cause="node_lost"),
)


@pytest.mark.parametrize("cause", EvictionCause)
def test_no_cause_is_left_in_english_in_a_chinese_text(cause: EvictionCause) -> None:
    facts = (f.Preempted(cause=cause, grace_s=1), f.Requeued(cause=cause, counted=False))
    told = [sentence(fact)[1] for fact in facts]
    told.append(reason(ReasonCode.EVICTED, cause=cause.value).zh)
    told.append(why(WhyCode.EVICTING, cause=str(cause)).zh)
    for words in told:
        assert CAUSES_ZH[cause] in words
        assert cause.value not in words
    assert cause.value in reason(ReasonCode.EVICTED, cause=cause.value).en


def test_a_start_says_which_checkpoint_it_goes_on_from_and_which_are_broken() -> None:
    torn = CheckpointFound(name="step-200", step=200, complete=False, why="cut off")
    fact = f.Launching(attempt=2, resume_from="/ckpt/step-100", skipped=(torn,))
    assert sentence(fact) == (
        "starting every worker (attempt 2); goes on from /ckpt/step-100; skipped step-200: cut off",
        "正在启动全部 Worker（第 2 次运行）；从 /ckpt/step-100 继续；跳过 step-200：cut off",
    )
    assert sentence(f.Launching(attempt=1))[0] == "starting every worker (attempt 1)"


SAMPLES: tuple[f.Fact, ...] = (
    f.Submitted(
        tenant="acme",
        job="j1",
        user="ann",
        pool="west",
        request="r1",
        digest="d",
        spec=spec(),
        demand=spec().demand(),
    ),
    f.Admitted(),
    f.Rejected(violations=()),
    f.Scheduled(placement=PLACED),
    f.Unscheduled(cause=f.Withdrawal.NODE_GONE),
    f.Declined(reason=WHY),
    f.Launching(attempt=2),
    f.StartRefused(attempt=1, permanent=False, why="no room"),
    f.StartFailed(attempt=1, why="image"),
    f.Started(attempt=1),
    f.Preempted(cause=EvictionCause.SPOT_RECLAIM, grace_s=30),
    f.GraceShortened(deadline=datetime(2030, 1, 1, tzinfo=UTC)),
    f.Signalled(attempt=1),
    f.WorkersFailed(attempt=1, failures=FAILURES),
    f.Succeeded(attempt=1),
    f.Released(attempt=1),
    f.ReleaseOverdue(nodes=("n1", "n2")),
    f.Requeued(cause=EvictionCause.NODE_LOST, counted=False),
    f.NotRequeued(cause=EvictionCause.PRIORITY, by="j2"),
    f.RequeueExhausted(cause=EvictionCause.IDLE_RECLAIM),
    f.QueueTimedOut(entry=2),
    f.HangSuspected(evidence=("no step",)),
    f.Hung(evidence=("no step", "gpu idle"), seconds=1800),
    f.Restarted(reason=WHY),
    f.ReplacementOrdered(cause=EvictionCause.FAULT, reason=WHY),
    f.Failed(reason=WHY),
    f.Escalated(reason=WHY),
    f.RunTimedOut(),
    f.StopRequested(**BY),
    f.Stopped(),
    f.HoldEnded(),
    f.Resumed(by="ann", request="r1"),
    f.Respecified(before=spec().demand(), demand=spec().demand(), **BY),
    f.Prioritised(before=50, priority=90, **BY),
    f.Relabelled(before={}, labels={"team": "vision", "run": "7"}, **BY),
    f.Shared(users=("bob", "eve"), **BY),
    f.ScaleRequested(role="worker", replicas=4),
    f.ScaledDown(workers=("worker-3",)),
    f.Rescaled(placement={"n3": ("worker-3",)}),
    f.CheckpointSaved(attempt=1, step=100),
    f.ResumeVerified(step_before=100, step_after=101),
    f.ProgressLost(step_before=100, step_after=0, gpu_hours=1.5),
    f.Archived(phase=Phase.SUCCEEDED),
)


def test_every_event_has_its_sentences_and_a_sample() -> None:
    assert set(SENTENCES) == set(f.FACTS)
    assert {fact.event for fact in SAMPLES} == set(f.FACTS)


@pytest.mark.parametrize("fact", SAMPLES, ids=lambda fact: fact.event)
def test_a_sentence_is_filled_in(fact: f.Fact) -> None:
    english, chinese = sentence(fact)
    for text in (english, chinese):
        assert text
        assert "{" not in text
        assert "None" not in text
    assert english.isascii()
    assert any(ord(char) > 0x2E80 for char in chinese)


@pytest.mark.parametrize("event", sorted(SENTENCES))
def test_both_languages_tell_the_same_particulars(event: str) -> None:
    english, chinese = ({name.removesuffix("_zh") for name in _names(t)} for t in SENTENCES[event])
    assert english == chinese


def _names(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize(
    ("fact", "english", "chinese"),
    [
        (
            f.Hung(evidence=("no step", "gpu idle", "all asleep", "stack x"), seconds=1800),
            "hangs, no progress for 1800 s: no step; gpu idle; all asleep",
            "已卡死，1800 秒无进展：no step；gpu idle；all asleep",
        ),
        (
            f.Hung(evidence=("no step",), evidence_zh=("没有新的步数",), seconds=9),
            "hangs, no progress for 9 s: no step",
            "已卡死，9 秒无进展：没有新的步数",
        ),
        (
            f.HangSuspected(evidence=("no step",), evidence_zh=("没有新的步数",)),
            "may hang: no step",
            "疑似卡死：没有新的步数",
        ),
        (
            f.Escalated(reason=WHY),
            "parked: a person must decide: disk full",
            "已暂停：需人工处理：disk full",
        ),
        (
            f.Scheduled(placement=PLACED),
            "placed on 1 node(s): n1 (worker-0 worker-1)",
            "已分配 1 个节点：n1 (worker-0 worker-1)",
        ),
        (
            f.Scheduled(
                placement=PLACED,
                outlook=Outlook(at=NOW, risk=0.2, survive_1h=0.931, survive_6h=0.5),
            ),
            "placed on 1 node(s): n1 (worker-0 worker-1)"
            "; keeps its place for 1 h with 93.1%; keeps its place for 6 h with 50.0%",
            "已分配 1 个节点：n1 (worker-0 worker-1)"
            "；保留 1 小时的概率 93.1%；保留 6 小时的概率 50.0%",
        ),
        (
            f.Scheduled(placement=PLACED, outlook=Outlook(at=NOW, risk=0.2)),
            "placed on 1 node(s): n1 (worker-0 worker-1)",
            "已分配 1 个节点：n1 (worker-0 worker-1)",
        ),
        (
            f.WorkersFailed(attempt=1, failures=FAILURES),
            "worker(s) ended badly: worker-0@n1 exit code 137, worker-1@n2 node_lost",
            "Worker 异常结束：worker-0@n1 exit code 137, worker-1@n2 node_lost",
        ),
        (
            f.Preempted(cause=EvictionCause.PRIORITY, by="j2", grace_s=30),
            "must leave its nodes: priority, for j2, grace 30 s",
            "需要让出节点：更高优先级抢占，受益任务 j2，宽限 30 秒",
        ),
        (
            f.GraceShortened(deadline=NOW.replace(microsecond=123456)),
            "grace now ends at 2030-01-01 00:00:00 UTC",
            "宽限时间提前到 2030-01-01 00:00:00 UTC",
        ),
        (
            f.Relabelled(before={}, labels={"team": "vision", "run": "7"}, **BY),
            "labels changed by ann: team=vision, run=7",
            "ann 修改标签：team=vision, run=7",
        ),
    ],
)
def test_what_it_says(fact: f.Fact, english: str, chinese: str) -> None:
    assert sentence(fact) == (english, chinese)


def test_texts_of_people_are_data() -> None:
    fact: Any = f.StopRequested(by="{user} {0}", request="r1")
    assert sentence(fact)[0] == "stop requested by {user} {0}"


VERDICTS = ("failed", "escalated", "restarted", "replacement_ordered", "declined")


@pytest.mark.parametrize("event", VERDICTS)
@pytest.mark.parametrize("code", ReasonCode)
def test_no_sentence_says_its_beginning_twice(event: str, code: ReasonCode) -> None:
    for said, told in zip(SENTENCES[event], texts_of(code), strict=True):
        begins = re.split("[:：]", said)[0]
        assert not told.startswith(begins)
