"""What this machine can tell of real processes: who wanted memory, and how each of them does."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muster.executor.backends import Words, WorkerKey, WorkerStatus
from muster.executor.backends.local import LocalBackend, kernel
from muster.executor.backends.local.kernel import read_lines
from muster.executor.backends.local.stacks import frames, spoken
from tests.contract.backend_suite import DEADLINE, ENDED, end_all, until, worker
from tests.executor.backends.local_cluster import LocalCluster
from tests.support.eventually import eventually


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[LocalCluster]:
    made = LocalCluster(tmp_path)
    yield made
    await end_all(made.backend())


def pid_of(cluster: LocalCluster, key: WorkerKey) -> int:
    (found,) = [r for path, r in cluster.records() if path.name.startswith(f"{key.job}@")]
    pid: int = found["worker_pid"]
    return pid


def says(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(kernel, "machine_lines", lambda: read_lines(text.encode()))


@pytest.mark.parametrize(("signal", "proven"), [(9, True), (11, False)])
async def test_only_one_that_was_killed_and_that_the_kernel_names_was_out_of_memory(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch, signal: int, proven: bool
) -> None:
    backend, launch = cluster.backend(), worker(cluster.dies_by(signal))
    await backend.launch([launch])
    await until(backend, launch.key, *ENDED)
    says(monkeypatch, "Out of memory: Killed process 1 (init)")
    assert await backend.words([launch.key]) == {}
    line = f"Memory cgroup out of memory: Killed process {pid_of(cluster, launch.key)} (python)"
    says(monkeypatch, line)
    expected = {launch.key: Words("OOMKilled", line)} if proven else {}
    assert await backend.words([launch.key]) == expected


async def test_a_node_without_a_log_of_its_own_has_the_machines_lines_of_these_workers(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = cluster.node.model_copy(update={"kernel_log": None})
    backend = LocalBackend(cluster.state_dir, [node], poll=0.02)
    mine, other = worker(cluster.exits(0)), worker(cluster.exits(0), job="other")
    await backend.launch([mine])
    await backend.launch([other])
    await until(backend, other.key, *ENDED)
    text = "".join(
        f"python[{pid_of(cluster, each.key)}]: segfault of {each.key.job}\n"
        for each in (mine, other)
    )
    says(monkeypatch, f"{text}NVRM: Xid (PCI:0000:3b:00): 79\n")
    lines = await backend.node_lines(["node-1"], DEADLINE, DEADLINE, [mine.key])
    assert [line.text.partition(": ")[2] for line in lines["node-1"]] == [
        "segfault of job",
        "Xid (PCI:0000:3b:00): 79",
    ]


async def test_processes_that_fled_count_as_the_workers_own(cluster: LocalCluster) -> None:
    backend = cluster.backend()
    fled = cluster.python(
        "import time\nif os.fork() == 0:\n    os.setsid()\n    note('ran')\n"
        "    while True: pass\nwhile True: time.sleep(60)"
    )
    launch = worker(fled)
    await backend.launch([launch])
    await eventually(lambda: cluster.runs(launch.key))

    async def busy() -> bool:
        signs = (await backend.signs([launch.key], stacks=False))[launch.key]
        return (signs.cpu_s or 0) > 0.3 and signs.state == "R"

    await eventually(busy)


async def test_bytes_that_are_printed_are_none_that_are_moved(cluster: LocalCluster) -> None:
    backend = cluster.backend()
    launch = worker(
        cluster.python("print('x' * 500_000, flush=True)\nnote('ran')\n", "signal.pause()")
    )
    await backend.launch([launch])
    await until(backend, launch.key, WorkerStatus.RUNNING)
    await eventually(lambda: cluster.runs(launch.key))
    signs = (await backend.signs([launch.key], stacks=False))[launch.key]
    output = backend.output(launch.key)
    assert output is not None
    assert output.size() == 500_001
    if os.access("/proc/self/io", os.R_OK):
        assert signs.moved is not None
        assert signs.moved < 500_000


DUMP = [
    {
        "thread_name": "worker",
        "frames": [{"name": "poll", "filename": "/usr/lib/selectors.py", "line": 3}],
    },
    {
        "thread_name": "MainThread",
        "frames": [
            {"name": "all_reduce", "filename": "/opt/dist.py", "line": 7},
            {"name": "train", "filename": "train.py", "line": 90},
        ],
    },
]


def test_stacks_are_the_same_in_whatever_order_threads_are_told() -> None:
    assert frames(DUMP) == frames(DUMP[::-1])
    moved = [*DUMP[:1], {"thread_name": "MainThread", "frames": DUMP[1]["frames"][1:]}]
    assert frames(moved) != frames(DUMP)
    assert spoken(DUMP) == "all_reduce (dist.py:7) < train (train.py:90)"
