"""Capacity that is taken back, with real processes: who is told what, and who is gone by when.

A worker is told by SIGTERM and by the file that MUSTER_STOP_FILE names, which holds the deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from muster.domain import facts as f
from muster.domain.state import DeadlineKind
from muster.log import Recorded
from tests.e2e.harness import Muster, job_file, muster_in, workers_of
from tests.support.eventually import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

NODES = """\
- {name: s1, gpus: 4, cpus: 8, memory_mib: 8192, gpu_model: A100, zone: z1, spot: true}
- {name: s2, gpus: 4, cpus: 8, memory_mib: 8192, gpu_model: A100, zone: z1, spot: true}
"""

WORKERS = ("worker-0", "worker-1")

LISTENS = """
import os, signal, sys, time
path = os.environ["MUSTER_STOP_FILE"]
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(open(path).read().strip()))
print("up", os.path.exists(path), flush=True)
while not told:
    time.sleep(0.02)
print("told", told[0], flush=True)
time.sleep(0.5)
print("checkpoint saved: step=7 path=here", flush=True)
sys.exit(143)
"""

STAYS = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    print("hidden", os.getpid(), flush=True)
else:
    print("up", flush=True)
path, shown = os.environ["MUSTER_STOP_FILE"], None
while True:
    if os.path.exists(path) and open(path).read().strip() != shown:
        shown = open(path).read().strip()
        print("file", shown, time.time(), flush=True)
    time.sleep(0.02)
"""
"""A worker, and a child of it that fled into a session of its own; both ignore the signal."""


@dataclass(frozen=True, slots=True)
class Told:
    """One event of a job, and which of its processes lived when it was heard of."""

    at: datetime
    detail: f.Fact
    deadline: datetime | None
    alive: int


@pytest.fixture
async def muster(tmp_path: Path) -> AsyncIterator[Muster]:
    async with muster_in(tmp_path / "muster", NODES) as command_line:
        await command_line.up()
        yield command_line


def spot(priority: int = 50) -> dict[str, object]:
    """What a gang of one worker on each node asks for."""
    return {"type": "spot", "replicas": 2, "gpus_per_replica": 3, "priority": priority}


async def gang(muster: Muster, program: str, *, priority: int = 50, **fields: object) -> str:
    """Run a gang of one worker on each node."""
    resource = spot(priority)
    queue = {"enabled": True, "max_queue_hours": 1, "max_requeues": 3}
    command = ["python", "-c", program]
    file = job_file(muster.folder, "gang", command, resource=resource, auto_queue=queue, **fields)
    job = await muster.submit(file)
    await eventually(lambda: all("up" in muster.log(job, name) for name in WORKERS), within=30)
    return job


async def until(muster: Muster, job: str, kind: type[f.Fact]) -> dict[type[f.Fact], Told]:
    """Follow a job up to a fact; return the last of each kind, with who lived at that time."""
    found: dict[type[f.Fact], Told] = {}
    async with asyncio.timeout(60), muster.client() as client:
        async for item in client.events((f"jobs.default.{job}.>",), after=0):
            told = _told(item, job)
            found[type(told.detail)] = told
            if isinstance(told.detail, kind):
                return found
    raise AssertionError(f"the events of {job} came to an end")


def _told(item: Recorded, job: str) -> Told:
    detail: f.Fact = item.event.data.detail
    deadline = item.job.due(DeadlineKind.GRACE)
    return Told(item.event.time, detail, deadline, len(workers_of(job)))


async def told_by(
    muster: Muster, job: str, kind: type[f.Fact], *command: str
) -> dict[type[f.Fact], Told]:
    """Listen to a job, run a command, and wait for a fact."""
    listening = asyncio.create_task(until(muster, job, kind))
    try:
        await muster.ok(*command)
        return await listening
    finally:
        listening.cancel()


def said(log: str, word: str) -> list[str]:
    """What a worker printed after a word, in order."""
    return [line[len(word) + 1 :] for line in log.splitlines() if line.startswith(f"{word} ")]


async def test_a_notice_for_one_node_tells_the_whole_gang_when_it_must_be_gone(
    muster: Muster,
) -> None:
    job = await gang(muster, LISTENS)
    notice = ("node", "reclaim", "s1", "--notice", "20s")
    found = await told_by(muster, job, f.Requeued, *notice)
    preempted = found[f.Preempted]
    assert preempted.deadline is not None
    assert preempted.deadline - preempted.at <= timedelta(seconds=20)
    for worker in WORKERS:
        log = muster.log(job, worker)
        assert said(log, "up") == ["False"]  # the file is not there before
        assert [datetime.fromisoformat(each) for each in said(log, "told")] == [preempted.deadline]
        assert "checkpoint saved" in log
    released = found[f.Released]
    assert released.at < preempted.deadline  # who goes at once is not waited for
    assert released.alive == 0
    assert isinstance(released.detail, f.Released)
    assert set(released.detail.proofs.values()) == {"exit 143"}
    events = await muster.events(job)
    assert [events.count(name) for name in ("preempted", "signalled", "requeued")] == [1, 1, 1]
    assert "workers_failed" not in events


