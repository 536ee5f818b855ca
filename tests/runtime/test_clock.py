"""The clock of a service: what it writes to the log about the server's, and what it reads there."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import cast

import pytest

from muster.contracts.subjects import CLOCK
from muster.domain.clock import CLOCK_OWNERS, ClockSet
from muster.domain.edges import Owner
from muster.log import EventLog, Recorded
from muster.log.memory import LogFault, MemoryLog, Store
from muster.runtime.clock import ServerClock, ticks
from tests.support.lives import START


class Machine:
    """A server whose clock can be moved, and services on machines of their own."""

    def __init__(self) -> None:
        self.elapsed, self.moved = 0.0, 0.0
        self.store = Store(self.shows)

    def shows(self) -> datetime:
        return START + timedelta(seconds=self.elapsed + self.moved)

    def monotonic(self) -> float:
        return self.elapsed

    async def clock(self, owner: Owner = Owner.REQUEUE, hooks: Hurry | None = None) -> ServerClock:
        clock = ServerClock(MemoryLog(self.store, hooks), owner, monotonic=self.monotonic)
        await clock.synchronise()
        return clock

    def off(self, clock: ServerClock) -> float:
        return (clock.now() - START).total_seconds() - self.elapsed

    @property
    def said(self) -> list[ClockSet]:
        entries = [self.store.entries[seq - 1] for seq in self.store.sequences(CLOCK.condition)]
        return [entry.event.data.detail for entry in entries if entry.event is not None]


class Slow:
    """A server that answers late: its clock was read at the beginning of the wait."""

    def __init__(self, machine: Machine, seconds: float) -> None:
        self._log, self._machine, self._seconds = MemoryLog(machine.store), machine, seconds

    async def now(self) -> datetime:
        told = await self._log.now()
        self._machine.elapsed += self._seconds
        return told

    def __getattr__(self, name: str) -> object:
        return getattr(self._log, name)


class Hurry:
    """Lets somebody else write just before the first append of a client."""

    def __init__(self, other: ServerClock) -> None:
        self._other: ServerClock | None = other

    async def before(self, operation: str) -> LogFault:
        other = self._other
        if operation == "append" and other is not None:
            self._other = None
            await other.synchronise()
        return LogFault.NONE

    async def after(self, operation: str) -> None:
        return None


@pytest.mark.parametrize("step", [3600.0, -3600.0])
async def test_the_first_that_sees_a_step_says_so_once(step: float) -> None:
    machine = Machine()
    one, other = await machine.clock(), await machine.clock(Owner.SCHEDULER)
    machine.elapsed, machine.moved = 70.0, step
    for clock in (one, other, one):
        await clock.synchronise()
    assert [fact.stepped for fact in machine.said] == [step]
    assert machine.off(one) == machine.off(other) == machine.off(await machine.clock()) == 0
    due = one.now() + timedelta(seconds=5)
    assert one.on_server(due) == machine.shows() + timedelta(seconds=5)
    assert one.of_server(machine.shows()) == one.now()
    far = one.of_server(machine.shows() + timedelta(days=365))
    assert far == machine.shows() + timedelta(days=365)  # nothing will be left of it


async def test_two_that_see_it_at_once_agree() -> None:
    machine = Machine()
    other = await machine.clock(Owner.SCHEDULER)
    one = await machine.clock(hooks=Hurry(other))
    machine.elapsed, machine.moved = 70.0, 3600.0
    await one.synchronise()
    assert len(machine.said) == 1
    assert machine.off(one) == machine.off(other) == 0


@pytest.mark.parametrize("owner", sorted(set(Owner) - CLOCK_OWNERS))
async def test_who_may_not_say_so_waits_for_one_who_may(owner: Owner) -> None:
    machine = Machine()
    one, follower = await machine.clock(), await machine.clock(owner)
    machine.elapsed, machine.moved = 70.0, -3600.0
    await follower.synchronise()
    assert machine.said == []
    assert machine.off(follower) == 0
    await one.synchronise()
    await follower.synchronise()
    assert len(machine.said) == 1
    assert machine.off(follower) == 0


async def test_when_nobody_was_there_the_servers_time_is_all_that_is_known() -> None:
    machine = Machine()
    await machine.clock()
    machine.elapsed, machine.moved = 70.0, -3600.0
    assert machine.off(await machine.clock()) == -3600
    assert machine.said == []


async def test_a_failover_to_a_server_with_another_clock_and_back() -> None:
    machine = Machine()
    one = await machine.clock()
    for moved in (3600.0, 0.0, -120.0, 0.0):
        machine.elapsed += 10
        machine.moved = moved
        await one.synchronise()
        assert machine.off(one) == pytest.approx(0, abs=0.1)
    assert [round(fact.offset) for fact in machine.said] == [3600, 0, -120, 0]


async def test_a_server_that_takes_half_a_minute_to_answer_has_not_stepped() -> None:
    machine = Machine()
    log = Slow(machine, 0.0)
    clock = ServerClock(cast("EventLog", log), Owner.REQUEUE, monotonic=machine.monotonic)
    for seconds in (30.0, 0.0, 30.0, 30.0, 0.0):
        log._seconds = seconds
        await clock.synchronise()
    assert machine.said == []
    assert machine.off(clock) == 0


async def test_what_is_said_is_an_event_like_any_other() -> None:
    machine = Machine()
    one = await machine.clock()
    machine.elapsed, machine.moved = 70.0, 3600.0
    await one.synchronise()
    last = await MemoryLog(machine.store).last(CLOCK)
    assert isinstance(last, Recorded)
    assert last.event.subject == "clusters.log.clock"
    assert last.event.source == "muster/requeue"
    assert last.event.time == START + timedelta(seconds=70)


def test_the_machines_clock_goes_on() -> None:
    assert ticks() <= ticks()
