"""`muster faults` and the last failure of `muster show`, in both languages."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import partial

import pytest
from rich.console import Console, RenderableType

from muster.cli import texts
from muster.cli.texts import say
from muster.cli.views.faults import faults_document, faults_of, faults_view
from muster.cli.views.job import job_view
from muster.contracts.events import job_event
from muster.domain import facts as f
from muster.domain.evidence import WorkerEvidence
from muster.fault_tolerance.core.event import failure_of
from muster.fault_tolerance.core.verdict import judge
from muster.log import Recorded
from tests.fault_tolerance.failures import BOOK
from tests.support.lives import Life, spec

TAIL = "step 7 loss 1\n\x1b[31mTraceback (most recent call last):\n  x\nKeyError: 'x'"


def lived() -> tuple[Life, list[Recorded]]:
    """A job that fails, is restarted, and fails again of the same."""
    life = Life(spec(fault_tolerance={"enabled": True, "max_retries": 2}))
    told: list[Recorded] = []

    tell = partial(_tell, life, told)
    placement = {"n1": ("worker-0",), "n2": ("worker-1",)}
    for fact in (f.Admitted(), f.Scheduled(placement=placement)):
        tell(fact)
    for attempt in (1, 2):
        tell(f.Launching(attempt=attempt))
        tell(f.Started(attempt=attempt))
        one = f.WorkerFailure(worker="worker-0", node="n1", exit_code=1)
        failed = f.WorkersFailed(attempt=attempt, failures=(one,))
        tell(failed)
        found = failure_of(life.state, failed, life.at)
        workers: list[WorkerEvidence] = list(found.workers)
        workers[0] = workers[0].model_copy(update={"tail": TAIL})
        made = judge(life.state, replace(found, workers=tuple(workers)), BOOK, life.at)
        assert made is not None
        tell(made)
    return life, told


def shown(what: RenderableType) -> str:
    console = Console(file=io.StringIO(), width=120, force_terminal=False)
    console.print(what)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("lang", "words"),
    [
        ("en", ("started again on its nodes", "not tried again", "retries 1 (1 left)")),
        ("zh", ("在原节点重新启动", "不再重试", "重试 1（剩余 1）")),
    ],
)
def test_every_failure_is_told_with_verdict_ledgers_and_what_followed(
    lang: str, words: tuple[str, ...]
) -> None:
    life, history = lived()
    texts.use(lang)
    try:
        text = shown(faults_view(life.state, faults_of(history), ()))
    finally:
        texts.use("en")
    for word in (*words, "py.key", "KeyError: 'x'", "test-1"):
        assert word in text, text
    assert "\x1b" not in text


def test_attempts_are_linked_and_keys_stay() -> None:
    life, history = lived()
    document = faults_document(life.state, faults_of(history), ())
    first, second = document["faults"]
    assert (first["attempt"], first["next_attempt"], first["ran"]) == (1, 2, True)
    assert (second["event"], second["phase"]) == ("failed", "failed")
    assert first["diagnosis"]["before"]["restarts"] == 0
    assert first["diagnosis"]["after"]["restarts"] == 1
    assert set(document) == {"tenant", "job", "origin", "debugged_by", "faults"}


def test_the_view_of_the_job_tells_the_last_one_and_where_to_read_on() -> None:
    life, history = lived()
    text = shown(job_view(life.state, history, life.at, ""))
    assert say("faults.more", job="j1") in text
    assert "KeyError" in text


def test_a_job_that_never_failed_says_so() -> None:
    life = Life().running()
    assert say("faults.none", name="train") in shown(faults_view(life.state, (), ()))


@pytest.mark.parametrize(
    ("lang", "words"),
    [
        (
            "en",
            (
                "restart 1 of 2 that a hang allows",
                "the allowance for hangs, not the user's retries",
                "progress: training, step 7: nothing new for 900 s; the limit is 600 s",
                "stack of worker-1: recv (dist.py:7)",
            ),
        ),
        (
            "zh",
            (
                "因卡死自动重启（第 1 次，上限 2 次），不消耗重试次数",
                "卡死额度（不消耗用户重试次数）",
                "进展：训练中，第 7 步：900 秒内没有进展；上限 600 秒",
                "worker-1 的调用栈：recv (dist.py:7)",
            ),
        ),
    ],
)
def test_a_hang_shows_its_evidence_and_which_budget_pays_in_each_language(
    lang: str, words: tuple[str, ...]
) -> None:
    life, history = hung()
    texts.use(lang)
    try:
        text = shown(faults_view(life.state, faults_of(history), ()))
        last = shown(job_view(life.state, history, life.at, ""))
    finally:
        texts.use("en")
    for word in words:
        assert word in " ".join(text.split()), text
    assert words[2] in " ".join(last.split())
    if lang == "zh":
        assert "nothing new" not in text + last


def hung() -> tuple[Life, list[Recorded]]:
    """A job of two workers that hangs, and is started again."""
    life = Life(spec(fault_tolerance={"enabled": True, "max_retries": 2}))
    told: list[Recorded] = []
    silent = f.Hung(
        seconds=900,
        evidence=(
            "progress: training, step 7: nothing new for 900 s; the limit is 600 s",
            "stack of worker-1: recv (dist.py:7)",
        ),
        evidence_zh=(
            "进展：训练中，第 7 步：900 秒内没有进展；上限 600 秒",
            "worker-1 的调用栈：recv (dist.py:7)",
        ),
    )
    placed = f.Scheduled(placement={"n1": ("worker-0",), "n2": ("worker-1",)})
    for fact in (f.Admitted(), placed, f.Launching(attempt=1), f.Started(attempt=1), silent):
        _tell(life, told, fact)
    made = judge(life.state, failure_of(life.state, silent, life.at), BOOK, life.at)
    assert made is not None
    _tell(life, told, made)
    return life, told


def _tell(life: Life, told: list[Recorded], fact: f.Fact) -> None:
    life.then(fact)
    number = len(told) + 1
    event = job_event(life.state, fact, event_id=f"e{number}", source="muster/x", at=life.at)
    told.append(Recorded(event, number, life.at, number))
