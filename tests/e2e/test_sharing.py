"""Shared cards, taints and what others take, with the whole product and real processes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.harness import JOBS, Muster, job_file, kill, muster_in

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

NODES = """\
- {name: plain, gpus: 2, cpus: 8, memory_mib: 8192}
- {name: kept, gpus: 4, cpus: 8, memory_mib: 8192, taints: [{key: dedicated, value: vision}]}
- {name: busy, gpus: 4, cpus: 8, memory_mib: 8192, foreign: {gpus: 4}}
"""

SHOWS = "import os, time; e = os.environ; print('gpu', e['CUDA_VISIBLE_DEVICES'], 'of', "
SHOWS += "e['MUSTER_GPU_MILLI'], 'on', e['MUSTER_NODE'], flush=True); time.sleep({})"


@pytest.fixture
async def muster(tmp_path: Path) -> AsyncIterator[Muster]:
    async with muster_in(tmp_path / "muster", NODES) as command_line:
        yield command_line


def shows(muster: Muster, name: str, seconds: int, **resource: object) -> Path:
    command = ["python", "-c", SHOWS.format(seconds)]
    wanted = {"type": "on_demand", "replicas": 1, **resource}
    return job_file(muster.folder, name, command, resource=wanted)


@pytest.mark.timeout(300)
async def test_a_shared_card_keeps_its_gpu_over_a_kill_of_everything(muster: Muster) -> None:
    await muster.up()
    whole = await muster.submit(shows(muster, "whole", 300, gpus_per_replica=1))
    await muster.prints(whole, "gpu 0 of 1000 on plain")
    first = await muster.submit(shows(muster, "first", 300, gpu_milli_per_replica=600))
    await muster.prints(first, "gpu 1 of 600 on plain")
    kill(muster.pid())
    await muster.up()
    await muster.ok("stop", "whole")
    await muster.in_phase(whole, "stopped")
    second = await muster.submit(shows(muster, "second", 300, gpu_milli_per_replica=400))
    await muster.prints(second, "gpu 1 of 400 on plain")
    third = await muster.submit(shows(muster, "third", 300, gpu_milli_per_replica=400))
    await muster.prints(third, "gpu 0 of 400 on plain")
    rows = {row["node"]: row for row in (await muster.ok("nodes", "--json")).json}
    assert sorted(rows["plain"]["gpus_shared"].values()) == [400, 1000]
    assert [rows[name]["gpus_free"] for name in ("plain", "kept", "busy")] == [0, 4, 0]
    assert rows["busy"]["gpus_foreign"] == 4


async def test_the_example_of_shared_gpus_has_four_workers_on_one(muster: Muster) -> None:
    await muster.up()
    done = await muster.ok("submit", str(JOBS / "shared-gpu.yaml"), "--follow")
    lines = [line for line in done.out.splitlines() if " of GPU " in line]
    assert len(lines) == 4
    assert len({line.rpartition(" ")[2] for line in lines}) == 1
    assert all("0.25 of GPU" in line for line in lines)


async def test_the_example_of_workers_together_needs_its_node(muster: Muster) -> None:
    await muster.up()
    job = await muster.submit(JOBS / "together.yaml")
    open_file = muster.folder / "nodes.yaml"
    open_file.write_text(NODES.replace(", foreign: {gpus: 4}", ""))  # the others leave
    done = await muster.in_phase(job, "succeeded", "failed")
    assert (done.phase, len(done.held)) == ("succeeded", 0)
    assert "on busy" in muster.log(job)
    assert "on busy" in muster.log(job, "worker-1")
