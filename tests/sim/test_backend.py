"""The pretended cluster is a backend like any other: what walks find is true of the port."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

import pytest

from muster.cli.simulation.backend import SimBackend
from muster.executor.backends import Launch, WorkerKey
from muster.log.memory import LogFault
from muster.testing.cluster import Life, Script, SimCluster, WorkerId, shape
from muster.testing.gates import Gate, Mood, ProcessHooks
from muster.testing.scripts import STUCK
from muster.testing.virtual_time import START, VirtualTime
from tests.contract.backend_suite import BackendSuite, Cluster

TICK_S = 0.2


class TickingHooks(ProcessHooks):
    """Time passes a little at every gate, and nobody interferes."""

    def __init__(self, time: VirtualTime, cluster: SimCluster) -> None:
        super().__init__(Mood())
        self._time, self._cluster = time, cluster

    async def gate(self, gate: Gate) -> LogFault:
        self._time.pass_by(TICK_S)
        self._cluster.catch_up(self._time.elapsed)
        while gate.blocked is not None and gate.blocked():
            await asyncio.sleep(0.01)
        return LogFault.NONE


class SimulatedCluster(Cluster):
    """Its programs are scripts; a worker's is the one that its first launch named."""

    def __init__(self) -> None:
        self._time = VirtualTime()
        self._scripts: dict[WorkerId, Script] = {}
        self._cluster = SimCluster(self._scripts.__getitem__)
        self._cluster.add("node-1", shape(8))
        self._programs: dict[tuple[str, ...], Script] = {}

    def backend(self) -> SimBackend:
        hooks = TickingHooks(self._time, self._cluster)
        return _Remembering(self._cluster, self._time, hooks, self._remember)

    def _remember(self, launches: Sequence[Launch]) -> None:
        for each in launches:
            who = WorkerId(each.key.job, each.key.attempt, each.key.worker)
            self._scripts.setdefault(who, self._programs[each.command])

    def _program(self, name: str, script: Script) -> tuple[str, ...]:
        self._programs[name,] = script
        return (name,)

    def exits(self, code: int) -> tuple[str, ...]:
        return self._program(f"exits {code}", Script(start_s=0.0, run_s=0.1, exit_code=code))

    def dies_by(self, signal: int) -> tuple[str, ...]:
        return self.exits(128 + signal)

    def stops_when_told(self) -> tuple[str, ...]:
        return self._program("stops", Script(start_s=0.0, stop_s=0.1, stop_code=7))

    def ignores_stop(self) -> tuple[str, ...]:
        return self._program("ignores", Script(start_s=0.0, stop_s=None, vitals=STUCK))

    def prints(self, text: str) -> tuple[str, ...]:
        script = Script(start_s=0.0, run_s=0.1, exit_code=1, last_words=f"{text}\n")
        return self._program(f"prints {text}", script)

    def works(self) -> tuple[str, ...]:
        return self._program("works", Script(start_s=0.0))

    def say(self, text: str, at: datetime | None) -> None:
        self._cluster.say("node-1", text, (at - START).total_seconds() if at else None)

    def runs(self, key: WorkerKey) -> int:
        who = WorkerId(key.job, key.attempt, key.worker)
        worker = self._cluster.workers.get(who)
        up = worker is None or worker.life is not Life.STARTING
        return self._cluster.started.get(who, 0) if up else 0

    def told(self, key: WorkerKey) -> list[datetime]:
        worker = self._cluster.workers[WorkerId(key.job, key.attempt, key.worker)]
        return [worker.deadline] if worker.deadline else []


class _Remembering(SimBackend):
    def __init__(
        self,
        cluster: SimCluster,
        time: VirtualTime,
        hooks: ProcessHooks,
        remember: object,
    ) -> None:
        super().__init__(cluster, time, hooks)
        self._remember = remember

    async def launch(self, launches: Sequence[Launch]) -> None:
        self._remember(launches)  # type: ignore[operator]
        await super().launch(launches)


class TestSimBackend(BackendSuite):
    @pytest.fixture
    def cluster(self) -> SimulatedCluster:
        return SimulatedCluster()
