"""The index of deadlines: what is due, what is missing, and that a turn costs only that."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta

import pytest

from muster.domain.state import DeadlineKind, JobState
from muster.runtime.deadline_index import (
    LATE_S,
    MAX_REFIRE_S,
    REARM_S,
    REFIRE_S,
    DeadlineIndex,
    Kept,
)
from tests.support.lives import START, Life, auto_queue, spec

QUEUE = DeadlineKind.QUEUE
WAITS = Life(spec(auto_queue=auto_queue(hours=1))).queued().state


class Bench:
    """An index, Muster's time and monotonic time, moved by hand."""

    def __init__(self) -> None:
        self.index = DeadlineIndex()
        self.now, self.ticks = START, 500.0

    def wait(self, seconds: float, *, step: float = 0.0) -> None:
        self.ticks += seconds
        self.now += timedelta(seconds=seconds + step)

    def keep(self, job: str, *seconds: float, version: int = 1) -> None:
        """Keep deadlines so many seconds after the beginning; the first is of the queue."""
        kinds = (QUEUE, DeadlineKind.ROUND)
        armed = [(k, START + timedelta(seconds=s)) for k, s in zip(kinds, seconds, strict=False)]
        self.index.note(self.state(job, version), armed, self.now, self.ticks)

    def state(self, job: str, version: int = 1) -> JobState:
        return WAITS.model_copy(update={"job": job, "version": version})

    def due(self, limit: int = 100) -> list[str]:
        return names(self.index.take_due(self.now, self.ticks, limit))

    def missing(self, limit: int = 100) -> list[str]:
        return names(self.index.take_missing(self.now, self.ticks, limit))

    def set(self, job: str, seconds: float) -> bool:
        at = START + timedelta(seconds=seconds)
        return self.index.note_set(job, QUEUE, at, self.now, self.ticks)


def names(found: Sequence[Kept]) -> list[str]:
    return [kept.job for kept in found]


def test_what_is_over_comes_in_order_and_no_sooner_than_its_second() -> None:
    bench = Bench()
    bench.keep("late", 20)
    bench.keep("early", 10)
    bench.wait(10 + LATE_S - 0.01)
    assert bench.due() == []
    bench.wait(0.01)
    assert bench.due() == ["early"]
    bench.wait(10)
    assert bench.due() == ["early", "late"]


def test_what_stands_is_fired_again_after_ever_longer_waits() -> None:
    bench = Bench()
    bench.keep("j", 0)
    bench.wait(LATE_S)
    fired = []
    for second in range(121):
        if bench.due():
            fired.append(second)
        bench.wait(1)
    first = [0, 2, 6, 14, 30]
    assert fired == [*first, *range(60, 121, int(MAX_REFIRE_S))]
    assert first[1] == REFIRE_S


def test_what_was_fired_in_vain_is_tried_at_once_when_the_job_has_changed() -> None:
    bench = Bench()
    bench.keep("j", 0)
    bench.wait(LATE_S)
    assert bench.due() == ["j"]
    bench.wait(0.1)
    bench.keep("j", 0, version=2)
    assert bench.due() == ["j"]


def test_a_turn_takes_no_more_than_it_is_allowed() -> None:
    bench = Bench()
    for number in range(5):
        bench.keep(f"j{number}", number)
    assert bench.missing(3) == ["j1", "j2", "j3"]
    bench.wait(60)
    assert bench.due(2) == ["j0", "j1"]
    assert bench.due(2) == ["j2", "j3"]
    assert bench.due(2) == ["j4"]
    assert bench.due(2) == []


def test_the_nearest_alarms_are_set_first_and_those_that_are_over_never() -> None:
    bench = Bench()
    bench.wait(5)
    for seconds in (300, 5, 100, 200):
        bench.keep(f"j{seconds}", seconds)
    assert bench.missing(2) == ["j100", "j200"]
    bench.set("j100", 100)
    assert bench.missing(2) == ["j200", "j300"]


def test_an_alarm_is_missing_until_it_is_known_to_be_set() -> None:
    bench = Bench()
    bench.keep("j", 3600)
    assert bench.missing() == bench.missing() == ["j"]
    assert bench.set("j", 3600)
    assert bench.missing() == []
    assert bench.index.is_set("j", QUEUE, START + timedelta(seconds=3600))


def test_the_alarm_of_another_deadline_is_not_this_one() -> None:
    bench = Bench()
    bench.keep("j", 3600)
    bench.set("j", 3600)
    bench.keep("j", 7200, version=2)
    assert not bench.index.is_set("j", QUEUE, START + timedelta(seconds=7200))
    assert bench.missing() == ["j"]
    assert not bench.set("j", 3600)
    assert not bench.set("nobody", 3600)


@pytest.mark.parametrize(("seconds", "times"), [(43_200, 11), (3600, 7), (61, 2), (60, 1)])
def test_an_alarm_is_set_again_halfway_and_halfway_from_there(seconds: int, times: int) -> None:
    bench = Bench()
    bench.keep("j", seconds)
    count = 0
    for _ in range(seconds):
        assert bench.due() == []
        if bench.missing():
            count += 1
            bench.set("j", seconds)
        bench.wait(1)
    assert count == times
    assert REARM_S == 60


def test_what_no_longer_counts_is_forgotten() -> None:
    bench = Bench()
    bench.keep("gone", 10)
    bench.keep("stays", 10)
    assert len(bench.index) == 2
    bench.keep("gone")
    assert len(bench.index) == 1
    assert bench.missing() == ["stays"]
    bench.wait(60)
    assert bench.due() == ["stays"]


def test_a_job_may_have_several_deadlines() -> None:
    bench = Bench()
    bench.keep("j", 10, 20)
    bench.wait(10 + LATE_S)
    assert bench.due() == ["j"]
    bench.keep("j", 10)
    bench.wait(20)
    assert bench.due() == ["j"]
    assert len(bench.index) == 1


@pytest.mark.parametrize("step", [3600.0, -3600.0])
def test_when_the_time_is_corrected_every_moment_is_found_anew(step: float) -> None:
    """As a service's is that came between a step of the server's clock and its being agreed."""
    bench = Bench()
    bench.keep("j", 7200)
    bench.set("j", 7200)
    assert bench.due() == []
    bench.wait(1, step=step)
    assert bench.due() == []
    bench.wait(7199 - step)
    assert bench.due() == []
    bench.wait(LATE_S)
    assert bench.due() == ["j"]


def test_an_idle_turn_does_not_look_at_what_is_kept() -> None:
    """Not a measurement: a turn that looked at each would take a thousand times as long."""
    bench = Bench()
    for number in range(50_000):
        bench.keep(f"j{number}", 3600 + number % 3600)
        bench.set(f"j{number}", 3600 + number % 3600)
    assert bench.due() == bench.missing() == []
    began = time.process_time()
    for _ in range(1000):
        assert bench.due() == bench.missing() == []
    assert time.process_time() - began < 2


def test_heaps_do_not_grow_with_what_happens_to_one_deadline() -> None:
    bench = Bench()
    for number in range(20_000):
        bench.keep("j", 3600 + number, version=number)
        assert bench.missing() == ["j"]
        assert bench.due() == []
    sizes = [len(bench.index._due), len(bench.index._missing)]
    assert max(sizes) < 10_000
