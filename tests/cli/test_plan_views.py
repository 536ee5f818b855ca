"""What the scheduler answers, as people read it; and what they suppose, before it is asked."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer

from muster.cli import texts
from muster.cli.errors import CliError, Refusal
from muster.cli.imagining import Supposed, supposed
from muster.cli.still import read_still
from muster.cli.views.explanation import explanation, explanation_document
from muster.cli.views.plan import answer_lines, told_lines
from muster.contracts.queries import QueryAnswer
from muster.domain.phases import Phase
from muster.domain.waiting import (
    Estimate,
    Explanation,
    Fit,
    FitOutcome,
    Help,
    HelpKind,
    NodeNote,
    Tier,
    Victim,
    WhyCode,
)
from muster.domain.waiting_words import why
from muster.domain.whatif import FORMS
from tests.support.lives import Life

AT = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)


def explained(code: WhyCode = WhyCode.NO_ROOM, **more: Any) -> Explanation:
    numbers = {"need": 4, "fits": 1, "spec": "8 GPU"}
    fields: dict[str, Any] = {
        "tenant": "acme",
        "job": "j1",
        "phase": Phase.QUEUED,
        "why": why(code, **numbers),  # type: ignore[arg-type]
        "ahead": 2,
        "waiting": 9,
    }
    return Explanation(**fields | more)


def answer(**more: Any) -> QueryAnswer:
    fields: dict[str, Any] = {"kind": "fit", "pool": "default", "position": 7, "at": AT, "round": 3}
    return QueryAnswer(**fields | more)


def words(found: QueryAnswer, name: str | None = None) -> str:
    return "\n".join(line.plain for line in answer_lines(found, name))


HELPS = (
    Help(kind=HelpKind.PRIORITY, en="more", zh="更多", proven=True),
    Help(kind=HelpKind.ROOM, en="room", zh="空间"),
)


def test_a_placement_with_its_cost() -> None:
    victim = Victim(
        tenant="acme", job="j2", name="low", user="bob", cause="priority", gpus=8, lost_gpu_s=5400
    )
    hold = victim.model_copy(update={"job": "j3", "name": "paper", "cause": None})
    workers = tuple(f"worker-{n}" for n in range(6))
    fit = Fit(
        outcome=FitOutcome.PLACED,
        gpus=64,
        workers=8,
        placement={"n1": workers, "n2": ("worker-6", "worker-7")},
        victims=(victim, hold),
        leaving=("j2",),
        wait_s=30,
    )
    shown = words(answer(fit=fit), "big").splitlines()
    assert shown == [
        "big would be placed now, with 8 worker(s); nothing was submitted",
        "  n1: 6 workers, worker-0 to worker-5",
        "  n2: worker-6, worker-7",
        "would be evicted: low (j2, bob): priority, 8 GPUs, 1.5 GPU-hours lost",
        "would be planned anew: paper (j3, bob), which has not started",
        "it starts when j2 has left, within 30s",
        shown[-1],
    ]
    assert "log position 7 of pool default" in shown[-1]
    assert "round 3" in shown[-1]


def test_a_victim_on_a_shared_card_has_a_part_of_it() -> None:
    victim = Victim(
        tenant="acme",
        job="j2",
        name="low",
        user="bob",
        cause="priority",
        gpus=0,
        gpu_milli=250,
        lost_gpu_s=900,
    )
    fit = Fit(outcome=FitOutcome.PLACED, gpus=0, gpu_milli=900, workers=1, victims=(victim,))
    assert "priority, 0.25 GPUs, 0.2 GPU-hours lost" in words(answer(fit=fit), "q")


def test_why_not_with_what_would_help_and_the_nodes() -> None:
    note = NodeNote(node="n1", code="room", en="n1: full", zh="n1：已满")
    estimate = Estimate(basis="x", earliest=AT, latest=None, en="some time", zh="稍后")
    found = explained(helps=HELPS, nodes=(note,), node_counts={"room": 5}, estimate=estimate)
    fit = Fit(outcome=FitOutcome.WAITS, gpus=8, workers=4, explanation=found)
    shown = words(answer(fit=fit), "big")
    assert "big would have to wait; nothing was submitted" in shown
    assert "because: waiting: of 4 workers with 8 GPU each only 1 fit" in shown
    assert "[NO_ROOM, look at who holds capacity]" in shown
    assert "would help: more (tried)" in shown
    assert "would help: room\n" in shown
    assert "4 more node(s); in all: room 5" in shown
    assert "estimate: some time" in shown
    texts.use("zh")
    shown = words(answer(fit=fit), "big")
    assert "可行办法：更多（已验证）" in shown
    assert "预计：稍后" in shown
    assert "[NO_ROOM, 资源占用]" in shown


@pytest.mark.parametrize("tier", list(Tier))
def test_every_tier_has_words(tier: Tier) -> None:
    found = explained()
    odd = found.model_copy(update={"why": found.why.model_copy(update={"tier": tier})})
    assert "[NO_ROOM, " in words(answer(explanation=odd))


def test_the_answer_goes_before_the_summary_and_silence_is_told() -> None:
    state = Life().queued().state
    live = answer(explanation=explained(WhyCode.NEVER_FITS, helps=HELPS))
    shown = "\n".join(line.plain for line in explanation(state, None, state.since, live))
    assert "because: pool default can never hold this job" in shown
    told = "\n".join(line.plain for line in told_lines(state, live))
    assert "would help: more (tried)" in told
    (silence,) = told_lines(state, None)
    assert "no scheduler answers now" in silence.plain
    assert explanation_document(state, None, live)["answer"]["position"] == 7
    assert explanation_document(state, None)["answer"] is None


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_comes_next_is_true_of_jobs_that_never_fit(lang: str) -> None:
    texts.use(lang)
    state = Life().queued().state

    def shown(code: WhyCode) -> list[str]:
        live = answer(explanation=explained(code))
        return [line.plain for line in explanation(state, None, state.since, live)]

    soon = {"en": "as soon as every worker has a node", "zh": "都有节点后立即启动"}[lang]
    never = {"en": "until the pool grows or the job is changed", "zh": "扩容或修改任务"}[lang]
    assert soon in shown(WhyCode.NO_ROOM)[-1]
    assert never in shown(WhyCode.NEVER_FITS)[-1]
    assert soon not in shown(WhyCode.NEVER_FITS)[-1]
    gone = shown(WhyCode.SUPPOSED_GONE)
    assert {"en": "itself is supposed to be gone", "zh": "任务本身"}[lang] in gone[1]
    assert "waiting:" not in gone[1]
    assert len(gone) == 3
    assert {"en": "it would be gone", "zh": "已不存在"}[lang] in gone[-1]


@pytest.mark.parametrize(("lang", "word"), [("en", "round"), ("zh", "轮")])
def test_a_round_is_named_only_where_it_is_known(lang: str, word: str) -> None:
    texts.use(lang)
    assert word in words(answer())
    assert word not in words(answer(round=None))
    assert "7" in words(answer(round=None))


def test_what_is_supposed_is_checked_before_anybody_is_asked() -> None:
    assert not supposed((), None)
    assert supposed(("drain n1",), "70") == Supposed(("drain n1",), 70)
    assert supposed((), "High").priority == "high"
    with pytest.raises(Refusal) as caught:
        supposed(("drain n1", "drian n1", "add x nodes like n1"), None)
    assert [each.path for each in caught.value.violations] == ["$.what_if[1]", "$.what_if[2]"]
    assert all(form in caught.value.fix for form in FORMS)
    for text in ("0", "100", "urgent", "-1", "5.5", ""):
        with pytest.raises(typer.BadParameter):
            supposed((), text)


def test_a_file_that_is_no_snapshot_is_told_with_a_remedy(tmp_path: Path) -> None:
    missing, odd = tmp_path / "missing", tmp_path / "odd"
    odd.write_bytes(b"\xff{}")
    wrong = tmp_path / "wrong"
    wrong.write_text('{"kind": "muster-snapshot", "format": 99}')
    for path in (missing, odd, wrong):
        with pytest.raises(CliError) as caught:
            read_still(path)
        assert str(path) in str(caught.value)
        assert "muster snapshot" in caught.value.fix
