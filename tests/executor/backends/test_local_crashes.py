"""Whoever dies, at whatever moment: every worker is found, its end is known or proven."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from muster.executor.backends import Launch, WorkerKey, WorkerStatus
from muster.executor.backends.local import LocalBackend, keeper
from muster.executor.backends.local.records import Plan, Records, folder_name
from tests.contract.backend_suite import DEADLINE, ENDED, end_all, find, logged, until, worker
from tests.executor.backends.local_cluster import STRANGER, LocalCluster, lives
from tests.support.eventually import eventually

_EXECUTOR = """
import asyncio, json, sys
from dataclasses import replace
from pathlib import Path
from muster.executor.backends import Launch, WorkerKey
from muster.executor.backends.local import LocalBackend, NodeConfig

async def main():
    state, command, more = json.loads(sys.argv[1])
    backend = LocalBackend(Path(state), [NodeConfig(name="node-1", gpus=4)])
    key = WorkerKey("job", 1, "worker-0")
    launch = Launch(key, "node-1", 1, tuple(command), {}, 0, 1, 0, "worker-0")
    await backend.launch([replace(launch, **more)])
    print("launched", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""

KEY = WorkerKey("job", 1, "worker-0")


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[LocalCluster]:
    cluster = LocalCluster(tmp_path)
    yield cluster
    await end_all(cluster.backend())


@pytest.fixture
def backend(cluster: LocalCluster) -> LocalBackend:
    return cluster.backend()


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process that is nobody's worker, and leads a session as a worker does."""
    with subprocess.Popen(STRANGER, start_new_session=True) as process:
        yield process
        process.kill()


async def launched_by_an_executor_that_dies(
    cluster: LocalCluster, command: tuple[str, ...], **more: object
) -> None:
    """Launch from another process and kill that process the hard way, with all its session."""
    executor = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _EXECUTOR,
        json.dumps([str(cluster.state_dir), command, more]),
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert executor.stdout is not None
    assert await executor.stdout.readline() == b"launched\n"
    os.killpg(executor.pid, signal.SIGKILL)
    await executor.communicate()


def record_of(cluster: LocalCluster) -> dict[str, Any]:
    """The one record of the state directory."""
    ((_, record),) = cluster.records()
    return record


def write_folder(cluster: LocalCluster, launch: Launch) -> Path:
    """What an executor leaves that dies between the marker and the spawn."""
    records = Records(cluster.state_dir)
    name = folder_name(launch.key)
    assert name is not None
    log = str(records.log_of(launch.key))
    command: keeper.Command = {
        "args": list(launch.command),
        "env": {"PATH": os.environ["PATH"], "MUSTER_JOB": launch.key.job},
        "workdir": str(cluster.notes),
        "log": log,
    }
    command["env"] |= {"MUSTER_ATTEMPT": "1", "MUSTER_WORKER": launch.key.worker}
    records.add(name, Plan("node-1", (0,), 20_000, True, log), command)
    return records.folder(name).path


async def test_a_killed_executor_takes_no_worker_with_it_and_misses_no_exit(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    await launched_by_an_executor_that_dies(cluster, cluster.stops_when_told())
    await eventually(lambda: cluster.runs(KEY))
    assert (await until(backend, KEY, *WorkerStatus)).status is WorkerStatus.RUNNING
    await backend.signal([KEY], DEADLINE)
    assert (await until(backend, KEY, *ENDED)).exit_code == 7
    assert cluster.told(KEY) == [DEADLINE]


async def test_a_killed_executor_leaves_behind_which_gpu_a_shared_card_is(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    holder = worker(("sleep", "1000"), job="holder", gpus=1)
    await backend.launch([holder])
    share = {"gpus": 0, "gpu_milli": 500, "card": 0}
    await launched_by_an_executor_that_dies(cluster, cluster.stops_when_told(), **share)
    await backend.kill([holder.key])
    await until(backend, holder.key, *ENDED)
    joins = replace(worker(cluster.shows_environment(), job="joins"), gpu_milli=500, card=0)
    await cluster.backend().launch([joins])
    seen = await eventually(lambda: cluster.environment(joins.key))
    assert seen is not None
    assert seen["CUDA_VISIBLE_DEVICES"] == "1"


async def test_an_exit_while_no_executor_lives_is_learnt_by_the_next(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    await launched_by_an_executor_that_dies(cluster, cluster.exits(6))
    assert (await until(backend, KEY, *ENDED)).exit_code == 6


async def test_a_kill_reaches_grandchildren_in_sessions_of_their_own(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    await backend.launch([worker(cluster.ignores_stop())])
    await eventually(lambda: len(cluster.pids(KEY)) == 3)
    await backend.kill([KEY])
    seen = await until(backend, KEY, *ENDED)
    assert (seen.status, seen.exit_code) == (WorkerStatus.EXITED, 137)
    assert not any(lives(pid) for pid in cluster.pids(KEY))


async def test_a_worker_has_ended_only_when_nothing_that_it_started_runs(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    await backend.launch([worker(cluster.leaves_children())])
    seen = await until(backend, KEY, *ENDED)
    assert (seen.status, seen.exit_code) == (WorkerStatus.EXITED, 4)
    assert cluster.noted("left", KEY)
    assert not any(lives(pid) for pid in cluster.pids(KEY))


async def test_a_keeper_is_alone_and_cannot_be_asked_to_leave(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    await backend.launch([worker(cluster.stops_when_told())])
    await eventually(lambda: cluster.runs(KEY))
    pid = record_of(cluster)["keeper_pid"]
    assert os.getsid(pid) == pid
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        os.kill(pid, number)
    await backend.signal([KEY], DEADLINE)
    assert (await until(backend, KEY, *ENDED)).exit_code == 7


async def test_a_worker_is_told_once_and_can_read_the_latest_deadline(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    await backend.launch([worker(cluster.counts_signals())])
    await eventually(lambda: cluster.runs(KEY))
    await backend.signal([KEY], DEADLINE)
    await eventually(lambda: cluster.told(KEY))
    await backend.signal([KEY], DEADLINE + timedelta(minutes=1))
    ((folder, _),) = cluster.records()
    assert (folder / keeper.STOP).read_text(encoding="utf-8") == "2031-05-06T07:09:09+00:00\n"
    await backend.kill([KEY])
    await until(backend, KEY, *ENDED)
    assert cluster.told(KEY) == [DEADLINE]


async def test_a_worker_whose_keeper_is_killed_runs_on_and_can_be_told(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    await backend.launch([worker(cluster.stops_when_told())])
    await eventually(lambda: cluster.runs(KEY))
    kill_keeper(cluster)
    assert (await until(backend, KEY, *WorkerStatus)).status is WorkerStatus.RUNNING
    await backend.signal([KEY], DEADLINE)
    seen = await until(backend, KEY, *ENDED)
    assert (seen.status, seen.exit_code) == (WorkerStatus.GONE, None)
    assert cluster.told(KEY) == [DEADLINE]


async def test_a_kill_without_a_keeper_still_reaches_every_process(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    await backend.launch([worker(cluster.ignores_stop())])
    await eventually(lambda: cluster.runs(KEY))
    kill_keeper(cluster)
    await backend.kill([KEY])
    await eventually(lambda: not any(lives(pid) for pid in cluster.pids(KEY)))
    assert (await until(backend, KEY, *ENDED)).status is WorkerStatus.GONE


async def test_what_a_worker_leaves_behind_is_ended_without_its_keeper(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    await backend.launch([worker(cluster.ignores_stop())])
    await eventually(lambda: cluster.runs(KEY))
    kill_keeper(cluster)
    os.kill(cluster.pids(KEY)[0], signal.SIGKILL)
    assert (await until(backend, KEY, *ENDED)).status is WorkerStatus.GONE
    assert not any(lives(pid) for pid in cluster.pids(KEY))


async def test_the_verdict_gone_is_written_down(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    await backend.launch([worker(cluster.stops_when_told())])
    kill_keeper(cluster)
    await backend.kill([KEY])
    await until(backend, KEY, WorkerStatus.GONE)
    assert record_of(cluster)["state"] == keeper.LOST
    assert (await until(cluster.backend(), KEY, *WorkerStatus)).status is WorkerStatus.GONE


async def test_a_marker_without_a_spawn_is_starting_and_then_gone(cluster: LocalCluster) -> None:
    write_folder(cluster, worker(cluster.exits(0)))
    patient, impatient = cluster.backend(), cluster.backend(patience=0.05)
    assert (await until(patient, KEY, *WorkerStatus)).status is WorkerStatus.STARTING
    await until(impatient, KEY, WorkerStatus.GONE)
    assert (await until(patient, KEY, *WorkerStatus)).status is WorkerStatus.GONE
    assert cluster.runs(KEY) == 0


async def test_a_marker_without_a_spawn_is_completed_by_asking_again(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    launch = worker(cluster.exits(3))
    write_folder(cluster, launch)
    await backend.launch([launch])
    assert (await until(backend, KEY, *ENDED)).exit_code == 3
    assert cluster.runs(KEY) == 1


async def test_a_keeper_that_comes_too_late_starts_nothing(cluster: LocalCluster) -> None:
    folder = write_folder(cluster, worker(cluster.exits(0)))
    backend = cluster.backend()
    await backend.kill([KEY])
    assert (await until(backend, KEY, *WorkerStatus)).status is WorkerStatus.GONE
    await run_keeper(folder)
    assert (await until(backend, KEY, *WorkerStatus)).status is WorkerStatus.GONE
    assert cluster.runs(KEY) == 0


async def test_a_kill_that_comes_while_the_keeper_starts_is_heeded(cluster: LocalCluster) -> None:
    folder = write_folder(cluster, worker(cluster.exits(0)))
    (folder / keeper.KILL).touch()  # written, and then the executor dies
    await run_keeper(folder)
    seen = await until(cluster.backend(), KEY, WorkerStatus.EXITED)
    assert (seen.exit_code, seen.started_at) == (137, None)
    assert cluster.runs(KEY) == 0


async def test_a_stop_that_comes_while_the_keeper_starts_is_heeded(cluster: LocalCluster) -> None:
    folder = write_folder(cluster, worker(("sleep", "1000")))
    backend = cluster.backend()
    await backend.signal([KEY], DEADLINE)
    await run_keeper(folder)
    seen = await until(backend, KEY, WorkerStatus.EXITED)
    assert seen.exit_code == 143
    assert seen.started_at is not None


async def test_a_keeper_that_dies_before_its_worker_runs_leaves_nothing(
    cluster: LocalCluster,
) -> None:
    folder = write_folder(cluster, worker(cluster.exits(0)))
    claim = {"state": keeper.CLAIMED, "keeper_pid": 2**22, "keeper_birth": f"{keeper.BOOT}:1"}
    keeper.create(folder / keeper.RECORD, claim)
    seen = await until(cluster.backend(), KEY, *WorkerStatus)
    assert seen.status is WorkerStatus.GONE
    await run_keeper(folder)
    assert cluster.runs(KEY) == 0


@pytest.mark.parametrize("born", ["before this start of the machine", "earlier"])
async def test_a_number_that_now_belongs_to_another_process_is_never_hit(
    cluster: LocalCluster, stranger: subprocess.Popen[bytes], born: str
) -> None:
    folder = write_folder(cluster, worker(cluster.exits(0)))
    boot = keeper.BOOT if born == "earlier" else "another-boot"
    taken = {"pid": stranger.pid, "birth": f"{boot}:1"}
    running = {f"{who}_{what}": taken[what] for who in ("keeper", "worker") for what in taken}
    keeper.create(folder / keeper.RECORD, {"state": keeper.RUNNING, **running})
    backend = cluster.backend()
    await backend.signal([KEY], DEADLINE)
    await backend.kill([KEY])
    assert (await until(backend, KEY, *WorkerStatus)).status is WorkerStatus.GONE
    assert stranger.poll() is None


async def test_a_forgotten_worker_is_never_started_again(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    launch = worker(cluster.exits(0))
    await backend.launch([launch])
    seen = await until(backend, KEY, *ENDED)
    await backend.forget([KEY])
    await backend.launch([launch])
    assert await find(backend, KEY) is None
    assert cluster.runs(KEY) == 1
    assert logged(seen) == ""


async def test_an_unspawned_worker_that_was_forgotten_is_never_started(
    cluster: LocalCluster, backend: LocalBackend
) -> None:
    launch = worker(cluster.exits(0))
    write_folder(cluster, launch)
    await backend.kill([KEY])
    await backend.forget([KEY])
    await backend.launch([launch])
    assert await find(backend, KEY) is None
    assert cluster.runs(KEY) == 0


def kill_keeper(cluster: LocalCluster) -> None:
    """Kill the keeper of the only worker, as the kernel does when memory is short."""
    record = record_of(cluster)
    os.kill(record["keeper_pid"], signal.SIGKILL)
    while lives(record["keeper_pid"]):
        pass  # a killed process is not gone at once


async def run_keeper(folder: Path) -> None:
    """Run a keeper as an executor would, and wait until its worker runs or will not."""
    command = [sys.executable, "-I", "-S", keeper.__file__, str(folder)]
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.DEVNULL)
    assert await process.wait() == 0
