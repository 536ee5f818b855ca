"""Reading real files beside a log: one verdict, few facts, whoever starts anew in between."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from muster.contracts import subjects
from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.edges import Owner
from muster.domain.evidence import CheckpointFolder
from muster.domain.state import JobState
from muster.executor.backends import WorkerKey
from muster.executor.backends.local.logs import LogFile
from muster.executor.following import Following, telling
from muster.executor.handlers import Handlers
from muster.executor.launches import Launches
from muster.executor.outputs import BEHIND, PIECE
from muster.executor.resuming import Resuming
from muster.executor.settings import ExecutorSettings
from muster.log import Recorded
from muster.log.memory import MemoryLog, Store
from muster.runtime.service import at_once
from tests.support.log_lives import START, TENANT, HandClock, Lives

JOB = "j1"


@dataclass
class Files:
    """The part of a backend that is asked here."""

    root: Path

    def changes(self) -> None:
        return None

    async def checkpoints(self, path: str) -> CheckpointFolder:
        return CheckpointFolder(path=path)

    def output(self, key: WorkerKey) -> LogFile:
        return LogFile(self.root / key.job / str(key.attempt) / f"{key.worker}.log")


class Machine:
    """A log, workers' files, and an executor's loop that may be started anew."""

    def __init__(self, root: Path) -> None:
        self.clock = HandClock(START)
        self.log = MemoryLog(Store(self.clock.now))
        self.lives = Lives(self.log, self.clock)
        self.files = Files(root)
        self._root = root

    async def start(self) -> None:
        """A new executor: nothing is remembered."""
        settings, pen = ExecutorSettings(), self.lives.pen(Owner.EXECUTOR)
        handlers = Handlers(pen, self.files, Launches(self._root), settings)  # type: ignore[arg-type]
        await handlers.holder.acquire()
        self._watch = handlers.watch
        following = Following(self.files, handlers.spec, self.clock, at_once)  # type: ignore[arg-type]
        self._resuming = Resuming(pen, following, handlers, 10, at_once)

    async def look(self, seconds: float = 1) -> None:
        self.clock.pass_by(seconds=seconds)
        await self._watch.read()
        await self._resuming.step()

    def prints(self, attempt: int, text: str, worker: str = "worker-0") -> None:
        path = self.files.output(WorkerKey(JOB, attempt, worker)).path
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(text)

    async def moved(self) -> None:
        """Evicted, queued again, and running once more."""
        for owner, fact in (
            (Owner.SCHEDULER, f.Preempted(cause=EvictionCause.NODE_DRAIN, grace_s=30)),
            (Owner.EXECUTOR, f.Signalled(attempt=1)),
            (Owner.EXECUTOR, f.Released(attempt=1)),
            (Owner.REQUEUE, f.Requeued(cause=EvictionCause.NODE_DRAIN, counted=False)),
            (
                Owner.SCHEDULER,
                f.Scheduled(placement={"n1": ("worker-0",), "n2": ("worker-1",)}),
            ),
            (Owner.EXECUTOR, f.Launching(attempt=2)),
            (Owner.EXECUTOR, f.Started(attempt=2)),
        ):
            await self.lives.say(JOB, owner, fact)

    async def said(self) -> list[f.Fact]:
        """Everything about progress that stands in the log."""
        history = await self.log.history(subjects.job_key(TENANT, JOB))
        details = (i.event.data.detail for i in history if isinstance(i, Recorded))
        kinds = (f.CheckpointSaved, f.ResumeVerified, f.ProgressLost)
        return [each for each in details if isinstance(each, kinds)]

    async def state(self) -> JobState:
        last = await self.log.last(subjects.job_key(TENANT, JOB))
        assert last is not None
        return last.job


@pytest.fixture
async def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    await made.start()
    await made.lives.running(JOB)
    return made


FIRST = "step=380\ncheckpoint saved: step=400\nstep=490\nstep=500\n"


async def test_a_checkpoint_is_told_once_and_not_more_than_once_a_minute(machine: Machine) -> None:
    machine.prints(1, "step=10\ncheckpoint saved: st")
    await machine.look()
    assert await machine.said() == []
    machine.prints(1, "ep=12\n")
    await machine.look()
    await machine.look()
    machine.prints(1, "checkpoint saved: step=24\n")
    await machine.look(20)
    machine.prints(1, "checkpoint saved: step=36\nstep=37\n")
    await machine.look(20)
    line = "checkpoint saved: step=12"
    first = f.CheckpointSaved(attempt=1, step=12, last_step=10, line=line)
    assert await machine.said() == [first]
    progress = (await machine.state()).progress
    assert progress is not None
    assert (progress.step, progress.checkpoint_step) == (12, 12)
    await machine.look(20)
    line = "checkpoint saved: step=36"
    second = f.CheckpointSaved(attempt=1, step=36, last_step=37, line=line)
    assert await machine.said() == [first, second]


async def test_the_verdict_does_not_need_who_saw_the_first_run(machine: Machine) -> None:
    machine.prints(1, FIRST)
    await machine.moved()
    await machine.start()
    machine.prints(2, "checkpoint loaded: step=400\n")
    await machine.look()
    assert await machine.said() == []
    await machine.start()
    machine.prints(2, "step=405\n", "worker-1")
    await machine.look()
    (found,) = await machine.said()
    assert isinstance(found, f.ResumeVerified)
    assert (found.step_before, found.step_after, found.checkpoint_step) == (500, 405, 400)
    await machine.start()
    await machine.look()
    assert await machine.said() == [found]
    progress = (await machine.state()).progress
    assert progress is not None
    assert progress.resumption is not None
    assert progress.resumption.kept


async def test_who_starts_over_is_called_lost_after_a_while(machine: Machine) -> None:
    machine.prints(1, FIRST)
    await machine.look()
    await machine.moved()
    machine.prints(2, "step=1\n")
    await machine.look()
    await machine.look(9)
    assert [each.event for each in await machine.said()] == ["checkpoint_saved"]
    await machine.look(2)
    _, lost = await machine.said()
    assert isinstance(lost, f.ProgressLost)
    assert (lost.step_before, lost.step_after, lost.checkpoint_step) == (500, 1, 400)
    assert lost.gpu_hours > 0
    # from now on a checkpoint of a lower step counts again
    machine.prints(2, "checkpoint saved: step=20\n")
    await machine.look(60)
    assert (await machine.said())[-1].event == "checkpoint_saved"
    assert (await machine.state()).progress.checkpoint_step == 20  # type: ignore[union-attr]


async def test_no_executor_that_lost_the_cluster_says_a_word(machine: Machine) -> None:
    machine.prints(1, FIRST)
    old = machine._resuming
    await machine.start()
    await machine._watch.read()
    await old.step()
    assert await machine.said() == []


async def test_of_a_long_output_the_ends_are_read(machine: Machine) -> None:
    noise = "x" * 99 + "\n"
    machine.prints(1, "step=1\n" + noise * ((BEHIND + 2 * PIECE) // 100) + FIRST)
    await machine.moved()
    noise = "y" * 50 + "\r"
    machine.prints(2, "checkpoint loaded: step=400\nstep=401\n" + noise * (BEHIND // 25))
    machine.prints(2, "checkpoint saved: step=440\n")
    for _ in range(4):
        await machine.look()
    kept, saved = await machine.said()
    assert isinstance(kept, f.ResumeVerified)
    assert (kept.step_before, kept.step_after, kept.checkpoint_step) == (500, 401, 400)
    assert saved == f.CheckpointSaved(
        attempt=2, step=440, last_step=401, line="checkpoint saved: step=440"
    )


async def test_the_first_of_a_role_and_the_last_tell(machine: Machine) -> None:
    assert telling(await machine.state()) == ["worker-0", "worker-1"]
