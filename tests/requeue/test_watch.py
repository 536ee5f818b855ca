"""An interrupted job that nobody was woken for is looked at again."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from muster.contracts.events import job_event
from muster.contracts.subjects import job_key
from muster.domain import facts as f
from muster.domain.errors import Temporary
from muster.domain.phases import Phase
from muster.log import Basis
from muster.log.memory import MemoryLog, Store
from muster.requeue.core.decide import on_release
from muster.requeue.watch import PATIENCE_S, Watch
from tests.support.lives import START, Life, auto_queue, spec


class Bench:
    """A log in memory, a clock that is moved by hand, and what was asked for."""

    def __init__(self) -> None:
        self.ticks = 0.0
        self.store = Store(lambda: START + timedelta(seconds=self.ticks))
        self.asked: list[tuple[str, str]] = []
        self.failing: set[str] = set()
        self.watch = Watch(MemoryLog(self.store), self, self._decide)
        self.life = Life(spec(auto_queue=auto_queue()))
        self.log = MemoryLog(self.store)

    def now(self) -> datetime:
        return START + timedelta(seconds=self.ticks)

    def monotonic(self) -> float:
        return self.ticks

    def on_server(self, instant: datetime) -> datetime:
        return instant

    def of_server(self, instant: datetime) -> datetime:
        return instant

    async def _decide(self, tenant: str, job: str) -> None:
        self.asked.append((tenant, job))
        if job in self.failing:
            raise Temporary("the log is away")

    async def record(self, fact: f.Fact) -> None:
        key = job_key(self.life.state.tenant, self.life.state.job)
        head = self.store.head(key.condition)
        event = job_event(
            self.life.state, fact, event_id=f"e{head}", source="muster/test", at=self.life.at
        )
        await self.log.append(event, Basis(key, head))


async def interrupted() -> Bench:
    bench = Bench()
    bench.life.interrupted("spot_reclaim")
    assert bench.life.state.phase is Phase.INTERRUPTED
    await bench.record(f.Released(attempt=1))
    await bench.watch.step()
    return bench


async def test_it_is_left_to_the_message_at_first() -> None:
    bench = await interrupted()
    bench.ticks += PATIENCE_S - 0.1
    await bench.watch.step()
    assert bench.asked == []


async def test_it_is_decided_about_when_no_message_came_and_once() -> None:
    bench = await interrupted()
    for _ in range(3):
        bench.ticks += PATIENCE_S
        await bench.watch.step()
    assert bench.asked == [(bench.life.state.tenant, bench.life.state.job)]


async def test_one_that_fails_keeps_nobody_waiting_and_is_tried_again() -> None:
    bench = await interrupted()
    first = bench.life.state.job
    bench.life = Life(spec(auto_queue=auto_queue()), name="other").interrupted("spot_reclaim")
    await bench.record(f.Released(attempt=1))
    await bench.watch.step()
    bench.failing = {first}
    for _ in range(2):
        bench.ticks += PATIENCE_S
        with pytest.raises(Temporary):
            await bench.watch.step()
    assert [job for _, job in bench.asked] == [first, "other", first]


async def test_what_was_decided_is_forgotten() -> None:
    bench = await interrupted()
    fact = on_release(bench.life.state)
    assert fact is not None
    bench.life.then(fact)
    await bench.record(fact)
    bench.ticks += PATIENCE_S
    await bench.watch.step()
    assert bench.asked == []


async def test_a_job_that_its_owner_stops_is_forgotten() -> None:
    bench = await interrupted()
    stop = f.StopRequested(by="ada", request="r1")
    bench.life.then(stop)
    await bench.record(stop)
    bench.ticks += PATIENCE_S
    await bench.watch.step()
    assert bench.asked == []
