"""`muster explain` and `muster fit` against a running Muster, and against none that plans."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.harness import Muster, job_file, kill, muster_in
from tests.support.eventually import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
async def muster(tmp_path: Path) -> AsyncIterator[Muster]:
    async with muster_in(tmp_path / "m") as found:
        await found.up()
        await eventually(lambda: _has_nodes(found), within=30)
        yield found


def gang(muster: Muster, name: str, workers: int, gpus: int, **resource: Any) -> str:
    shape = {"type": "on_demand", "replicas": workers, "gpus_per_replica": gpus, **resource}
    return str(job_file(muster.folder, name, ["sleep", "600"], resource=shape))


async def test_a_job_is_tried_then_submitted_and_explained_until_it_fits(muster: Muster) -> None:
    low = gang(muster, "low", 2, 4, priority="low")
    tried = await muster.ok("fit", low, "--json")
    (said,) = tried.json
    assert said["fit"]["outcome"] == "placed"
    assert {len(workers) for workers in said["fit"]["placement"].values()} == {1}
    job = await muster.submit(low)
    state = await muster.in_phase(job, "running")
    assert {node: list(ws) for node, ws in state.held.items()} == said["fit"]["placement"]

    want = gang(muster, "want", 1, 3, priority="low")
    refused = await muster.run("fit", want)
    assert refused.code == 1
    assert "would have to wait; nothing was submitted" in refused.out
    assert "[NO_ROOM, look at who holds capacity]" in refused.out
    assert "based on: log position" in refused.out
    as_if = await muster.ok("fit", want, "--priority", "high")
    assert f"would be evicted: low ({job}," in as_if.out
    more = await muster.ok("fit", want, "--if", "add 1 node like node-1", "--json")
    assert more.json[0]["fit"]["placement"] == {"node-1+1": ["worker-0"]}

    waits = await muster.submit(want)
    explained = await muster.ok("explain", waits, "--json")
    answer = explained.json["answer"]
    assert answer["explanation"]["why"]["code"] == "NO_ROOM"
    assert answer["explanation"]["why"]["numbers"]["need"] == 1
    helps = {each["kind"] for each in answer["explanation"]["helps"]}
    assert {"priority", "room"} <= helps
    gone = await muster.ok("explain", waits, "--if", f"stop {job}", "--json")
    assert gone.json["answer"]["explanation"]["why"]["code"] == "FITS_NOW"
    wrong = await muster.run("explain", waits, "--if", "drian node-1")
    assert wrong.code == 1
    assert "at character 1: expected drain" in wrong.err

    still = muster.folder / "still.json"
    still.write_text((await muster.ok("snapshot")).out)
    again = await muster.ok("explain", waits, "--snapshot", str(still), "--json")
    assert again.json["explanation"]["why"] == answer["explanation"]["why"]
    await muster.ok("stop", job)
    await muster.in_phase(waits, "running")


async def test_without_a_scheduler_there_is_a_clear_answer_in_time(tmp_path: Path) -> None:
    async with muster_in(tmp_path / "m") as muster:
        await muster.up()
        file = gang(muster, "want", 1, 3)
        job = await muster.submit(gang(muster, "huge", 9, 4))
        await eventually(lambda: _told(muster, job), within=30)
        kill(muster.pid())
        began = time.monotonic()
        fit = await muster.run("fit", file)
        assert fit.code == 5
        assert "no scheduler of pool default answered" in fit.err
        assert "muster snapshot" in fit.err
        explained = await muster.ok("explain", job)
        assert "no scheduler answers now: this is what the last round said" in explained.out
        assert "can never hold this job" in explained.out
        assert time.monotonic() - began < 60
        still = muster.folder / "still.json"
        still.write_text((await muster.ok("snapshot")).out)
        offline = await muster.ok("explain", job, "--snapshot", str(still))
        assert "[NEVER_FITS, look at what the pool is made of]" in offline.out


async def _told(muster: Muster, job: str) -> bool:
    async with muster.client() as client:
        summary = await client.pool("default")
    queue = summary.queue if summary is not None else ()
    return any(one.job == job and one.code == "NEVER_FITS" for one in queue)


async def _has_nodes(muster: Muster) -> bool:
    async with muster.client() as client:
        summary = await client.pool("default")
    return summary is not None and summary.nodes > 0


async def test_the_gateway_asks_too(muster: Muster) -> None:
    up = json.loads((muster.state / "up.json").read_text())
    spec = json.loads(Path(gang(muster, "want", 1, 3)).read_text())
    async with httpx.AsyncClient(base_url=up["gateway"]) as http:
        found = await http.post(
            "/api/v1/fit", json={"tenant": "default", "user": "u", "spec": spec}
        )
        assert found.status_code == 200, found.text
        assert found.json()["fit"]["outcome"] == "placed"
        job = await muster.submit(gang(muster, "huge", 9, 4))
        told = await http.get(f"/api/v1/jobs/default/{job}/explanation")
        assert told.json()["explanation"]["why"]["code"] == "NEVER_FITS"
