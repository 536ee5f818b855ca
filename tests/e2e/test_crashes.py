"""Whatever is killed, jobs go on, and end once."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muster.runtime.processes import start_mark
from tests.e2e.harness import Muster, ended, job_file, kill, muster_in, training_file, workers_of
from tests.support.eventually import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ONCE = ["submitted", "admitted", "scheduled", "launching", "started", "succeeded", "released"]


@pytest.fixture
async def muster(tmp_path: Path) -> AsyncIterator[Muster]:
    async with muster_in(tmp_path / "muster") as command_line:
        yield command_line


async def _story(muster: Muster, job: str) -> list[str]:
    """What became of a job; how often it saved a checkpoint on the way is a matter of its pace."""
    return [event for event in await muster.events(job) if event != "checkpoint_saved"]


async def test_muster_killed_in_the_middle_of_a_training(muster: Muster) -> None:
    await muster.up()
    quick = "import sys, time; time.sleep(4); sys.exit({})"
    ends_well = await muster.submit(
        job_file(muster.folder, "ends-well", ["python", "-c", quick.format(0)])
    )
    ends_badly = await muster.submit(
        job_file(muster.folder, "ends-badly", ["python", "-c", quick.format(9)])
    )
    training = await muster.submit(training_file(muster.folder, "training", 220))
    await muster.prints(training, "step=10 ")
    processes = workers_of(training)
    assert len(processes) == 2

    kill(muster.pid())
    await eventually(lambda: not workers_of(ends_well) + workers_of(ends_badly), within=30)
    assert sorted(workers_of(training)) == sorted(processes)
    again = await muster.up()
    assert again["nats_pid"] == muster.nats_pid()

    done = await muster.in_phase(training, "succeeded", "failed")
    assert (done.phase, done.attempt) == ("succeeded", 1)
    assert (await _story(muster, training))[: len(ONCE)] == ONCE
    assert (await muster.in_phase(ends_well, "succeeded", "failed")).phase == "succeeded"
    failed = await muster.in_phase(ends_badly, "succeeded", "failed", "abnormal")
    assert failed.phase == "failed"
    assert failed.reason is not None
    assert "exit code 9" in failed.reason.en
    assert workers_of(training) == []
    assert "finished: steps=220" in muster.log(training)
    assert "checkpoint loaded" not in muster.log(training)


async def test_nats_server_killed_while_workers_run(muster: Muster) -> None:
    await muster.up()
    training = await muster.submit(training_file(muster.folder, "training", 160))
    await muster.prints(training, "step=10 ")
    processes, server = workers_of(training), muster.nats_pid()
    kill(server)
    await eventually(lambda: muster.nats_pid() != server, within=20)
    assert sorted(workers_of(training)) == sorted(processes)
    done = await muster.in_phase(training, "succeeded", "failed")
    assert (done.phase, done.attempt) == ("succeeded", 1)
    assert (await _story(muster, training))[: len(ONCE)] == ONCE
    assert (await muster.run("doctor")).code == 0


async def test_down_and_up_again_with_a_training_between(muster: Muster) -> None:
    await muster.up()
    training = await muster.submit(training_file(muster.folder, "training", 200))
    await muster.prints(training, "step=5 ")
    down = await muster.ok("down")
    assert "stopped Muster" in down.out
    assert "2 worker process(es) keep running" in down.out
    assert len(workers_of(training)) == 2
    refused = await muster.run("list")
    assert refused.code == 5
    assert "muster up" in refused.err
    await muster.up()
    done = await muster.in_phase(training, "succeeded", "failed")
    assert (done.phase, done.attempt) == ("succeeded", 1)


async def test_up_in_the_foreground_ends_with_ctrl_c(muster: Muster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = taken.getsockname()[1]
        process = await muster.start("up", "--port", str(busy), "--nats-port", str(busy), "--json")
        assert process.stdout is not None
        said = b""
        while not said.rstrip().endswith(b"}"):
            said += await asyncio.wait_for(process.stdout.readline(), 60)
    found = json.loads(said)
    assert str(busy) not in found["gateway"] + found["nats"]
    server = muster.nats_pid()
    process.send_signal(signal.SIGINT)
    done = await ended(process)
    assert done.code == 0
    assert f"port {busy} is busy" in done.err
    assert done.err.rstrip().endswith("Muster is down.")
    assert start_mark(server) is None
    assert not (muster.state / "up.json").exists()


async def test_down_with_workers_leaves_nothing(muster: Muster) -> None:
    await muster.up()
    training = await muster.submit(training_file(muster.folder, "training", 4000))
    await muster.prints(training, "step=5 ")
    pid, server = muster.pid(), muster.nats_pid()
    down = await muster.ok("down", "--workers", "--json")
    assert down.json == {
        "up": pid,
        "killed": False,
        "nats": server,
        "workers": 2,
        "workers_left": 0,
    }
    assert workers_of(training) == []
    assert [start_mark(process) for process in (pid, server)] == [None, None]
    again = await muster.ok("down")
    assert "no Muster was running" in again.out
