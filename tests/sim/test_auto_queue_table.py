"""The auto-queue table: every combination is what the product pages promise, and the page shows it.

The outcomes come from the decisions of the services; the promises are written by hand.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from muster.cli.simulation import auto_queue_page
from muster.cli.simulation.auto_queue_cases import (
    HAPPENINGS,
    HOURS,
    KINDS,
    Auto,
    Case,
    Happening,
    Stage,
    every_case,
)
from muster.cli.simulation.auto_queue_plays import Clock, Outcome, play
from muster.domain.auto_queue import AutoQueueSpec
from muster.domain.causes import AfterRelease, EvictionCause, after_release
from muster.domain.demand import ResourceClass
from muster.domain.phases import Phase
from muster.domain.reasons import Reason, ReasonCode, reason
from tests.sim.promises import PREEMPTED, promised

BY_HAPPENING = [pytest.param(each, id=f"{each.stage}: {each.event}") for each in HAPPENINGS]


@cache
def played(case: Case) -> Outcome:
    return play(case)


def cases_of(happening: Happening) -> list[Case]:
    return [case for case in every_case() if case.happening == happening]


def test_no_combination_is_missing() -> None:
    """Classes, guarantee, the places of spot and idle jobs; off, and 0-3 left of 0-3."""
    cases = list(every_case())
    assert len(set(cases)) == len(cases) == 21 * (6 * (1 + 10) + 2 * (1 + 4))
    kinds = {(kind.resource_class, kind.guarantee, kind.on_spot) for kind in KINDS}
    assert {kind for kind, guarantee, _ in kinds if not guarantee} == set(ResourceClass)
    left = {(case.kind.name, case.auto.left if case.auto else None) for case in cases}
    assert left == {(kind.name, n) for kind in KINDS for n in (None, 0, 1, 2, 3)}


@pytest.mark.parametrize("happening", BY_HAPPENING)
def test_every_combination_is_as_promised(happening: Happening) -> None:
    for case in cases_of(happening):
        outcome, promise = played(case), promised(case)
        found = (
            outcome.phase.value,
            outcome.reason.code.value if outcome.reason else None,
            outcome.requeues,
            outcome.entry,
        )
        wanted = (promise.phase, promise.reason, int(promise.counted), int(promise.entry))
        assert found == wanted, case.name
        if outcome.phase is Phase.QUEUED:
            assert outcome.clock.value == promise.clock, case.name


@pytest.mark.parametrize("happening", BY_HAPPENING)
def test_one_cause_moves_one_ledger(happening: Happening) -> None:
    for case in cases_of(happening):
        outcome = played(case)
        assert outcome.ledger in {"", "requeues", "infrastructure"}, case.name
        assert (outcome.ledger == "requeues") == (outcome.requeues == 1), case.name


@pytest.mark.parametrize("happening", BY_HAPPENING)
def test_how_many_were_used_before_makes_no_other_difference(happening: Happening) -> None:
    for case in cases_of(happening):
        if case.auto is not None and case.auto.used:
            fresh = Case(case.kind, Auto(case.auto.left), happening)
            assert _without_limit(played(case)) == _without_limit(played(fresh)), case.name


def _without_limit(outcome: Outcome) -> tuple[object, ...]:
    """The reason names the limit itself; everything else is told by what is left."""
    code = outcome.reason.code if outcome.reason else None
    return outcome.phase, outcome.events, outcome.shown, outcome.cause, code, outcome.ledger


@pytest.mark.parametrize("happening", BY_HAPPENING)
def test_what_is_left_is_what_was_left_less_what_counts(happening: Happening) -> None:
    for case in cases_of(happening):
        before = case.auto.left if case.auto else 0
        assert played(case).left == before - played(case).requeues, case.name


def test_the_promised_words() -> None:
    """Both languages say what happened, what the limit was and what a person can do."""
    for case in every_case():
        outcome = played(case)
        if outcome.reason is None:
            continue
        english, chinese = outcome.reason.en, outcome.reason.zh
        match outcome.reason.code:
            case ReasonCode.PREEMPTED:
                assert PREEMPTED in english, case.name
                assert PREEMPTED in chinese, case.name
            case ReasonCode.QUEUE_TIMEOUT:
                assert outcome.reason == reason(ReasonCode.QUEUE_TIMEOUT, hours=HOURS)
                _names_the_ways_out(outcome.reason)
            case ReasonCode.REQUEUE_LIMIT:
                assert case.auto
                assert f"limit of {case.auto.max_requeues} " in english, case.name
                assert f"上限 {case.auto.max_requeues} 次" in chinese, case.name
                _names_the_ways_out(outcome.reason)


def _names_the_ways_out(said: Reason) -> None:
    assert all(word in said.en for word in ("resume", "stop", "change the limits"))
    assert all(word in said.zh for word in ("恢复", "停止", "修改上限", "人工"))


def test_an_abnormal_job_is_shown_as_abnormal_and_waits_for_nothing() -> None:
    for case in every_case():
        outcome = played(case)
        if outcome.phase is Phase.ABNORMAL:
            assert (outcome.shown[-1].value, outcome.clock) == ("abnormal", Clock.OVER), case.name


def test_after_a_release_every_cause_is_in_the_table_of_the_pages() -> None:
    """Also the causes that a class does not meet: the decision itself, cell by cell."""
    preemptions = {"spot_reclaim", "idle_reclaim", "priority", "quota_reclaim"}
    for cause in EvictionCause:
        for kind in ResourceClass:
            off = after_release(cause, auto_queue=False, left=0, resource_class=kind)
            if cause in preemptions:
                assert off is AfterRelease.NOT_REQUEUED
            elif kind is ResourceClass.SPOT:
                assert off is AfterRelease.REQUEUE_ONE_SHOT
            else:
                assert off is AfterRelease.REQUEUE_NO_DEADLINE
            for left in range(4):
                on = after_release(cause, auto_queue=True, left=left, resource_class=kind)
                if cause not in preemptions:
                    assert on is AfterRelease.REQUEUE_FREE
                elif left:
                    assert on is AfterRelease.REQUEUE_COUNTED
                else:
                    assert on is AfterRelease.EXHAUSTED


class TestThePage:
    """Every combination can be read from it, and each row says what was played."""

    rows = auto_queue_page.rows()

    def test_each_combination_is_in_exactly_one_row(self) -> None:
        for case in every_case():
            found = [row for row in self.rows if row.covers(case)]
            assert len(found) == 1, case.name
            assert _without_limit(found[0].outcome) == _without_limit(played(case)) or (
                case.happening.stage is not found[0].cases[0].happening.stage
            )

    def test_the_names_of_a_row_mean_exactly_its_combinations(self) -> None:
        """A line of classes, stages and limits is a full product; together they are the row."""
        for row in self.rows:
            lines = list(auto_queue_page.blocks_of(row.cases))
            named = [case for line in lines for case in _named(row.cases[0].happening, *line)]
            assert Counter(named) == Counter(row.cases)

    def test_the_text_says_so(self) -> None:
        page = auto_queue_page.page(self.rows)
        assert page.count("\n| queued | every class | on | `abnormal` |") == 3
        words = " ".join(page.split())
        assert "`max_queue_hours` is a whole number from 1 to 12" in words
        assert "`max_requeues` is a whole number from 0 to 3" in words
        assert "`max_retries`" in page
        assert PREEMPTED in page


def _named(some: Happening, stages: str, kinds: str, autos: str) -> list[Case]:
    chosen = [kind for kind in KINDS if kinds == "every class" or kind.name in kinds.split(", ")]
    happenings = [Happening(Stage(stage), some.event) for stage in stages.split(", ")]
    return [
        Case(kind, auto, happening)
        for happening in happenings
        for kind in chosen
        for auto in _limits(autos)
    ]


def _limits(text: str) -> list[Auto | None]:
    found: list[Auto | None] = []
    for part in text.split(" or "):
        if part == "off":
            found.append(None)
        else:
            numbers = part.removeprefix("on").removeprefix(", ").removesuffix(" left")
            found += [Auto(int(n)) for n in (numbers or "0, 1, 2, 3").split(", ")]
    return found


def test_auto_queue_is_off_by_itself() -> None:
    assert AutoQueueSpec() == AutoQueueSpec(enabled=False, max_queue_hours=None, max_requeues=None)
