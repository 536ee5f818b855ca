"""What the executor relies on, whatever runs the workers: each backend inherits `BackendSuite`.

A subclass gives the fixture `cluster`. The suite says what must be true, the cluster how a program
that behaves so is written for it.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muster.executor.backends import Backend, Launch, Observed, Signs, WorkerKey, WorkerStatus
from tests.support.eventually import eventually

DEADLINE = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
ENDED = (WorkerStatus.EXITED, WorkerStatus.GONE)


class Cluster(ABC):
    """A cluster under test with one node `node-1`, and programs for its workers."""

    @abstractmethod
    def backend(self) -> Backend:
        """A new object that knows only what the cluster itself keeps."""

    @abstractmethod
    def exits(self, code: int) -> tuple[str, ...]:
        """A command that notes its run and ends at once."""

    @abstractmethod
    def dies_by(self, signal: int) -> tuple[str, ...]:
        """A command that notes its run and ends by a signal."""

    @abstractmethod
    def stops_when_told(self) -> tuple[str, ...]:
        """A command that notes its run, waits, and when told notes the deadline and exits by 7."""

    @abstractmethod
    def ignores_stop(self) -> tuple[str, ...]:
        """A command that notes its run, and with its children goes on whatever it is told."""

    @abstractmethod
    def prints(self, text: str) -> tuple[str, ...]:
        """A command that prints this, and a newline, and ends at once with 1."""

    @abstractmethod
    def works(self) -> tuple[str, ...]:
        """A command that notes its run and then uses the processor without end."""

    @abstractmethod
    def say(self, text: str, at: datetime | None) -> None:
        """Let the kernel of `node-1` say this at that moment."""

    @abstractmethod
    def runs(self, key: WorkerKey) -> int:
        """How often a worker's command noted its run (for those that wait: ready to be told)."""

    @abstractmethod
    def told(self, key: WorkerKey) -> list[datetime]:
        """The deadlines that the worker noted, in order."""


def worker(
    command: tuple[str, ...], *, job: str = "job", attempt: int = 1, index: int = 0, gpus: int = 0
) -> Launch:
    """A launch of one worker of a gang of two."""
    return Launch(
        key=WorkerKey(job, attempt, f"worker-{index}"),
        node="node-1",
        gpus=gpus,
        command=command,
        env={},
        rank=index,
        world_size=2,
        local_rank=index,
        leader="worker-0",
    )


async def find(backend: Backend, key: WorkerKey) -> Observed | None:
    """The worker as the backend shows it now."""
    return next((each for each in await backend.observe() if each.key == key), None)


async def until(backend: Backend, key: WorkerKey, *statuses: WorkerStatus) -> Observed:
    """Wait until the worker has one of the statuses."""

    async def reached() -> Observed | None:
        seen = await find(backend, key)
        return seen if seen is not None and seen.status in statuses else None

    seen = await eventually(reached)
    assert seen is not None
    return seen


def logged(seen: Observed) -> str:
    """All that the worker has printed, where the backend has it in a file."""
    assert seen.log_path is not None
    return Path(seen.log_path).read_text(encoding="utf-8")


