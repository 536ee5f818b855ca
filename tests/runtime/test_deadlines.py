"""The keeper of deadlines: sets what is missing, fires what is over, trusts no alarm."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from muster.contracts.alarms import Alarm
from muster.contracts.events import job_event
from muster.contracts.subjects import job_key
from muster.domain import facts as f
from muster.domain.edges import Owner
from muster.domain.errors import Temporary
from muster.domain.state import DeadlineKind
from muster.log import Basis
from muster.log.memory import MemoryLog, Store
from muster.runtime.deadline_index import LATE_S, REFIRE_S
from muster.runtime.deadlines import SETS_A_TURN, Deadlines
from tests.support.lives import START, Life, auto_queue, spec


class Bench:
    """A keeper for requeue over a log in memory; server time and monotonic time move by hand."""

    def __init__(self) -> None:
        self.at, self.ticks, self.ahead = START, 1000.0, 0.0
        self.store = Store(lambda: self.at)
        self.log = MemoryLog(self.store)
        self.fired: list[Alarm] = []
        self.keeper = Deadlines(Owner.REQUEUE, self.log, self, self._fire)

    async def _fire(self, alarm: Alarm) -> None:
        self.fired.append(alarm)

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.ticks

    def on_server(self, instant: datetime) -> datetime:
        return instant + timedelta(seconds=self.ahead)

    def of_server(self, instant: datetime) -> datetime:
        return instant - timedelta(seconds=self.ahead)

    def wait(self, seconds: float, *, step: float = 0.0) -> None:
        """Let time pass; `step` is what the server's clock jumps beside."""
        self.ticks += seconds
        self.at += timedelta(seconds=seconds + step)

    async def record(self, life: Life, fact: f.Fact) -> None:
        """Append a fact of a life."""
        head = self.store.head(job_key("acme", "j1").condition)
        life.at = max(life.at, self.at)
        life.then(fact, after=0)
        event = job_event(life.state, fact, event_id=f"e{head}", source="muster/test", at=life.at)
        await self.log.append(event, Basis(job_key("acme", "j1"), head))


async def queued() -> tuple[Bench, Life]:
    bench, life = Bench(), Life(spec(auto_queue=auto_queue(hours=1)))
    await bench.record(life, f.Admitted())
    await bench.keeper.step()
    return bench, life


async def test_a_missing_alarm_is_set_and_set_again_in_time() -> None:
    bench, life = await queued()
    (waiting,) = bench.store.alarms
    bench.store.alarms.clear()
    bench.wait(1799)
    await bench.keeper.step()
    assert not bench.store.alarms
    bench.wait(2)
    await bench.keeper.step()
    assert set(bench.store.alarms) == {waiting}
    assert bench.store.alarms[waiting].at == life.state.deadlines[DeadlineKind.QUEUE]


async def test_a_deadline_fires_by_itself_and_again_while_it_stands() -> None:
    bench, _ = await queued()
    bench.wait(3600 - 0.001)
    await bench.keeper.step()
    assert bench.fired == []
    bench.wait(LATE_S + 0.001)
    await bench.keeper.step()
    await bench.keeper.step()
    assert len(bench.fired) == 1
    bench.wait(REFIRE_S)
    await bench.keeper.step()
    assert len(bench.fired) == 2


async def test_what_no_longer_counts_is_forgotten() -> None:
    bench, life = await queued()
    await bench.record(life, f.Scheduled(placement={"n1": ("worker-0", "worker-1")}))
    bench.wait(7200)
    await bench.keeper.step()
    assert bench.fired == []


async def test_a_handler_sets_an_alarm_once() -> None:
    bench, life = await queued()
    bench.store.alarms.clear()
    await bench.keeper.keep(life.state)
    assert not bench.store.alarms


async def test_an_alarm_that_was_set_too_late_is_not_remembered_for_ever() -> None:
    """The log was read past the state for which a handler set it: nothing would ever remove it."""
    bench, life = await queued()
    old = life.state
    await bench.record(life, f.Scheduled(placement={"n1": ("worker-0", "worker-1")}))
    await bench.keeper.step()
    await bench.keeper.keep(old)
    assert bench.keeper._early
    await bench.keeper.step()
    assert not bench.keeper._early


async def test_a_handler_sets_what_the_index_has_not_read_yet() -> None:
    bench, life = Bench(), Life(spec(auto_queue=auto_queue(hours=1))).queued()
    await bench.keeper.keep(life.state)
    assert len(bench.store.alarms) == 1


async def test_an_alarm_is_set_by_the_servers_clock_where_that_is_ahead() -> None:
    bench = Bench()
    bench.ahead = 3600.0
    await bench.record(Life(spec(auto_queue=auto_queue(hours=1))), f.Admitted())
    await bench.keeper.step()
    (alarm,) = bench.store.alarms.values()
    assert alarm.rings_at - alarm.at == timedelta(hours=1)
    assert alarm.at == START + timedelta(hours=1)


async def test_what_a_handler_has_set_is_not_set_again_by_the_reading_of_the_log() -> None:
    bench, life = Bench(), Life(spec(auto_queue=auto_queue(hours=1)))
    await bench.record(life, f.Admitted())
    await bench.keeper.keep(life.state)
    bench.store.alarms.clear()
    await bench.keeper.keep(life.state)
    await bench.keeper.step()
    assert not bench.store.alarms


async def test_one_that_cannot_be_fired_holds_up_no_other() -> None:
    bench = Bench()
    fired = await several(bench, 3, fails="j1")
    bench.wait(3600 + LATE_S)
    with pytest.raises(Temporary):
        await bench.keeper.step()
    assert sorted(fired) == ["j0", "j2"]
    bench.wait(REFIRE_S)
    with pytest.raises(Temporary):
        await bench.keeper.step()
    assert sorted(fired) == ["j0", "j0", "j2", "j2"]


async def test_a_restart_sets_so_many_alarms_in_a_turn() -> None:
    bench = Bench()
    await several(bench, SETS_A_TURN + 5)
    await bench.keeper.step()
    assert len(bench.store.alarms) == SETS_A_TURN
    await bench.keeper.step()
    assert len(bench.store.alarms) == len(bench.keeper) == SETS_A_TURN + 5


async def several(bench: Bench, count: int, fails: str = "") -> list[str]:
    """Let some jobs wait; returns the list of those whose deadlines will have been fired."""
    fired: list[str] = []

    async def fire(alarm: Alarm) -> None:
        if alarm.job == fails:
            raise Temporary("the log is away", delay=1)
        fired.append(alarm.job)

    bench.keeper = Deadlines(Owner.REQUEUE, bench.log, bench, fire)
    for number in range(count):
        name = f"j{number}"
        life = Life(spec(auto_queue=auto_queue(hours=1)), name=name, at=bench.at)
        life.then(f.Admitted(), after=0)
        event = job_event(life.state, f.Admitted(), event_id=name, source="muster/x", at=bench.at)
        await bench.log.append(event, Basis(job_key("acme", name), 0))
    return fired
