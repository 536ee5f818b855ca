"""An executor's desk over a pretended cluster and a log that is written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from muster.bus import Question
from muster.cli.simulation.backend import SimBackend
from muster.contracts import evidence as e
from muster.contracts import subjects
from muster.domain.edges import Owner
from muster.domain.evidence import FailureEvidence, JobSignals
from muster.executor.evidence import EvidenceDesk
from muster.executor.following import Following
from muster.executor.handlers import Handlers
from muster.executor.launches import Launches
from muster.executor.settings import ExecutorSettings
from muster.executor.signals import SignsOfLife
from muster.log.memory import LogFault, MemoryLog, Store
from muster.runtime.service import at_once
from muster.testing.cluster import SimCluster, WorkerId, shape
from muster.testing.gates import Gate, Mood, ProcessHooks
from muster.testing.scripts import Script
from muster.testing.virtual_time import START, VirtualTime
from tests.support.log_lives import TENANT, HandClock, Lives

JOB = "j1"
Asked = TypeVar("Asked", bound=e.EvidenceQuestion)


class Calm(ProcessHooks):
    """Nobody interferes."""

    def __init__(self) -> None:
        super().__init__(Mood())

    async def gate(self, gate: Gate) -> LogFault:
        return LogFault.NONE


class DeskWorld:
    """scripts: of each worker. `start` first; then a job runs on n1 and n2, attempt 1."""

    def __init__(self, root: Path, **scripts: Script) -> None:
        self.root, self.time, self.clock = root, VirtualTime(), HandClock(START)
        self.scripts = {name.replace("_", "-"): script for name, script in scripts.items()}
        self.cluster = SimCluster(lambda who: self.scripts.get(who.worker, Script()))
        self.log = MemoryLog(Store(self.clock.now))
        self.lives = Lives(self.log, self.clock)

    async def start(self, *nodes: str) -> None:
        """Let a job of as many workers as nodes run, and an executor look at it."""
        for node in ("n1", "n2"):
            self.cluster.add(node, shape(8))
            await self.lives.joined(node)
        settings, pen = ExecutorSettings(), self.lives.pen(Owner.EXECUTOR)
        self.backend = SimBackend(self.cluster, self.time, Calm())
        launches = Launches(self.root)
        self.handlers = Handlers(pen, self.backend, launches, settings)
        await self.handlers.holder.acquire()
        following = Following(self.backend, self.handlers.spec, self.clock, at_once)
        signs = SignsOfLife(self.backend, self.handlers.watch, following, self.clock, at_once)
        self.desk = EvidenceDesk(pen, self.backend, self.handlers, launches, signs, at_once)

    async def runs(self, *nodes: str) -> None:
        """Let the job run, worker by worker on these nodes."""
        await self.lives.running(JOB, *nodes)
        for index, node in enumerate(nodes or ("n1", "n2")):
            who = WorkerId(JOB, 1, f"worker-{index}")
            self.cluster.start(who, node, 0, self.time.elapsed)
        await self.read()

    async def read(self) -> None:
        """Let the executor read the log."""
        await self.handlers.watch.read()

    async def passes(self, seconds: float) -> None:
        """Let time pass."""
        self.time.pass_by(seconds)
        self.clock.pass_by(seconds=seconds)
        self.cluster.catch_up(self.time.elapsed)
        await self.read()

    async def ask(self, question: e.EvidenceQuestion) -> bytes:
        """Ask as the bus does."""
        subject = subjects.evidence_subject("default", question.kind)
        return await self.desk.answer(Question(subject, question.model_dump_json().encode()))

    async def failure(self, *tails: str, **more: object) -> FailureEvidence:
        """Ask for everything about the job's first attempt."""
        asked = e.AskFailure(tenant=TENANT, job=JOB, attempt=1, tails=tails, **more)  # type: ignore[arg-type]
        return e.unpack(FailureEvidence, await self.ask(asked))

    async def signals(self, attempt: int = 1, *, stacks: bool = False) -> JobSignals | None:
        """Ask for the signs of life of one attempt."""
        ref = e.JobRef(tenant=TENANT, job=JOB, attempt=attempt)
        raw = await self.ask(e.AskSignals(jobs=(ref,), stacks=stacks))
        return next(iter(e.unpack(e.Signals, raw).jobs), None)
