"""The rules that come with Muster: each one proves itself, and none bites a healthy log."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from muster.domain.diagnosis import Action
from muster.domain.evidence import Scope
from muster.domain.spec import JobSpec
from muster.fault_tolerance import rulebook
from muster.fault_tolerance.core.lines import LENGTH
from muster.fault_tolerance.core.rules import Role, Rule, Rulebook

BOOK = rulebook.shipped()
EVERY = [pytest.param(rule, id=rule.id) for rule in BOOK.rules]
HEALTHY = sorted((Path(__file__).parent / "healthy").glob("*.log"))
ENOUGH_LINES = 500
"""Healthy lines that the rules are held against."""
SLOWEST_S = 0.2
"""For one hostile line of the greatest length: several times what the slowest rule needs."""


def alone(rule: Rule) -> Rulebook:
    return Rulebook("", (replace(rule, weak=False),))


@pytest.mark.parametrize("rule", EVERY)
def test_a_rule_matches_its_examples_and_leaves_alone_its_near_misses(rule: Rule) -> None:
    book = alone(rule)
    assert rule.examples
    assert rule.near_misses
    assert [text for text in rule.examples if not book.read(rule.scope, text)] == []
    assert [text for text in rule.near_misses if book.read(rule.scope, text)] == []


@pytest.mark.parametrize("rule", EVERY)
def test_the_whole_book_finds_what_the_rule_alone_finds(rule: Rule) -> None:
    for text in rule.examples:
        hits = BOOK.read(rule.scope, text)
        found = {hit.rule.id for hit in hits}
        assert rule.id in found or (rule.weak and found), text


@pytest.mark.parametrize("rule", EVERY)
def test_a_rule_that_stops_a_job_says_what_to_change(rule: Rule) -> None:
    if rule.role is Role.ROOT and rule.action in {Action.STOP, Action.HOLD}:
        assert rule.advice is not None
    for text in filter(None, (rule.what, rule.advice)):
        assert re.search("[一-鿿]", text.zh), text.zh
        assert text.en.isascii()
        assert text.en.endswith(".")


@pytest.mark.parametrize("rule", EVERY)
def test_the_field_of_an_advice_is_one_of_the_specification(rule: Rule) -> None:
    if rule.advice and rule.advice.field:
        kind: object = JobSpec
        for name in rule.advice.field.split("."):
            fields = getattr(kind, "model_fields")  # noqa: B009 - of whichever model it is
            assert name in fields
            kind = _model_of(fields[name].annotation)


def _model_of(annotation: object) -> object:
    options = [annotation, *getattr(annotation, "__args__", ())]
    return next((one for one in options if hasattr(one, "model_fields")), None)


@pytest.mark.parametrize("rule", EVERY)
def test_no_rule_is_slow_on_a_hostile_line(rule: Rule) -> None:
    hostile = [*rule.literals, *rule.examples, *(text[: len(text) // 2] for text in rule.examples)]
    for text in filter(None, hostile):
        line = (text * (LENGTH // len(text) + 1))[:LENGTH]
        for end in ("", "\x7f", " " * 40):
            began = time.perf_counter()
            rule.pattern.search(line[: LENGTH - len(end)] + end)
            assert time.perf_counter() - began < SLOWEST_S, text


def test_there_are_many_and_no_two_of_one_name() -> None:
    assert len(BOOK.rules) >= 220
    assert max(Counter(rule.id for rule in BOOK.rules).values()) == 1
    assert {rule.scope for rule in BOOK.rules} == set(Scope)
    assert {rule.role for rule in BOOK.rules} == set(Role)


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_no_cause_is_found_in_a_healthy_log(path: Path) -> None:
    scope = Scope.KERNEL if path.stem == "kernel" else Scope.LOG
    hits = BOOK.read(scope, path.read_text(encoding="utf-8"))
    causes = [(hit.rule.id, hit.text) for hit in hits if hit.rule.role is Role.ROOT]
    assert causes == []


def test_the_healthy_logs_are_many_lines_of_many_kinds() -> None:
    assert len(HEALTHY) >= 8
    assert sum(len(path.read_text("utf-8").splitlines()) for path in HEALTHY) >= ENOUGH_LINES


@pytest.mark.parametrize(
    ("number", "rule"),
    [
        (79, "xid.machine"),
        (48, "xid.machine"),
        (119, "xid.reset"),
        (74, "xid.nvlink"),
        (144, "xid.nvlink5"),
        (150, "xid.nvlink5"),
        (43, "xid.ignored"),
        (63, "xid.ignored"),
        (45, "xid.follows"),
        (31, "xid.application"),
        (94, "xid.application"),
        (166, "xid.support"),
        (999, "xid.other"),
    ],
)
def test_an_xid_is_looked_up_by_its_number(number: int, rule: str) -> None:
    (hit,) = BOOK.read(Scope.KERNEL, f"NVRM: Xid (PCI:0000:3b:00): {number}, pid=7, name=python")
    assert (hit.rule.id, hit.code) == (rule, number)


def test_every_number_of_the_table_has_one_meaning() -> None:
    meanings = [n for rule in BOOK.rules if rule.group == "xid" for n in rule.codes]
    twice = [number for number, count in Counter(meanings).items() if count > 1]
    # links of the newest GPUs mean one thing when fatal, and another when not
    assert sorted(twice) == list(range(144, 151))


@pytest.mark.parametrize(
    "text",
    ["containerBoxID: 79", "containerBoxID (PCI:0000:3b:00): 79, pid=1", "Xid table loaded: 79"],
)
def test_a_word_that_merely_holds_the_letters_is_no_xid(text: str) -> None:
    assert BOOK.read(Scope.KERNEL, text) == []


def test_a_killed_data_loader_inside_a_destructor_is_no_cause() -> None:
    tail = """\
Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f3a>
Traceback (most recent call last):
  File "/opt/torch/utils/data/dataloader.py", line 1479, in __del__
    self._shutdown_workers()
RuntimeError: DataLoader worker (pid 4211) is killed by signal: Terminated.
RuntimeError: The server socket has failed to listen. port: 29500, code: -98, name: EADDRINUSE"""
    hits = BOOK.read(Scope.LOG, tail)
    causes = [hit.rule.id for hit in hits if hit.rule.role is Role.ROOT]
    assert causes == ["port.in_use"]


@pytest.mark.parametrize(
    ("line", "peer"),
    [
        ("NCCL WARN Connection closed by remote peer gpu-7<41234>", "gpu-7"),
        ("pair.cc:534] Connection closed by peer [10.0.0.4:23321]", "10.0.0.4:23321"),
        ("E0213 failed (exitcode: 1) local_rank: 3 (pid: 77) of binary: /usr/bin/python", "3"),
        ("srun: error: gpu-7: task 3: Exited with exit code 1", "gpu-7"),
        ("NET/IB : Got completion from peer 10.0.0.9 with status=12 opcode=0", "10.0.0.9"),
    ],
)
def test_a_line_that_follows_from_a_peer_names_it(line: str, peer: str) -> None:
    assert {hit.peer for hit in BOOK.read(Scope.LOG, line)} - {None} == {peer}
