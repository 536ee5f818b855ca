"""A job's failures over HTTP: why, what was decided, who paid, what followed."""

from __future__ import annotations

from dataclasses import replace

import httpx

from muster.domain import facts as f
from muster.domain.edges import Owner
from muster.fault_tolerance.core.event import failure_of
from muster.fault_tolerance.core.verdict import judge
from muster.log import Recorded
from tests.fault_tolerance.failures import BOOK
from tests.gateway.web import application, client
from tests.gateway.worlds import Gateway, World

TAIL = "ModuleNotFoundError: No module named 'x'"


async def failed(world: World) -> Recorded:
    await world.running("j1")
    one = f.WorkerFailure(worker="worker-0", node="n1", exit_code=1)
    fact = f.WorkersFailed(attempt=1, failures=(one,))
    last = await world.say("j1", Owner.EXECUTOR, fact)
    failure = failure_of(last.job, fact, world.clock.now())
    first, *rest = failure.workers
    told = replace(failure, workers=(first.model_copy(update={"tail": TAIL}), *rest))
    made = judge(last.job, told, BOOK, world.clock.now())
    assert made is not None
    return await world.say("j1", Owner.FAULT_TOLERANCE, made)


async def asked(gateway: Gateway, path: str) -> httpx.Response:
    async with client(application(gateway)) as http:
        return await http.get(f"/api/v1/jobs/{path}")


async def test_a_failure_is_told_with_its_evidence_and_ledgers(
    gateway: Gateway, world: World
) -> None:
    await failed(world)
    page = (await asked(gateway, "acme/j1/faults")).json()
    (only,) = page["faults"]
    assert (only["attempt"], only["verdict"], only["phase"]) == (1, "failed", "failed")
    found = only["diagnosis"]
    assert (found["rule"], found["rules"], found["blame"]) == ("py.import", "test-1", "user")
    assert found["evidence"][0] | {"at": None} == {
        "source": "log",
        "text": TAIL,
        "rule": "py.import",
        "worker": "worker-0",
        "node": "n1",
        "at": None,
        "zh": None,
    }
    assert found["before"] == found["after"]
    assert only["advice"] == "mend py.import"
    assert page["gpu_hours"] == found["gpu_hours"]


async def test_it_is_told_in_chinese(gateway: Gateway, world: World) -> None:
    await failed(world)
    (only,) = (await asked(gateway, "acme/j1/faults?lang=zh")).json()["faults"]
    assert only["advice"] == "请修正 py.import"
    assert "不再重试" in only["text"]


async def test_a_job_that_runs_has_no_faults_and_one_that_is_not_there_is_404(
    gateway: Gateway, world: World
) -> None:
    await world.running("j1")
    assert (await asked(gateway, "acme/j1/faults")).json()["faults"] == []
    assert (await asked(gateway, "acme/nobody/faults")).status_code == 404


async def test_the_shape_is_in_the_description(gateway: Gateway) -> None:
    async with client(application(gateway)) as http:
        paths = (await http.get("/api/v1/openapi.json")).json()["paths"]
    assert "get" in paths["/api/v1/jobs/{tenant}/{job}/faults"]