async def test_whoever_stays_is_killed_at_the_deadline_with_all_that_fled(muster: Muster) -> None:
    job = await gang(muster, STAYS)
    await eventually(lambda: len(workers_of(job)) == 4, within=20)
    notice = ("node", "reclaim", "s2", "--notice", "4s")
    found = await told_by(muster, job, f.Released, *notice)
    released, deadline = found[f.Released], found[f.Preempted].deadline
    assert deadline is not None
    assert timedelta(0) <= released.at - deadline < timedelta(seconds=5)
    assert released.alive == 0
    assert isinstance(released.detail, f.Released)
    assert set(released.detail.proofs.values()) == {"exit 137"}


async def test_stock_that_falls_is_told_the_same_way_and_a_nearer_deadline_too(
    muster: Muster,
) -> None:
    item = ("--zone", "z1", "--gpu-model", "A100")
    await muster.ok("stock", "set", *item, "--gpus", "8", "--price", "2.5", "--currency", "USD")
    job = await gang(muster, STAYS, grace_s=600)
    await muster.ok("stock", "set", *item, "--gpus", "2", "--notice", "5m")
    await eventually(lambda: bool(said(muster.log(job), "file")), within=15)
    (shown,) = (await muster.ok("stock", "--json")).json
    assert (shown["offered_gpus"], shown["held_gpus"], shown["available_gpus"]) == (2, 6, 0)
    assert shown["going_gpus"] == 4
    assert shown["gone_by"] is not None
    nearer = ("stock", "set", *item, "--gpus", "0", "--notice", "5s")
    found = await told_by(muster, job, f.Released, *nearer)
    nearest = found[f.GraceShortened].deadline
    assert nearest is not None
    for worker in WORKERS:
        lines = [line.split()[0] for line in said(muster.log(job, worker), "file")]
        deadlines = sorted({datetime.fromisoformat(each) for each in lines})
        assert deadlines[0] == nearest
        assert len(deadlines) == 2
        assert deadlines[1] - deadlines[0] > timedelta(seconds=200)
    assert found[f.Released].at - nearest < timedelta(seconds=5)
    assert found[f.Released].alive == 0
    assert (await muster.events(job)).count("preempted") == 1


async def test_a_drain_and_a_higher_job_say_it_in_the_same_file(muster: Muster) -> None:
    job = await gang(muster, LISTENS, grace_s=30, priority=10)
    found = await told_by(muster, job, f.Requeued, "node", "drain", "s1")
    evicted = found[f.Preempted].detail
    assert isinstance(evicted, f.Preempted)
    assert evicted.cause == "node_drain"
    deadline = found[f.Preempted].deadline
    assert [datetime.fromisoformat(t) for t in said(muster.log(job), "told")] == [deadline]
    await muster.ok("node", "uncordon", "s1")
    await eventually(lambda: "up" in muster.log(job, attempt=2), within=30)
    high = job_file(
        muster.folder,
        "high",
        ["python", "-c", "import time; time.sleep(60)"],
        resource=spot(60),
        auto_queue={"enabled": True, "max_queue_hours": 1, "max_requeues": 0},
    )
    await muster.submit(high)
    await eventually(lambda: bool(said(muster.log(job, attempt=2), "told")), within=30)
    assert (await muster.events(job)).count("preempted") == 2


async def test_a_tenant_without_spot_is_refused_and_what_runs_goes_on(muster: Muster) -> None:
    job = await gang(muster, LISTENS)
    waiting = await muster.submit(
        job_file(
            muster.folder,
            "waits",
            ["python", "-c", "print('up')"],
            resource=spot(),
            auto_queue={"enabled": True, "max_queue_hours": 1, "max_requeues": 0},
        )
    )
    await muster.ok("quota", "spot", "default", "--off")
    file = job_file(muster.folder, "late", ["true"], resource={"type": "spot", "replicas": 1})
    refused = await muster.run("submit", str(file))
    assert refused.code != 0
    assert "spot resources are not enabled for tenant default" in refused.err + refused.out
    assert "not enabled for tenant default" in (await muster.ok("stock")).err
    await muster.ok("stop", job)
    told = (await muster.ok("explain", waiting)).out
    assert "spot resources are not enabled for tenant default any more" in told
    await muster.ok("quota", "spot", "default", "--on")
    done = await muster.in_phase(waiting, "succeeded", "failed")
    assert done.phase == "succeeded"
