"""What a pattern surely contains, and which patterns are too slow to be let in."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.evidence import Scope
from muster.fault_tolerance.core.patterns import danger, literals
from muster.fault_tolerance.core.prefilter import prefilter
from muster.fault_tolerance.rulebook import shipped

BOOK = shipped()
LINES = sorted({x for rule in BOOK.rules for x in (*rule.examples, *rule.near_misses)})


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("Out of Memory", ("out of memory",)),
        ("(?:CUDA|HIP) out of memory", (" out of memory",)),
        ("NodeLost|PodGone", ("nodelost", "podgone")),
        (r"\[Errno 28\]", ("[errno 28]",)),
        (r"a{2}bcd(?:xyz)*", ("bcd",)),
        (r"(?:error )?fatal", ("fatal",)),
        (r"(?<!no )failure", ("failure",)),
        (r"(?=.{0,9}never)found", ("found",)),
        (r"x(?:abcdef)+", ("abcdef",)),
        (r"\d+|word", ()),
        (r"[abc]+", ()),
    ],
)
def test_texts_that_are_in_every_match_are_found(pattern: str, expected: tuple[str, ...]) -> None:
    assert literals(pattern) == expected


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+",
        r"(?:\s*x*)*y",
        r"((ab)*c+)*",
        r".*x.*y",
        r"\S+:\S+",
        r"x.{0,400}y.{0,400}z",
        r"\w+.{0,80}x",
        r"(?:a|[^b]+)*c",
    ],
)
def test_a_pattern_that_may_take_very_long_is_refused(pattern: str) -> None:
    assert danger(pattern) is not None


@pytest.mark.parametrize(
    "pattern",
    [
        r"z(?:a{1,60}){1,60} x",
        r"z(?:a{1,60})* x",
        r"z((?:a{0,9}b?){1,40}){2}x",
        r"z(?:a?){30}a{30}",
        r"z(?:\w{1,9} ?){1,30}y",
        r"z(?:(?=a)a{1,9}){1,30}b",
        r"z(?:\S{1,9}a){1,30}y",
        r"(z)(?:\1a?){1,60}y",
    ],
)
def test_a_bounded_repetition_of_what_varies_is_refused(pattern: str) -> None:
    assert "{1,n}" in (danger(pattern) or "")


@pytest.mark.parametrize(
    "pattern",
    [
        r"z(a|a)*y",
        r"z(?:a|ab|b)*y",
        r"z(?:x|y|xy){1,30}z",
        r"z(?:ab?b?){1,40}y",
        r"z(?:\w|ab){1,60}y",
        r"z(?:ab|[a-c]b){1,60}y",
        r"z(?:a|aa){1,60}y",
        r"z(?i:ab|Ab)*y",
    ],
)
def test_alternatives_that_begin_alike_are_refused_within_a_repetition(pattern: str) -> None:
    assert danger(pattern) is not None


@pytest.mark.parametrize(
    "pattern", [r"za{1,60}a{1,60}a{1,60}y", r"z\d+\d+y", r"z(?:a{1,99}|b)\w{1,99}[a-f]{1,99}y"]
)
def test_neighbours_that_take_the_same_are_refused(pattern: str) -> None:
    assert danger(pattern) is not None


HOSTILE = ["z" + unit * (4096 // len(unit)) for unit in ("a", "ab", "a ", "1.", "/a", "z")]


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:z|)(?:\w{1,9} ){1,30}y",
        r"z(?:/\w{1,40}){1,20}!",
        r"z(?:\d{1,3}\.){3}\d{1,3}!",
        r"z(?:ab|cd)*!",
        r"z(?:foo|form){1,9}!",
        r"z(?:a{1,3}){1,3}!",
        r"z(?:a|b|[c-f])+!",
        r"za{1,60}a{1,60}!",
        r"z(?:ab?c)+!",
        r"z(?>a+){1,9}!",
        r"z(?:[^,]{0,40},){1,20}!",
    ],
)
def test_a_clear_repetition_is_let_in_and_quick_on_hostile_lines(pattern: str) -> None:
    assert danger(pattern) is None
    began = time.process_time()
    assert not any(re.search(pattern, line) for line in HOSTILE)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "pattern",
    [r"x.{0,300}y", r"a.*b", r"\d+ of \d+", r"(?:ab)+", r"[^:]{0,80}: \S{1,80}", r"(?!.{0,300}a)b"],
)
def test_a_bounded_pattern_is_let_in(pattern: str) -> None:
    assert danger(pattern) is None


@pytest.mark.parametrize("scope", [Scope.LOG, Scope.KERNEL, Scope.EVENT])
@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=12))
def test_many_lines_at_once_give_what_each_gives_alone(scope: Scope, chosen: list[str]) -> None:
    # a traceback or an interpreter's end would rightly change what the next lines mean
    lines = [x for x in chosen if "Exception" not in x and "atexit" not in x and "│" not in x]
    together = [(hit.rule.id, hit.number) for hit in BOOK.read(scope, "\n".join(lines))]
    assert together == [
        (hit.rule.id, number)
        for number, line in enumerate(lines, start=1)
        for hit in BOOK.read(scope, line)
    ]


@given(
    st.lists(st.text("abc -1", max_size=12), max_size=8),
    st.lists(
        st.lists(st.text("abc -1", min_size=1, max_size=3), min_size=1, max_size=3), max_size=5
    ),
)
def test_the_prefilter_calls_for_exactly_what_a_line_holds(
    lines: list[str], sought: list[list[str]]
) -> None:
    called = dict(prefilter(sought).called(lines))
    for index, line in enumerate(lines):
        holds = [place for place, texts in enumerate(sought) if any(t in line for t in texts)]
        assert called.get(index, []) == holds
