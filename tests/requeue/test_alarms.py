"""An alarm may ring early, late, again, for another limit or for nobody: only the state decides."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from muster.bus import Trigger
from muster.contracts.alarms import Alarm
from muster.contracts.subjects import job_key, pool_key
from muster.domain import facts as f
from muster.domain.demand import QueueLimits
from muster.domain.edges import Owner
from muster.domain.phases import Phase
from muster.domain.pools import RoundDecided
from muster.domain.state import JobState
from muster.log import Basis
from muster.log.memory import MemoryLog, Store
from muster.requeue.handlers import Handlers
from muster.runtime.deadlines import alarms_of
from tests.support.log_lives import TENANT, HandClock, Lives

HOURS = timedelta(hours=2)


@dataclass
class Desk:
    """Requeue over a log in memory, with everyone else's pens beside it."""

    clock: HandClock = field(default_factory=HandClock)
    store: Store = field(init=False)
    handlers: Handlers = field(init=False)
    lives: Lives = field(init=False)

    def __post_init__(self) -> None:
        self.store = Store(self.clock.now)
        self.lives = Lives(MemoryLog(self.store), self.clock)
        self.restart()

    def restart(self) -> None:
        self.handlers = Handlers(self.lives.pen(Owner.REQUEUE))

    async def waiting(self, job: str = "j1") -> Alarm:
        """A job that waits, and the alarm that requeue has set for it."""
        await self.lives.queued(job)
        await self.handlers.deadlines.step()
        (alarm,) = self.store.alarms.values()
        return alarm

    async def rings(self, alarm: Alarm) -> None:
        body = alarm.to_bytes()
        trigger = Trigger(alarm.rings_on, 1, self.clock.now(), 1, body, alarm=alarm)
        await self.handlers.on_alarm(trigger)

    async def round(self) -> None:
        """The scheduler has looked, knowing everything that is recorded by now."""
        log, key = self.lives.log, pool_key("default", "decided")
        last = await log.last(key)
        fact = RoundDecided(epoch=1, round=1, upto=await log.end(), at=self.clock.now())
        pen = self.lives.pen(Owner.SCHEDULER)
        await pen.record(pen.about_pool("default", fact, Basis(key, last.head if last else 0)))

    async def state(self, job: str = "j1") -> JobState:
        recorded = await self.lives.log.last(job_key(TENANT, job))
        assert recorded is not None
        return recorded.job

    @property
    def events(self) -> list[str]:
        """What was recorded about jobs, by name."""
        subjects = (entry.subject for entry in self.store.entries)
        return [name.rpartition(".")[2] for name in subjects if name.startswith("jobs.")]


async def test_it_rings_and_the_queueing_has_ended_after_one_more_round() -> None:
    desk = Desk()
    alarm = await desk.waiting()
    desk.clock.instant = alarm.at
    await desk.rings(alarm)
    assert (await desk.state()).phase is Phase.QUEUED
    await desk.round()
    await desk.rings(alarm)
    assert (await desk.state()).phase is Phase.ABNORMAL


@pytest.mark.parametrize("early", [timedelta(microseconds=1), HOURS])
async def test_an_early_ring_changes_nothing(early: timedelta) -> None:
    desk = Desk()
    alarm = await desk.waiting()
    desk.clock.instant = alarm.at - early
    await desk.round()
    before = list(desk.events)
    await desk.rings(alarm)
    assert desk.events == before


async def test_late_and_repeated_rings_record_the_end_once() -> None:
    desk = Desk()
    alarm = await desk.waiting()
    desk.clock.instant = alarm.at + timedelta(days=3)
    await desk.round()
    for _ in range(3):
        await desk.rings(alarm)
    assert desk.events.count("queue_timed_out") == 1


async def test_a_ring_for_what_has_gone_on_changes_nothing() -> None:
    desk = Desk()
    alarm = await desk.waiting()
    placed = f.Scheduled(placement={"n1": ("worker-0",), "n2": ("worker-1",)})
    await desk.lives.say("j1", Owner.SCHEDULER, placed)
    desk.clock.instant = alarm.at + timedelta(hours=1)
    await desk.round()
    before = list(desk.events)
    await desk.rings(alarm)
    assert desk.events == before


async def test_a_ring_for_a_job_that_nobody_knows_changes_nothing() -> None:
    desk = Desk()
    alarm = await desk.waiting()
    before = list(desk.events)
    await desk.rings(alarm.model_copy(update={"job": "never-submitted"}))
    assert desk.events == before


async def test_what_a_ring_says_of_the_deadline_counts_for_nothing() -> None:
    desk = Desk()
    alarm = await desk.waiting()
    desk.clock.pass_by(minutes=1)
    await desk.round()
    before = list(desk.events)
    forged = alarm.model_copy(update={"at": desk.clock.now() - HOURS, "version": 99})
    await desk.rings(forged)
    assert desk.events == before


@pytest.mark.parametrize("hours", [1, 3])
async def test_another_limit_replaces_the_alarm_and_the_old_ring_changes_nothing(
    hours: int,
) -> None:
    desk = Desk()
    old = await desk.waiting()
    before = (await desk.state()).demand
    limits = QueueLimits(max_queue_hours=hours, max_requeues=1)
    after = before.model_copy(update={"queue": limits})
    change = f.Respecified(request="r-2", by="ann", before=before, demand=after)
    await desk.lives.say("j1", Owner.ADMISSION, change)
    await desk.handlers.deadlines.step()
    (new,) = desk.store.alarms.values()
    entered = (await desk.state()).entered_at
    assert entered is not None
    assert new.at == entered + timedelta(hours=hours)
    assert new.waits_on == old.waits_on
    first, then = sorted([old, new], key=lambda alarm: alarm.at)
    for alarm in (first, then):
        desk.clock.instant = alarm.at
        await desk.round()
        await desk.rings(alarm)
        ended = desk.clock.now() >= new.at
        assert desk.events.count("queue_timed_out") == ended


async def test_a_deadline_that_passed_while_requeue_was_down_ends_after_one_more_round() -> None:
    desk = Desk()
    alarm = await desk.waiting()
    await desk.round()
    desk.store.alarms.clear()
    desk.restart()
    desk.clock.pass_by(hours=5)
    await desk.handlers.deadlines.step()
    assert (await desk.state()).phase is Phase.QUEUED
    assert desk.clock.now() > alarm.at
    await desk.round()
    desk.clock.pass_by(seconds=2)
    await desk.handlers.deadlines.step()
    assert desk.events.count("queue_timed_out") == 1
    await desk.rings(alarm)
    assert desk.events.count("queue_timed_out") == 1


async def test_one_round_is_enough_for_every_job_that_it_knew() -> None:
    desk = Desk()
    for job in ("j1", "j2", "j3"):
        await desk.lives.queued(job)
    desk.clock.pass_by(hours=3)
    await desk.round()
    await desk.handlers.deadlines.step()
    assert desk.events.count("queue_timed_out") == 3


async def test_a_round_that_did_not_know_a_job_is_no_round_for_it() -> None:
    desk = Desk()
    first = await desk.waiting()
    desk.clock.instant = first.at
    await desk.round()
    await desk.rings(first)
    assert (await desk.state()).phase is Phase.ABNORMAL
    (late,) = alarms_of((await desk.lives.queued("j2")).job, Owner.REQUEUE)
    desk.clock.instant = late.at
    await desk.rings(late)
    assert (await desk.state("j2")).phase is Phase.QUEUED
    await desk.round()
    await desk.rings(late)
    assert (await desk.state("j2")).phase is Phase.ABNORMAL
