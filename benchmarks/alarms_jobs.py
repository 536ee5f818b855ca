"""Queue entries that end when a benchmark wants them to, what a scheduler says meanwhile, and rings
that nobody asked for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from nats.aio.client import Client

from muster.contracts import subjects
from muster.contracts.alarms import Alarm
from muster.contracts.events import job_event, pool_event
from muster.domain import facts as f
from muster.domain.auto_queue import AutoQueueSpec
from muster.domain.demand import ResourceClass
from muster.domain.edges import Owner
from muster.domain.errors import Conflict, Temporary
from muster.domain.evolve import evolve
from muster.domain.pools import RoundDecided
from muster.domain.spec import JobSpec, ResourceSpec
from muster.domain.state import JobState
from muster.log import (
    Append,
    Basis,
    EventLog,
    Follower,
    Recorded,
    UnknownOutcome,
    Unreadable,
    nothing,
)
from muster.log.jetstream_wire import Unanswered, Wire
from muster.runtime.deadlines import alarms_of
from muster.runtime.ids import new_id

TENANT, POOL = "bench", "default"
JOBS_A_BATCH = 400
ROUND_S = 0.25
SPEC = JobSpec(
    name="train",
    image="registry/train:1",
    command=("python", "train.py"),
    resource=ResourceSpec(type=ResourceClass.SPOT, replicas=2, gpus_per_replica=4),
    auto_queue=AutoQueueSpec(enabled=True, max_queue_hours=1, max_requeues=3),
)
HOUR = timedelta(hours=1)


def _facts(job: str) -> tuple[f.Submitted, f.Admitted]:
    submitted = f.Submitted(
        tenant=TENANT,
        job=job,
        user="ann",
        pool=POOL,
        request=f"r-{job}",
        digest="0" * 64,
        spec=SPEC,
        demand=SPEC.demand(),
    )
    return submitted, f.Admitted()


def _states(job: str, until: datetime) -> tuple[JobState, JobState]:
    submitted, admitted = _facts(job)
    first = evolve(None, submitted, until - HOUR)
    return first, evolve(first, admitted, until - HOUR)


def waiting(job: str, until: datetime) -> JobState:
    """A job that came to the queue an hour before its deadline."""
    return _states(job, until)[1]


def _appends(job: str, until: datetime) -> tuple[Append, Append]:
    first, second = (
        job_event(state, fact, event_id=new_id(), source="muster/bench", at=until - HOUR)
        for state, fact in zip(_states(job, until), _facts(job), strict=True)
    )
    return Append(first, nothing(subjects.job_key(TENANT, job))), Append(second, None)


async def enqueue(log: EventLog, count: int, begin: datetime, span: float) -> list[Alarm]:
    """Record so many waiting jobs whose hours end evenly within `span` seconds from `begin`."""
    alarms: list[Alarm] = []
    for start in range(0, count, JOBS_A_BATCH):
        appends: list[Append] = []
        for number in range(start, min(count, start + JOBS_A_BATCH)):
            # neighbours in the log are not neighbours in time
            place = number * 7919 % count
            until = begin + timedelta(seconds=span * place / count)
            job = f"j{new_id()[-19:]}"
            first, second = _appends(job, until)
            appends += (first, second)
            alarms += alarms_of(second.event.data.job, Owner.REQUEUE)
        await log.append_all(appends)
    return alarms


class Rounds:
    """Stands in for a scheduler that finds no room: says four times a second that it looked."""

    def __init__(self, log: EventLog) -> None:
        self._log, self._round = log, 0

    async def run(self) -> None:
        """Go on until cancelled, over outages of the log."""
        while True:
            with contextlib.suppress(Conflict, Temporary):  # it looks again anyway
                await self._one()
            await asyncio.sleep(ROUND_S)

    async def _one(self) -> None:
        self._round += 1
        key = subjects.pool_key(POOL, "decided")
        last = await self._log.last(key, leader=True)
        upto, at = await self._log.end(), await self._log.now()
        fact = RoundDecided(epoch=1, round=self._round, upto=upto, at=at)
        event = pool_event(POOL, fact, event_id=new_id(), source="muster/bench", at=at)
        await self._log.append(event, Basis(key, last.head if last else 0))


@dataclass(slots=True)
class Ended:
    """What became of the jobs, as their events come: seconds from the deadline to the record."""

    late: dict[str, float] = field(default_factory=dict)
    events: int = 0
    others: int = 0
    doubles: int = 0
    _follower: Follower | None = None

    async def follow(self, log: EventLog, count: int, after: int) -> None:
        """Read until every job has ended."""
        self._follower = await log.follow((f"jobs.{TENANT}.>",), after)
        while len(self.late) < count:
            try:
                self._note_all(await self._follower.next(1.0))
            except Temporary:  # and let the connection come back
                await asyncio.sleep(0.1)

    async def finish(self) -> None:
        """Read what has come since, to the end of the log."""
        assert self._follower is not None
        while page := await self._follower.next(2.0):
            self._note_all(page)
        await self._follower.close()

    def _note_all(self, page: Sequence[Recorded | Unreadable]) -> None:
        for item in page:
            if isinstance(item, Recorded):
                self._note(item)

    def _note(self, recorded: Recorded) -> None:
        if not isinstance(recorded.event.data.detail, f.QueueTimedOut):
            self.others += 1
            return
        self.events += 1
        self.doubles += recorded.job.job in self.late
        entered = recorded.job.entered_at
        assert entered is not None
        self.late[recorded.job.job] = (recorded.at - entered - HOUR).total_seconds()


def unasked(alarms: Sequence[Alarm], share: int) -> Iterator[Alarm]:
    """One alarm of `share` once more, and one of another limit that the job never had."""
    for alarm in alarms[::share]:
        yield alarm
        yield alarm.model_copy(update={"version": 1, "at": alarm.at - HOUR})


async def ring(connection: Client, alarms: Iterator[Alarm]) -> int:
    """Put rings on the bus that no schedule has made; returns how many."""
    wire, rung = Wire(connection), 0
    for alarm in alarms:
        while True:
            try:
                await wire.ask(alarm.rings_on, alarm.to_bytes(), timeout=2.0)
            except (Unanswered, UnknownOutcome):
                await asyncio.sleep(0.2)
            else:
                rung += 1
                break
    return rung
