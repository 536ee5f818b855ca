"""What a pattern surely contains, and which patterns are too slow to be let in."""

from __future__ import annotations

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
