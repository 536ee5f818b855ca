"""One run: a server that syncs every write, requeue beside it, deadlines that end, SIGKILL."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from statistics import quantiles

from nats.aio.client import Client

from benchmarks.alarms_jobs import Ended, Rounds, enqueue, ring, unasked
from benchmarks.gangs_stack import Stack, used_by
from benchmarks.log_server import opened
from muster.bus.api import call
from muster.bus.provision import provision
from muster.bus.topology import Stream
from muster.contracts.alarms import Alarm
from muster.log.jetstream import JetStreamLog
from muster.runtime.nats_server import EmbeddedServer
from muster.runtime.ports import free_port

READY_S = 60.0
PATIENCE_S = 900.0
EXTRA = 50
"""One alarm of so many rings twice more than it should: early, and for another limit."""


@dataclass(frozen=True, slots=True)
class Size:
    """outstanding: alarms. lead: seconds for setting them. span: seconds in which they ring."""

    outstanding: int
    lead: float
    span: float
    kills: int = 2


@dataclass(slots=True)
class Outcome:
    """What was seen. ended: the records. rings: by job, for each ring how long after the deadline
    the server rang and requeue heard it, negative before."""

    size: Size
    ended: Ended
    set_first: int = 0
    set_per_s: float = 0.0
    kills: int = 0
    rung: int = 0
    rings: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    used: dict[str, dict[str, float]] = field(default_factory=dict)

    def line(self) -> dict[str, object]:
        """The result, to print."""
        lost = self.size.outstanding - len(self.ended.late)
        in_time = [[ring for ring in each if ring[0] > 0] for each in self.rings.values()]
        first = [min(each) for each in in_time if each]
        heard = sum(len(each) for each in self.rings.values())
        return {
            "bench": "alarms",
            "outstanding": self.size.outstanding,
            "kills": self.kills,
            "lost": lost,
            "extra": heard - len(self.rings),
            "never_rang": self.size.outstanding - len(first),
            "events": self.ended.events,
            "other_events": self.ended.others,
            "set_first": self.set_first,
            "set_per_s": round(self.set_per_s),
            **_spread("late", [rang for rang, _ in first]),
            **_spread("heard", [heard for _, heard in first]),
            **_spread("ended", list(self.ended.late.values())),
            "rss_mib": self.used["server"]["mb"],
            "requeue_rss_mib": self.used["requeue"]["mb"],
            "requeue_cpu_s": self.used["requeue"]["cpu_s"],
        }


def _spread(name: str, seconds: Sequence[float]) -> dict[str, object]:
    if len(seconds) < 2:
        return {}
    cuts = quantiles(seconds, n=100)
    shown = {"p50": cuts[49], "p99": cuts[98], "max": max(seconds)}
    return {f"{name}_{what}_ms": round(value * 1000) for what, value in shown.items()}


class Run:
    """See the module."""

    def __init__(self, size: Size, folder: Path, server: EmbeddedServer, stack: Stack) -> None:
        self._size, self._folder, self._server, self._stack = size, folder, server, stack
        self._outcome = Outcome(size, Ended())
        self._rings = folder / "rings"

    async def run(self, connection: Client) -> Outcome:
        """Set everything, let it ring, kill the server meanwhile, and count."""
        log = JetStreamLog(connection)
        await provision(connection)
        begin = await log.now() + timedelta(seconds=self._size.lead)
        alarms = await enqueue(log, self._size.outstanding, begin, self._size.span)
        before, left = await log.end(), begin - await log.now()
        await self._set_all(connection, until=time.monotonic() + left.total_seconds())
        async with asyncio.timeout(self._size.lead + self._size.span + PATIENCE_S):
            async with asyncio.TaskGroup() as group:
                rounds = group.create_task(Rounds(log).run())
                group.create_task(self._kill(log, begin))
                group.create_task(self._extra(connection, alarms))
                await self._outcome.ended.follow(log, self._size.outstanding, before)
                rounds.cancel()
        await ring(connection, unasked(alarms, EXTRA))  # now they are late as well
        await self._quiet(connection)
        await self._count(alarms)
        return self._outcome

    async def _set_all(self, connection: Client, until: float) -> None:
        """Start requeue and wait until it has set every alarm, or until the first one rings."""
        self._stack.start("requeue", "benchmarks.alarms_service", [str(self._rings)])
        began, found = time.monotonic(), 0
        while (found := await _stored(connection)) < self._size.outstanding:
            if ended := self._stack.ended():
                raise SystemExit(ended)
            if time.monotonic() >= until:
                break
            await asyncio.sleep(0.2)
        self._outcome.set_first = found
        self._outcome.set_per_s = found / (time.monotonic() - began)

    async def _kill(self, log: JetStreamLog, begin: datetime) -> None:
        """SIGKILL, evenly while they ring; the embedded server's watcher starts it again."""
        for number in range(1, self._size.kills + 1):
            at = begin + timedelta(seconds=self._size.span * number / (self._size.kills + 1))
            await asyncio.sleep(max(0.0, (at - await log.now()).total_seconds()))
            self._note_use()
            assert self._server.pid is not None
            os.kill(self._server.pid, signal.SIGKILL)
            self._outcome.kills += 1

    async def _extra(self, connection: Client, alarms: Sequence[Alarm]) -> None:
        self._outcome.rung = await ring(connection, unasked(alarms, EXTRA))

    async def _quiet(self, connection: Client) -> None:
        """Wait until requeue has heard every ring."""
        for _ in range(600):
            info = await call(connection, f"CONSUMER.INFO.{Stream.TIMERS}.requeue-alarms")
            if not info["num_pending"] and not info["num_ack_pending"]:
                return
            await asyncio.sleep(0.2)

    async def _count(self, alarms: Sequence[Alarm]) -> None:
        """What came in all, after every ring was heard."""
        self._note_use()
        await self._stack.stop()
        await self._outcome.ended.finish()
        ends = {alarm.job: alarm.at.timestamp() for alarm in alarms}
        for line in self._rings.read_text().splitlines():
            job, rang, heard = line.split()
            late = float(rang) - ends[job], float(heard) - ends[job]
            self._outcome.rings.setdefault(job, []).append(late)

    def _note_use(self) -> None:
        with contextlib.suppress(OSError):
            assert self._server.pid is not None
            now = {"server": used_by(self._server.pid)} | self._stack.used()
            for name, use in now.items():
                old = self._outcome.used.get(name, use)
                self._outcome.used[name] = {key: max(old[key], use[key]) for key in use}


async def _stored(connection: Client) -> int:
    info = await call(connection, f"STREAM.INFO.{Stream.TIMERS}")
    return int(info["state"]["messages"])


@asynccontextmanager
async def _server(folder: Path) -> AsyncIterator[EmbeddedServer]:
    server = EmbeddedServer(folder / "nats", port=free_port())
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def run(size: Size, folder: Path) -> Outcome:
    """Run once in an empty folder."""
    async with _server(folder) as server:
        stack = Stack(server.url, folder)
        connection = await opened(server.url, "bench")
        try:
            return await Run(size, folder, server, stack).run(connection)
        finally:
            stack.kill()
            await connection.close()
