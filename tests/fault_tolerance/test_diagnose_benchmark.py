"""The benchmark of reading logs: its two ways find the same, and its jobs are judged rightly."""

from __future__ import annotations

from benchmarks.diagnose import LONG, SURVIVOR, Tails, judging, reading
from muster.fault_tolerance.core.lines import TAIL
from muster.fault_tolerance.rulebook import shipped

BOOK = shipped()


def test_the_prefilter_misses_nothing_and_is_faster() -> None:
    figures = reading(BOOK, tails=2, compared=2)
    assert figures["missed"] == 0
    assert isinstance(figures["times_faster"], float)
    assert figures["times_faster"] > 2


def test_a_job_of_many_ranks_is_judged_by_the_one_that_is_the_cause() -> None:
    figures = judging(BOOK, jobs=1)
    assert figures["right"] == 1
    assert figures["ranks"] == 1024


def test_tails_are_as_long_as_is_read_and_never_the_same() -> None:
    made = Tails(1)
    tails = {made.tail(LONG, SURVIVOR) for _ in range(5)}
    assert len(tails) == 5
    assert all(0.9 * TAIL < len(tail) <= TAIL for tail in tails)
    assert Tails(1).tail(LONG, SURVIVOR) in tails