class BackendSuite:
    """Inherit with a name that pytest collects, and give the fixture `cluster`."""

    @pytest.fixture
    async def backend(self, cluster: Cluster) -> AsyncIterator[Backend]:
        backend = cluster.backend()
        yield backend
        await end_all(cluster.backend())

    async def test_shows_its_nodes(self, backend: Backend) -> None:
        assert [node.node for node in await backend.nodes()] == ["node-1"]

    @pytest.mark.parametrize("code", [0, 3, 255])
    async def test_learns_the_exit_code(
        self, backend: Backend, cluster: Cluster, code: int
    ) -> None:
        launch = worker(cluster.exits(code))
        await backend.launch([launch])
        seen = await until(backend, launch.key, WorkerStatus.EXITED)
        assert (seen.exit_code, seen.node) == (code, "node-1")
        assert seen.started_at is not None
        assert seen.ended_at is not None
        assert seen.started_at <= seen.ended_at

    async def test_shows_a_signal_as_128_and_its_number(
        self, backend: Backend, cluster: Cluster
    ) -> None:
        launch = worker(cluster.dies_by(11))
        await backend.launch([launch])
        assert (await until(backend, launch.key, *ENDED)).exit_code == 139

    async def test_starts_a_worker_once_although_asked_twice(
        self, backend: Backend, cluster: Cluster
    ) -> None:
        launch = worker(cluster.exits(0))
        await backend.launch([launch])
        await backend.launch([launch])
        await until(backend, launch.key, WorkerStatus.EXITED)
        await backend.launch([replace(launch, command=cluster.exits(9))])
        assert (await until(backend, launch.key, WorkerStatus.EXITED)).exit_code == 0
        assert cluster.runs(launch.key) == 1

    async def test_starts_a_worker_once_although_two_executors_race(
        self, backend: Backend, cluster: Cluster
    ) -> None:
        launches = [worker(cluster.exits(0), index=index) for index in range(2)]
        rivals = [cluster.backend() for _ in range(3)]
        await asyncio.gather(*(each.launch(launches) for each in [backend, *rivals]))
        for launch in launches:
            await until(backend, launch.key, WorkerStatus.EXITED)
        assert [cluster.runs(launch.key) for launch in launches] == [1, 1]

    async def test_starts_the_same_worker_again_in_the_next_attempt(
        self, backend: Backend, cluster: Cluster
    ) -> None:
        for attempt in (1, 2):
            launch = worker(cluster.exits(attempt), attempt=attempt)
            await backend.launch([launch])
            assert (await until(backend, launch.key, *ENDED)).exit_code == attempt
        assert len(await backend.observe()) == 2

    async def test_tells_a_worker_to_stop_and_by_when(
        self, backend: Backend, cluster: Cluster
    ) -> None:
        launch = worker(cluster.stops_when_told())
        await backend.launch([launch])
        await eventually(lambda: cluster.runs(launch.key))
        assert (await until(backend, launch.key, *WorkerStatus)).status is WorkerStatus.RUNNING
        await backend.signal([launch.key], DEADLINE)
        assert (await until(backend, launch.key, *ENDED)).exit_code == 7
        assert cluster.told(launch.key) == [DEADLINE]
        await backend.signal([launch.key], DEADLINE)  # too late, and no error

    async def test_kills_a_worker_that_ignores_the_stop(
        self, backend: Backend, cluster: Cluster
    ) -> None:
        launch = worker(cluster.ignores_stop())
        await backend.launch([launch])
        await eventually(lambda: cluster.runs(launch.key))
        await backend.signal([launch.key], DEADLINE)
        await backend.signal([launch.key], DEADLINE)
        assert (await until(backend, launch.key, *WorkerStatus)).status is WorkerStatus.RUNNING
        await backend.kill([launch.key])
        await backend.kill([launch.key])
        assert (await until(backend, launch.key, *ENDED)).exit_code in {137, None}

    async def test_leaves_other_workers_alone(self, backend: Backend, cluster: Cluster) -> None:
        stays, goes = (worker(cluster.ignores_stop(), index=index) for index in range(2))
        await backend.launch([stays, goes])
        await backend.kill([goes.key])
        await until(backend, goes.key, *ENDED)
        assert (await until(backend, stays.key, *WorkerStatus)).status is WorkerStatus.RUNNING

    async def test_does_nothing_for_workers_it_does_not_know(self, backend: Backend) -> None:
        unknown = [WorkerKey("nobody", 1, "worker-0")]
        await backend.signal(unknown, DEADLINE)
        await backend.kill(unknown)
        await backend.forget(unknown)
        assert await backend.serves(unknown[0], 80) is None
        assert list(await backend.observe()) == []

    async def test_a_new_executor_adopts_what_runs(
        self, backend: Backend, cluster: Cluster
    ) -> None:
        launch = worker(cluster.stops_when_told())
        await backend.launch([launch])
        await eventually(lambda: cluster.runs(launch.key))
        successor = cluster.backend()
        assert (await until(successor, launch.key, *WorkerStatus)).status is WorkerStatus.RUNNING
        await successor.launch([launch])
        await successor.signal([launch.key], DEADLINE)
        assert (await until(successor, launch.key, *ENDED)).exit_code == 7
        assert cluster.runs(launch.key) == 1

    async def test_a_new_executor_learns_of_an_exit_before_its_time(
        self, backend: Backend, cluster: Cluster
    ) -> None:
        launch = worker(cluster.exits(5))
        await backend.launch([launch])
        await until(backend, launch.key, *ENDED)
        assert (await until(cluster.backend(), launch.key, *ENDED)).exit_code == 5

    async def test_forgets_the_ended_and_never_the_living(
        self, backend: Backend, cluster: Cluster
    ) -> None:
        ended = worker(cluster.exits(0), job="ended")
        living = worker(cluster.ignores_stop(), job="living")
        await backend.launch([ended])
        await backend.launch([living])
        await until(backend, ended.key, *ENDED)
        await backend.forget([ended.key, living.key])
        assert [each.key for each in await backend.observe()] == [living.key]

    # --- evidence ---------------------------------------------------------------------------

    async def test_keeps_what_a_worker_printed(self, backend: Backend, cluster: Cluster) -> None:
        launch = worker(cluster.prints("one\ntwo"))
        await backend.launch([launch])
        await until(backend, launch.key, *ENDED)
        output = backend.output(launch.key)
        assert output is not None
        assert (output.size(), output.read(0, 100)) == (8, b"one\ntwo\n")
        assert (output.read(4, 2), output.read(8, 10), output.read(99, 1)) == (b"tw", b"", b"")

    async def test_shows_what_is_printed_while_a_worker_runs_and_nothing_of_others(
        self, backend: Backend, cluster: Cluster
    ) -> None:
        launch = worker(cluster.works())
        await backend.launch([launch])
        await eventually(lambda: cluster.runs(launch.key))
        output = backend.output(launch.key)
        assert output is None or output.read(0, 100) == b""
        nobody = backend.output(WorkerKey("nobody", 1, "worker-0"))
        assert nobody is None or nobody.size() == 0

    async def test_tells_what_the_kernel_of_a_node_said_in_a_window(
        self, backend: Backend, cluster: Cluster
    ) -> None:
        second = timedelta(seconds=1)
        for at in (DEADLINE - 2 * second, DEADLINE, DEADLINE + second, DEADLINE + 2 * second):
            cluster.say(f"NVRM: Xid at {at:%S}", at)
        found = await backend.node_lines(["node-1", "node-9"], DEADLINE, DEADLINE + second)
        assert [line.text for line in found["node-1"]] == ["NVRM: Xid at 09", "NVRM: Xid at 10"]
        assert [line.at for line in found["node-1"]] == [DEADLINE, DEADLINE + second]
        assert not found.get("node-9")

    async def test_has_no_words_for_a_worker_that_ended_by_itself(
        self, backend: Backend, cluster: Cluster
    ) -> None:
        launch = worker(cluster.exits(3))
        await backend.launch([launch])
        await until(backend, launch.key, *ENDED)
        assert await backend.words([launch.key, WorkerKey("nobody", 1, "worker-0")]) == {}

    async def test_shows_who_works_and_who_waits(self, backend: Backend, cluster: Cluster) -> None:
        busy, idle = worker(cluster.works()), worker(cluster.ignores_stop(), index=1)
        await backend.launch([busy, idle])
        await eventually(lambda: cluster.runs(busy.key) and cluster.runs(idle.key))
        before = await backend.signs([busy.key, idle.key], stacks=False)

        async def more() -> bool:
            now = await backend.signs([busy.key], stacks=False)
            return _cpu(now[busy.key]) >= _cpu(before[busy.key]) + 0.2

        await eventually(more)
        after = await backend.signs([busy.key, idle.key], stacks=True)
        assert _cpu(after[idle.key]) - _cpu(before[idle.key]) < 0.15
        assert (after[busy.key].state, after[idle.key].state) == ("R", "S")
        assert before[busy.key].stack is None
        assert after[idle.key].stack is not None

    async def test_shows_no_sign_of_life_of_the_dead_and_the_unknown(
        self, backend: Backend, cluster: Cluster
    ) -> None:
        launch = worker(cluster.exits(0))
        await backend.launch([launch])
        await until(backend, launch.key, *ENDED)
        unknown = WorkerKey("nobody", 1, "worker-0")
        assert await backend.signs([launch.key, unknown], stacks=True) == {}

    async def test_yields_the_jobs_that_changed(self, backend: Backend, cluster: Cluster) -> None:
        launch = worker(cluster.stops_when_told(), job="first")
        await backend.launch([launch])
        changes = backend.changes()
        assert await first_with(changes, "first") == "first"  # what exists comes first
        other = worker(cluster.exits(0), job="second")
        await backend.launch([other])
        await first_with(changes, "second")
        await backend.kill([launch.key])
        await first_with(changes, "first")


def _cpu(signs: Signs) -> float:
    assert signs.cpu_s is not None
    return signs.cpu_s


async def first_with(changes: AsyncIterator[frozenset[str]], job: str) -> str:
    """Wait until `changes` names the job."""

    async def named() -> str:
        async for jobs in changes:
            if job in jobs:
                return job
        raise AssertionError("changes ended")

    return await asyncio.wait_for(named(), 15)


async def end_all(backend: Backend) -> None:
    """Leave nothing running behind a test."""

    async def living() -> Sequence[WorkerKey]:
        return [each.key for each in await backend.observe() if each.status not in ENDED]

    async def ended() -> bool:
        await backend.kill(await living())
        return not await living()

    await eventually(ended)
