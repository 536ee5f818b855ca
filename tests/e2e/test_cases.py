"""The most dangerous cases of queues, spot, events and admission, on one real installation.

Each has nodes of its own, so that they do not meet. What kills services or the server comes last:
the jobs of the tests before it are still there then.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.case_stage import SAVES, CaseStage, case_stage
from tests.support.eventually import eventually

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.asyncio(loop_scope="module"),
]

SPOT = tuple(f"s{number}" for number in range(1, 10))
NODES = tuple(f"n{number}" for number in range(1, 10))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[CaseStage]:
    async with case_stage(tmp_path_factory.mktemp("cases"), NODES, SPOT) as running:
        yield running


def auto_queue(requeues: int) -> dict[str, Any]:
    return {"enabled": True, "max_queue_hours": 2, "max_requeues": requeues}


@pytest.mark.case("RQT-04")
async def test_zero_is_zero_and_one_is_one(stage: CaseStage) -> None:
    small = {"gpus_per_replica": 2}
    zero, one = [
        await stage.submit(
            f"limit-{n}", ["s1"], kind="spot", auto_queue=auto_queue(n), resource=small
        )
        for n in (0, 1)
    ]
    for job in (zero, one):
        await stage.reaches(job, "running")
    await stage.ask("reclaim_node", node="s1", notice_s=30)
    await stage.reaches(zero, "abnormal")
    await stage.reaches(one, "queued", queue_entry=2)
    await stage.ask("uncordon_node", node="s1")
    await stage.reaches(one, "running", attempt=2)
    await stage.ask("reclaim_node", node="s1", notice_s=30)
    ended = await stage.reaches(one, "abnormal")
    assert ended.ledgers.requeues == 1
    assert (await stage.events(zero)).count("requeued") == 0


@pytest.mark.case("SPT-06", "SPT-11")
async def test_two_nodes_of_a_gang_and_each_twice_are_one_reclaim(stage: CaseStage) -> None:
    gang = await stage.submit(
        "gang", ["s2", "s3"], kind="spot", auto_queue=auto_queue(1), resource={"replicas": 2}
    )
    await stage.reaches(gang, "running")
    for node in ("s2", "s3", "s2", "s3"):
        await stage.ask("reclaim_node", node=node, notice_s=30)
    state = await stage.reaches(gang, "queued", queue_entry=2)
    assert state.ledgers.requeues == 1
    assert (await stage.events(gang)).count("preempted") == 1


@pytest.mark.case("SPT-08", "SPT-07")
@pytest.mark.parametrize(("node", "code"), [("s4", 0), ("s5", 1), ("s6", 143)])
async def test_no_exit_after_an_order_to_stop_is_success_or_failure(
    stage: CaseStage, node: str, code: int
) -> None:
    job = await stage.submit(
        f"saves-{code}",
        [node],
        SAVES.format(code=code),
        kind="spot",
        auto_queue=auto_queue(2),
        fault_tolerance={"enabled": True, "max_retries": 2},
    )
    await stage.reaches(job, "running")
    await stage.ask("reclaim_node", node=node, notice_s=30)
    state = await stage.reaches(job, "queued", queue_entry=2)
    assert (state.ledgers.requeues, state.ledgers.restarts) == (1, 0)
    assert not {"succeeded", "workers_failed", "failed"} & set(await stage.events(job))


@pytest.mark.case("RQT-30")
async def test_a_stop_that_comes_while_the_job_leaves_is_kept(stage: CaseStage) -> None:
    job = await stage.submit(
        "leaves",
        ["s7"],
        "trap '' TERM; sleep 600",
        kind="spot",
        auto_queue=auto_queue(3),
        grace_s=3,
    )
    await stage.reaches(job, "running")
    await stage.ask("reclaim_node", node="s7", notice_s=60)
    await stage.reaches(job, "evicting")
    await stage.ask("stop", job=job)
    await stage.ask("stop", job=job)
    state = await stage.reaches(job, "stopped", held={})
    assert state.ledgers.requeues == 0
    assert "requeued" not in await stage.events(job)


@pytest.mark.case("RQT-31")
async def test_an_order_to_leave_a_stop_and_an_end_have_one_end(stage: CaseStage) -> None:
    job = await stage.submit("ends", ["n1"], "sleep 2", auto_queue=auto_queue(3))
    await stage.reaches(job, "running")
    above = {"priority": 90}
    higher, _ = await asyncio.gather(
        stage.submit("higher", ["n1"], resource=above), stage.ask("stop", job=job)
    )
    await stage.reaches(higher, "running")
    events = await stage.events(job)
    assert sum(event in {"succeeded", "stopped", "failed"} for event in events) == 1
    assert "requeued" not in events


@pytest.mark.case("ADM-09", "BUS-04")
async def test_the_same_click_is_one_job_and_another_body_is_refused(stage: CaseStage) -> None:
    jobs = {await stage.submit("click", ["n2"], request="click") for _ in range(3)}
    (job,) = jobs
    await stage.reaches(job, "running")
    await stage.submit("another", ["n2"], request="click")

    async def refused() -> bool:
        return await stage.answer("click") == ["E_REQUEST_REUSED"]

    await eventually(refused, within=110, every=0.1)
    assert (await stage.events(job)).count("submitted") == 1


@pytest.mark.case("ADM-03")
async def test_a_new_job_of_the_name_of_one_that_ends_is_its_own(stage: CaseStage) -> None:
    old = await stage.submit("demo", ["n3"], request="demo-1", auto_queue=auto_queue(1))
    await stage.reaches(old, "running")
    await stage.ask("stop", job=old)
    fresh = await stage.submit("demo", ["n3"], request="demo-2", auto_queue=auto_queue(1))
    await stage.reaches(old, "stopped", held={})
    state = await stage.reaches(fresh, "running")
    assert (state.queue_entry, state.ledgers.requeues, state.attempt) == (1, 0, 1)


@pytest.mark.case("ADM-04")
async def test_every_way_out_gives_the_share_back(stage: CaseStage) -> None:
    nodes = ["n4", "n5"]
    stops = await stage.submit("stops", nodes, request="stops")
    ends = await stage.submit("ends-3", nodes, "sleep 1; exit 3", request="ends-3")
    await stage.reaches(ends, "failed", held={})
    await stage.reaches(stops, "running")
    await stage.ask("stop", job=stops)
    both = await stage.submit("both", nodes, request="both", resource={"replicas": 2})
    assert set((await stage.reaches(both, "running")).held) == set(nodes)


@pytest.mark.case("ADM-10", "BUS-03")
async def test_poison_costs_one_request_and_the_next_is_served(stage: CaseStage) -> None:
    odd = ({"replicas": 0}, {"gpus_per_replica": -1}, {"priority": 10**18}, {"replicas": 10**6})
    for number, resource in enumerate(odd):
        await stage.submit("odd", ["n6"], request=f"odd-{number}", resource=resource)
    await stage.poison()
    for number in range(len(odd)):
        assert await stage.answer(f"odd-{number}")
    await stage.reaches(await stage.submit("even", ["n6"]), "running")


@pytest.mark.case("ADM-02")
async def test_a_refusal_stays_one_however_often_it_is_asked(stage: CaseStage) -> None:
    jobs = {
        await stage.submit("refused", ["s8"], kind="spot", resource={"guarantee": True})
        for _ in range(3)
    }
    (job,) = jobs
    await stage.reaches(job, "rejected")
    assert await stage.answer("submit-refused") == ["E_SPOT_GUARANTEE"]
    assert (await stage.events(job))[:2] == ["submitted", "rejected"]
    assert "admitted" not in await stage.events(job)


@pytest.mark.case("BUS-05", "BUS-08")
async def test_the_server_is_killed_among_submissions_and_none_is_lost(stage: CaseStage) -> None:
    tiny = {"gpus_per_replica": 0}
    jobs = [await stage.submit(f"early-{n}", ["n7"], "true", resource=tiny) for n in range(10)]
    await stage.server.kill()
    await stage.server.restart()
    jobs += [await stage.submit(f"late-{n}", ["n7"], "true", resource=tiny) for n in range(10)]
    for job in jobs:
        await stage.reaches(job, "succeeded", attempt=1)
        assert (await stage.events(job)).count("scheduled") == 1


@pytest.mark.case("RQT-25", "ADM-07", "BUS-17", "SPT-01")
async def test_everything_dies_in_the_middle_of_an_eviction(stage: CaseStage) -> None:
    over = await stage.submit("over", ["n8"], "true")
    # two admissions may take two requests in either order, and n8 has room for one job
    await stage.reaches(over, "succeeded", held={})
    runs = await stage.submit("runs", ["n8"])
    leaves = await stage.submit(
        "dies", ["s9"], SAVES.format(code=143), kind="spot", auto_queue=auto_queue(3)
    )
    await stage.reaches(runs, "running")
    await stage.reaches(leaves, "running")
    await stage.ask("reclaim_node", node="s9", notice_s=30)
    await stage.reaches_event(leaves, "preempted")
    stage.kill_services()
    stage.start_services()
    state = await stage.reaches(leaves, "queued", queue_entry=2)
    assert (state.ledgers.requeues, state.held) == (1, {})
    await stage.ask("uncordon_node", node="s9")
    await stage.reaches(leaves, "running", attempt=2)
    assert (await stage.reaches(runs, "running")).attempt == 1
    assert (await stage.events(runs)).count("launching") == 1
    assert (await stage.reaches(over, "succeeded")).attempt == 1
