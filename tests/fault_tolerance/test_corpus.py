"""The labelled failures themselves: whole, spread like those of the field, and honestly split."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import yaml

from benchmarks.faults_cases import FOLDER, Labelled, Split, load, set_aside
from benchmarks.faults_failure import FIRST_END, failure
from muster.domain.diagnosis import Blame

CASES = load()


def share(chosen: list[Labelled]) -> float:
    return len(chosen) / len(CASES)


def by_name(name: str) -> Labelled:
    return next(one for one in CASES if one.name == name)


def labelled_names() -> dict[str, list[str]]:
    told = yaml.safe_load((FOLDER / "labels.yaml").read_text(encoding="utf-8"))
    return {family: list(about["cases"]) for family, about in told["families"].items()}


def test_every_label_has_its_case_and_only_one() -> None:
    names = [name for names in labelled_names().values() for name in names]
    assert Counter(one.name for one in CASES) == Counter(names)
    assert len(names) >= 180


def test_a_third_of_every_family_is_held_out_by_its_name_alone() -> None:
    for family, names in labelled_names().items():
        held = {x.name for x in CASES if x.family == family and x.split is Split.HELD_OUT}
        assert held == set_aside(names), family
    assert 0.3 <= share([x for x in CASES if x.split is Split.HELD_OUT]) <= 0.37


def test_what_is_set_aside_does_not_depend_on_the_order_of_the_file() -> None:
    names = labelled_names()["script"]
    assert set_aside(names) == set_aside(reversed(names))
    assert set_aside(["a", "b", "c"]) < {"a", "b", "c"}


def test_the_kinds_are_spread_like_those_of_the_field() -> None:
    users = [x for x in CASES if x.label.blame in {Blame.USER, Blame.DATA}]
    infrastructure = [x for x in CASES if x.label.class_ == "infrastructure"]
    assert 0.6 <= share(users) <= 0.75
    assert 0.15 <= share(infrastructure) <= 0.25
    assert {x.label.class_ for x in CASES} >= {"framework", "data", "storage", "hang", "order"}


def test_a_third_has_lines_that_no_list_is_likely_to_know_in_both_splits() -> None:
    for split in Split:
        part = [x for x in CASES if x.split is split]
        unseen = [x for x in part if x.label.lines == "unseen"]
        assert len(unseen) / len(part) >= 1 / 3, split


def test_the_known_traps_are_among_them() -> None:
    assert {x.label.trap for x in CASES} >= {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 15, 16, 18}


@pytest.mark.parametrize("labelled", CASES, ids=lambda x: x.name)
def test_a_label_does_not_contradict_itself(labelled: Labelled) -> None:
    label, case = labelled.label, labelled.case
    assert len(label.what) > 15
    assert not label.retry or label.ledger != "none"
    assert label.retry or label.ledger == "none"
    assert not label.retry or label.upon_retry != "same"
    assert bool(label.guilty) == (label.upon_retry == "elsewhere") or not label.guilty
    assert all(0 <= number < case.workers for number in label.guilty)
    assert (label.upon_retry == "later") == bool(case.clears_s)


@pytest.mark.parametrize("labelled", CASES, ids=lambda x: x.name)
def test_a_case_becomes_a_failure_with_an_end_that_can_be_seen(labelled: Labelled) -> None:
    told = failure(labelled)
    assert len(told.workers) == len(told.nodes) == labelled.case.workers
    seen = [w for w in told.workers if w.exit_code is not None or w.reason or w.cause != "exited"]
    assert seen or told.hung
    assert all(w.ended_at is None or w.ended_at >= FIRST_END for w in told.workers)
    assert not any("<<" in w.tail or "\nTB\n" in w.tail for w in told.workers)


def test_survivors_name_the_node_that_failed_first_under_the_name_it_has_now() -> None:
    told = failure(by_name("xid48"), [f"gpu-{number}" for number in range(8)])
    assert "remote peer gpu-1" in told.workers[5].tail
    assert "[Rank 5]" in told.workers[5].tail
    assert told.workers[1].ended_at == FIRST_END
    assert "uncorrectable" in told.workers[1].tail


def test_the_output_of_a_lost_node_just_stops() -> None:
    told = failure(by_name("node-silent"))
    last = told.workers[2].tail.strip().splitlines()[-1]
    assert "step 5200" in last
    assert told.workers[2].cause == "node_lost"


def test_the_same_case_is_told_the_same_every_time() -> None:
    one = by_name("key-very-late")
    assert failure(one) == failure(one)


def test_a_case_without_a_label_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tuned").mkdir()
    (tmp_path / "labels.yaml").write_text("families: {script: {defaults: {}, cases: {}}}")
    (tmp_path / "tuned" / "script.yaml").write_text(
        "stray: {gpus: 8, workers: 1, ends: {all: {exit: 1}}}"
    )
    with pytest.raises(ValueError, match="stray has no label"):
        load(tmp_path)
