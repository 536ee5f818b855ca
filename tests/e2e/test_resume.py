"""Real trainings that are moved: whoever goes on is believed, whoever starts over is found out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from muster.domain import facts as f
from tests.e2e.harness import Muster, job_file, kill, muster_in, training_file
from tests.support.eventually import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

FORGETFUL = """
import time
for step in range(1, 2000):
    print(f"step={step} loss={1 / step:.4f}", flush=True)
    if step % 20 == 0:
        print(f"checkpoint saved: step={step} path=nowhere", flush=True)
    time.sleep(0.05)
"""


@pytest.fixture
async def muster(tmp_path: Path) -> AsyncIterator[Muster]:
    async with muster_in(tmp_path / "muster") as command_line:
        yield command_line


async def said(muster: Muster, job: str, kind: type[f.Fact]) -> list[Any]:
    """Return the facts of one kind about a job, in order."""
    async with muster.client() as client:
        timeline = await client.timeline("default", job)
    details = (item.event.data.detail for item in timeline)
    return [each for each in details if isinstance(each, kind)]


async def first_said(muster: Muster, job: str, kind: type[f.Fact]) -> Any:
    """Wait for the first fact of this kind about a job."""
    async with asyncio.timeout(40), muster.client() as client:
        async for item in client.events((f"jobs.default.{job}.>",), after=0):
            if isinstance(item.event.data.detail, kind):
                return item.event.data.detail
    raise AssertionError(f"the events of {job} came to an end")


async def move(muster: Muster, job: str) -> None:
    """Drain the node that the job is on, and wait until it runs elsewhere."""
    running = await muster.in_phase(job, "running")
    (node,) = running.held
    await muster.ok("node", "drain", node)
    async with muster.client() as client:
        async for item in client.events((f"jobs.default.{job}.>",), after=0):
            if item.job.attempt > running.attempt and item.job.phase == "running":
                return


async def test_a_training_that_goes_on_is_verified_whoever_dies_meanwhile(muster: Muster) -> None:
    await muster.up()
    job = await muster.submit(training_file(muster.folder, "training", 9000, workers=1))
    await muster.prints(job, "step=50 ")
    kill(muster.pid())  # what was seen of the first run is gone with its executor
    await muster.prints(job, "step=80 ")
    await muster.up()
    await move(muster, job)
    await eventually(lambda: "checkpoint loaded" in muster.log(job, attempt=2), within=20)
    kill(muster.pid())
    await eventually(lambda: "\nstep=" in muster.log(job, attempt=2), within=20)
    await muster.up()
    found = await first_said(muster, job, f.ResumeVerified)
    first, second = muster.log(job), muster.log(job, attempt=2)
    steps = [int(line.split()[0][5:]) for line in first.splitlines() if line.startswith("step=")]
    loaded = int(second.partition("checkpoint loaded: step=")[2].split()[0])
    assert await said(muster, job, f.ResumeVerified) == [found]
    assert await said(muster, job, f.ProgressLost) == []
    assert (found.attempt, found.step_before, found.checkpoint_step) == (2, max(steps), loaded)
    assert loaded < found.step_after <= loaded + 5
    assert found.line.startswith(f"checkpoint loaded: step={loaded} ")
    saved = await said(muster, job, f.CheckpointSaved)
    assert [each.attempt for each in saved][:1] == [1]
    shown = (await muster.ok("show", job)).out
    assert f"run 2 went on: step {found.step_before} -> {found.step_after}" in shown


async def test_a_training_that_ignores_its_checkpoint_is_found_out(muster: Muster) -> None:
    await muster.up()
    resource = {"type": "on_demand", "replicas": 1, "gpus_per_replica": 1}
    command = ["python", "-c", FORGETFUL]
    job = await muster.submit(
        job_file(muster.folder, "forgetful", command, resource=resource, grace_s=2)
    )
    await muster.prints(job, "checkpoint saved: step=60 ")
    await move(muster, job)
    kill(muster.pid())
    await muster.prints(job, "step=61 ")
    await muster.up()
    steps = [line for line in muster.log(job).splitlines() if line.startswith("step=")]
    last = int(steps[-1].split()[0][5:])

    lost = await first_said(muster, job, f.ProgressLost)
    assert (lost.attempt, lost.step_before, lost.step_after) == (2, last, 1)
    assert lost.checkpoint_step == last // 20 * 20
    assert lost.line == "step=1 loss=1.0000"
    assert 0 < lost.gpu_hours < 1 * 60 / 3600
    assert await said(muster, job, f.ResumeVerified) == []
