"""Two scheduler processes that both believe to lead, on three servers: no node is ever too full.

They are stopped and continued in turn, one does not hear answers for a while, and the server that
leads the log is killed or stands still. Meanwhile the log is read as it grows, by the invariants of
the simulation.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from benchmarks.gangs_client import gang
from benchmarks.gangs_stack import Stack
from muster.bus.provision import provision
from muster.contracts import subjects
from muster.contracts.requests import request_type
from muster.domain.errors import Temporary
from muster.domain.phases import Phase
from muster.log import Recorded
from muster.log.jetstream import JetStreamLog
from muster.log.memory import Store, StoredEntry
from muster.runtime.connection import NatsSettings, connect
from muster.testing.cluster import Script, SimCluster
from muster.testing.invariants.base import Fold, Known
from muster.testing.invariants.capacity import NoNodeOverCapacity
from muster.testing.invariants.life import NothingStaleCounts, OneWriter
from muster.testing.invariants.preemption import GuaranteeIsKept
from muster.testing.world import World
from tests.support.eventually import eventually
from tests.support.fleet import publish
from tests.support.lossy import LossyRelay
from tests.support.nats import NatsCluster

NODES, GPUS = 8, 8
TROUBLE_S = 40.0
LIVE = 14
SILENT_S = 5.5
"""Longer than a scheduler waits for the answer to a batch."""

TENANT, SEED = "acme", 5

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.cluster, pytest.mark.timeout(240)]


class Reading:
    """Reads the log as it grows; each event goes through the invariants as soon as it is there."""

    def __init__(self) -> None:
        self._world = World(0, [])
        self.known = Known(SimCluster(lambda who: Script()))
        watched = (NoNodeOverCapacity, OneWriter, NothingStaleCounts, GuaranteeIsKept)
        self._fold = Fold(self.known, [each(self.known) for each in watched])
        self.events: Counter[str] = Counter()
        self.holders: list[str] = []

    async def run(self, log: JetStreamLog) -> None:
        """Read until cancelled. Raises Violation."""
        follower = await log.follow((subjects.ALL_JOBS, subjects.ALL_POOLS))
        while True:
            with contextlib.suppress(Temporary):  # no server for a while: it goes on from there
                for item in await follower.next(wait=0.5):
                    assert isinstance(item, Recorded)
                    self._take(self._world.store, item)

    def _take(self, store: Store, item: Recorded) -> None:
        event = item.event
        store.entries.append(StoredEntry(event.subject, item.seq, item.at, b"", event))
        self._fold.look(self._world)
        self.events[event.data.detail.event] += 1
        if event.data.detail.event == "epoch":
            self.holders.append(event.data.detail.holder)

    @property
    def takeovers(self) -> int:
        """How often the pool went from one scheduler to the other."""
        return sum(a != b for a, b in zip(self.holders, self.holders[1:], strict=False))


class Load:
    """Somebody who always wants more than there is, at all priorities, and stops what runs."""

    def __init__(self, client: Client, reading: Reading) -> None:
        self._client, self._reading = client, reading
        self._dice, self._number = random.Random(SEED), 0

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            await asyncio.sleep(0.05)
            jobs = [job for job in self._reading.known.jobs.values() if not job.ended_at]
            running = [job.job for job in jobs if job.phase is Phase.RUNNING]
            if len(jobs) < LIVE:
                await self._ask("submit", spec=self._gang())
            elif running and self._dice.random() < 0.3:
                await self._ask("stop", job=self._dice.choice(running))

    def _gang(self) -> dict[str, Any]:
        dice = self._dice
        spec = gang(dice.randint(1, 4), dice.choice((2, 4, 8, 8)))
        spec["resource"]["priority"] = dice.randint(1, 99)
        return spec

    async def _ask(self, verb: str, **data: Any) -> None:
        self._number += 1
        request = f"r{self._number}"
        body = {
            "specversion": "1.0",
            "id": request,
            "source": "tests",
            "type": request_type(verb),
            "data": {"user": "ann", **data},
        }
        subject = subjects.request_subject(TENANT, verb)
        await publish(self._client, subject, json.dumps(body).encode(), request)


class Trouble:
    """What happens to schedulers and servers, one thing after the other."""

    def __init__(self, stack: Stack, cluster: NatsCluster, relay: LossyRelay) -> None:
        self._stack, self._cluster, self._relay = stack, cluster, relay
        self._dice = random.Random(SEED)

    async def run(self) -> None:
        """Let each scheduler stand still in turn; in between something worse happens."""
        worse = [self._no_answers, self._kill_leader, self._stop_leader, self._no_answers]
        loop = asyncio.get_running_loop()
        end, turn = loop.time() + TROUBLE_S, 0
        while loop.time() < end or worse:
            await self._stand_still(f"scheduler-{1 + turn % 2}")
            turn += 1
            if worse and turn % 4 == 0:
                await worse.pop(0)()

    async def _stand_still(self, name: str) -> None:
        process = self._stack.processes[name]
        process.send_signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(self._dice.choice((0.2, 0.7, 1.5)))
        finally:
            process.send_signal(signal.SIGCONT)
        await asyncio.sleep(self._dice.choice((0.0, 0.05, 0.3)))

    async def _no_answers(self) -> None:
        """What the first scheduler writes is stored, and it does not hear of it."""
        self._relay.loses_answers = True
        await asyncio.sleep(SILENT_S)
        self._relay.loses_answers = False

    async def _kill_leader(self) -> None:
        killed = await self._cluster.kill_leader("EVENTS")
        await asyncio.sleep(1.0)
        await self._cluster.restart(killed)

    async def _stop_leader(self) -> None:
        """What was sent to it is read only when others have long elected another leader."""
        process = self._cluster.nodes[await self._cluster.leader("EVENTS")].process
        assert process is not None
        process.send_signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(SILENT_S)
        finally:
            process.send_signal(signal.SIGCONT)


@asynccontextmanager
async def schedulers(folder: Path, cluster: NatsCluster, relay: LossyRelay) -> AsyncIterator[Stack]:
    """Everything that such a pool needs, with two schedulers that have little patience."""
    stack = Stack(cluster.url, folder)
    rivals = {
        "MUSTER_SCHEDULER_STANDBY_LOOK_S": "0.1",
        "MUSTER_SCHEDULER_STANDBY_MISSES": "1",
        "MUSTER_SCHEDULER_CHECKPOINT_S": "0",
    }
    try:
        for name in ("admission", "requeue"):
            stack.start(name, f"muster.{name}.service")
        stack.start("executor", "benchmarks.gangs_executor", [str(NODES), str(GPUS)])
        through = {"MUSTER_NATS_URL": f"nats://127.0.0.1:{relay.port}"}
        stack.start("scheduler-1", "muster.scheduler.service", **rivals, **through)
        stack.start("scheduler-2", "muster.scheduler.service", **rivals)
        yield stack
        assert stack.ended() is None
        await stack.stop()
    finally:
        stack.kill()


async def test_no_node_is_over_capacity_whoever_believes_to_lead(
    nats_cluster: NatsCluster, tmp_path: Path
) -> None:
    async with await nats_cluster.connect() as client:
        await provision(client, replicas=3)
    connection = await connect(NatsSettings(servers=nats_cluster.url, name="test"))
    first = next(iter(nats_cluster.nodes.values()))
    reading = Reading()
    tasks: list[asyncio.Task[None]] = []
    try:
        async with (
            LossyRelay(first.port) as relay,
            schedulers(tmp_path, nats_cluster, relay) as stack,
        ):
            tasks.append(asyncio.create_task(reading.run(JetStreamLog(connection))))
            await eventually(lambda: reading.events["joined"] >= NODES, within=60)
            tasks.append(asyncio.create_task(Load(connection, reading).run()))
            await eventually(lambda: reading.events["started"] > 3, within=60)
            trouble = asyncio.create_task(Trouble(stack, nats_cluster, relay).run())
            tasks.append(trouble)
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            await next(task for task in tasks if task.done())  # raises what it found
            placed = reading.events["scheduled"]
            await eventually(lambda: reading.events["scheduled"] > placed + 3, within=60)
            await _unharmed(tasks[:2])
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await connection.close()
    assert reading.takeovers >= 4, reading.events
    assert reading.events["preempted"] >= 10, reading.events


async def _unharmed(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        if task.done():
            await task
