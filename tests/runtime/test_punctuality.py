"""A loop that misses its turns is told, by a figure and a line; one that is late once is not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from muster.domain.edges import Owner
from muster.domain.errors import Temporary
from muster.runtime.loops import LoopRunner
from muster.runtime.punctuality import SHORTEST_S, Punctuality
from muster.runtime.service import Loop, Service
from muster.testing.virtual_time import VirtualTime

PERIOD = 60.0


@dataclass
class Sweep:
    """A sweep that hangs in its first turn, fails in each, or is done at once."""

    time: VirtualTime
    fails: bool = False
    hangs: bool = False
    began: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def step(self) -> None:
        self.began.set()
        if self.hangs:
            await self.go_on.wait()
        if self.fails:
            raise Temporary("the database is away", 0.0)

    def runner(self, *, waits: bool = False) -> LoopRunner:
        loop = Loop("sweep", self.step, PERIOD, waits=waits)
        return LoopRunner(Service(Owner.REQUEUE, loops=(loop,)), lambda: self.time.elapsed)


def figure() -> float | None:
    labels = {"service": Owner.REQUEUE.value, "loop": "sweep"}
    return REGISTRY.get_sample_value("muster_loop_missed_turns", labels)


@pytest.fixture
def time() -> Iterator[VirtualTime]:
    yield VirtualTime()
    assert figure() is None, "a loop that has ended is told of still"


def lines(punctuality: Punctuality) -> list[tuple[str, object]]:
    with capture_logs() as told:
        punctuality.look()
    return [(line["event"], line.get("missed")) for line in told]


@pytest.mark.case("RQT-09")
@pytest.mark.parametrize(("silent", "missed"), [(59, 0), (60, 1), (119.9, 1), (120, 2), (601, 10)])
async def test_a_sweep_that_hangs_is_told_after_two_periods(
    time: VirtualTime, silent: float, missed: int
) -> None:
    sweep = Sweep(time, hangs=True)
    runner = sweep.runner()
    runner.start()
    await sweep.began.wait()
    time.pass_by(silent)
    assert figure() == missed
    alarm = [("loop misses its turns", missed)] if missed >= 2 else []
    assert lines(runner.punctuality) == alarm
    assert lines(runner.punctuality) == []  # once is enough
    await runner.stop()


@pytest.mark.case("RQT-09")
async def test_a_sweep_that_is_back_is_told_once_more(time: VirtualTime) -> None:
    sweep = Sweep(time, hangs=True)
    runner = sweep.runner()
    runner.start()
    await sweep.began.wait()
    time.pass_by(2 * PERIOD)
    assert lines(runner.punctuality) == [("loop misses its turns", 2)]
    sweep.go_on.set()
    while runner.punctuality.missed("sweep"):
        await asyncio.sleep(0)
    assert (figure(), lines(runner.punctuality)) == (0, [("loop is back in time", None)])
    await runner.stop()


@pytest.mark.case("RQT-09")
async def test_a_turn_that_fails_is_a_missed_one(time: VirtualTime) -> None:
    sweep = Sweep(time, fails=True)
    runner = sweep.runner()
    runner.start()
    await sweep.began.wait()
    time.pass_by(2 * PERIOD)
    assert figure() == 2
    await runner.stop()


async def test_a_loop_that_waits_for_something_has_no_turns_to_miss(time: VirtualTime) -> None:
    sweep = Sweep(time, hangs=True)
    runner = sweep.runner(waits=True)
    runner.start()
    await sweep.began.wait()
    time.pass_by(100 * PERIOD)
    assert (figure(), lines(runner.punctuality)) == (None, [])
    await runner.stop()


@pytest.mark.parametrize(("silent", "missed"), [(SHORTEST_S * 2 - 1, 1), (SHORTEST_S * 2, 2)])
def test_a_quick_loop_has_the_time_of_one_long_turn(
    time: VirtualTime, silent: float, missed: int
) -> None:
    async def step() -> None: ...

    punctuality = Punctuality("requeue", lambda: time.elapsed)
    punctuality.watch([Loop("sweep", step, every=0.01)])
    time.pass_by(silent)
    assert punctuality.missed("sweep") == missed
    punctuality.forget()


async def test_somebody_looks_while_the_loops_run(
    time: VirtualTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.runtime.punctuality.LOOK_S", 0.0)
    sweep = Sweep(time, hangs=True)
    runner = sweep.runner()
    with capture_logs() as told:
        runner.start()
        await sweep.began.wait()
        time.pass_by(2 * PERIOD)
        while not told:
            await asyncio.sleep(0)
    assert [line["event"] for line in told] == ["loop misses its turns"]
    await runner.stop()
