"""Looking at many workers is cheap, since what ended is never read again."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

import pytest

from muster.executor.backends import WorkerKey, WorkerStatus
from muster.executor.backends.local import LocalBackend, NodeConfig, keeper
from muster.executor.backends.local.census import Census
from muster.executor.backends.local.processes import Process
from muster.executor.backends.local.records import Plan, Records, folder_name

NODE = NodeConfig(name="node-1", gpus=4)
ENDED_RECORD: dict[str, object] = {"state": keeper.EXITED, "exit_code": 0, "ended_at": 1.0}


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """These records need not survive a power cut."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def write_workers(root: Path, *written: dict[str, object]) -> Records:
    """Records as keepers leave them."""
    records = Records(root)
    for number, record in enumerate(written):
        key = WorkerKey(f"job-{number}", 1, "worker-0")
        log = str(records.log_of(key))
        name = folder_name(key)
        assert name is not None
        records.add(
            name,
            Plan("node-1", (), 20_000, True, log),
            {"args": ["true"], "env": {}, "workdir": "/", "log": log},
        )
        keeper.create(records.folder(name).path / keeper.RECORD, record)
    return records


def fastest(census: Census, *, of: int = 5) -> float:
    """Seconds of processor time of the fastest look, whoever else uses the machine."""
    times = []
    for _ in range(of):
        start = time.process_time()
        census.take()
        times.append(time.process_time() - start)
    return min(times)


def test_a_thousand_workers_are_looked_at_in_well_under_a_tenth_of_a_second(
    tmp_path: Path,
) -> None:
    me = os.getpid()
    kept: dict[str, object] = {"keeper_pid": me, "keeper_birth": keeper.birth(me)}
    records = write_workers(
        tmp_path, *[{"state": keeper.RUNNING, **kept}] * 300, *[ENDED_RECORD] * 700
    )
    census = Census(records, 10.0)
    statuses = Counter(entry.status for entry in census.take().values())
    assert statuses == {WorkerStatus.RUNNING: 300, WorkerStatus.EXITED: 700}
    assert fastest(census) < 0.05


def test_an_exit_that_is_written_while_one_looks_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = write_workers(tmp_path, {"state": keeper.RUNNING})
    path = records.folder("job-0@1@worker-0").path / keeper.RECORD

    def dies_now(_: Process) -> bool:
        keeper.replace(path, {"state": keeper.EXITED, "exit_code": 3, "ended_at": 1.0})
        return False

    monkeypatch.setattr(Process, "alive", property(dies_now))
    (entry,) = Census(records, 10.0).take().values()
    assert entry.status is WorkerStatus.EXITED
    assert entry.record is not None
    assert entry.record.exit_code == 3


async def test_what_another_executor_forgot_is_not_shown_any_more(tmp_path: Path) -> None:
    write_workers(tmp_path, ENDED_RECORD, ENDED_RECORD)
    one, other = (LocalBackend(tmp_path, [NODE]) for _ in range(2))
    assert len(await one.observe()) == 2
    await other.forget([WorkerKey("job-0", 1, "worker-0")])
    assert [each.key.job for each in await one.observe()] == ["job-1"]


def test_a_folder_that_was_never_finished_is_swept_up_by_the_next_launch(tmp_path: Path) -> None:
    records = Records(tmp_path)
    draft = records.workers / ".job@1@worker-0.123"
    draft.mkdir()
    (draft / keeper.COMMAND).write_text("{}", encoding="utf-8")
    assert records.names() == []
    with records.locked():
        assert not draft.exists()
