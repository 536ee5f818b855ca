"""Questions to the scheduler over HTTP: what is asked, what is answered, what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from muster.contracts.queries import ExplainJob, FitJob, QueryAnswer
from muster.domain.errors import Permanent, Temporary
from muster.domain.phases import Phase
from muster.domain.pools import PoolSummary, WaitingJob
from muster.domain.rules import violation
from muster.domain.waiting import Explanation, Fit, FitOutcome, Tier, WhyCode
from muster.domain.waiting_words import in_general, why
from muster.gateway.core.view import SeenPool
from tests.gateway.web import application, client
from tests.gateway.worlds import START, Gateway, World

SPEC = {"name": "train", "resource": {"type": "on_demand", "pool": "west"}}
JSON = "application/json"
FIT = {"tenant": "acme", "user": "ann", "spec": SPEC}


def answer(**more: Any) -> bytes:
    """An answer of a scheduler."""
    fields: dict[str, Any] = {"kind": "explain", "pool": "default", "position": 7, "at": START}
    return QueryAnswer(**fields | more).model_dump_json().encode()


EXPLAINED = Explanation(
    tenant="acme",
    job="j1",
    phase=Phase.QUEUED,
    why=why(WhyCode.NO_ROOM, need=2, fits=1, spec="8 GPU"),
    ahead=3,
    helps=(in_general(WhyCode.NO_ROOM),),
)


@pytest.fixture
async def asked(gateway: Gateway, world: World) -> Gateway:
    await world.queued("j1")
    await gateway.follow.step()
    gateway.bus.answer_with = answer(explanation=EXPLAINED)
    return gateway


async def get(gateway: Gateway, path: str) -> tuple[int, Any]:
    async with client(application(gateway)) as http:
        found = await http.get(path)
    return found.status_code, found.json()


async def post(gateway: Gateway, body: bytes, kind: str = JSON) -> tuple[int, Any]:
    async with client(application(gateway)) as http:
        found = await http.post("/api/v1/fit", content=body, headers={"content-type": kind})
    return found.status_code, found.json()


async def test_a_job_is_explained_as_the_scheduler_says_it(asked: Gateway) -> None:
    path = "/api/v1/jobs/acme/j1/explanation?what_if=drain%20n1&what_if=stop%20j2&priority=high"
    status, found = await get(asked, path)
    assert status == 200
    assert (found["position"], found["pool"]) == (7, "default")
    assert found["explanation"]["why"]["code"] == "NO_ROOM"
    assert found["explanation"]["why"]["tier"] == "capacity"
    assert found["explanation"]["helps"]
    ((subject, body),) = asked.bus.asked
    assert subject == "queries.default.explain"
    query = ExplainJob.model_validate_json(body)
    assert (query.tenant, query.job, query.priority) == ("acme", "j1", "high")
    assert query.what_if == ("drain n1", "stop j2")
    assert query.at_least == asked.view.jobs["acme", "j1"].seq


async def test_a_job_is_tried_in_the_pool_that_it_names(asked: Gateway) -> None:
    fit = Fit(outcome=FitOutcome.PLACED, gpus=8, workers=1, placement={"n1": ("worker-0",)})
    asked.bus.answer_with = answer(kind="fit", pool="west", fit=fit)
    body = json.dumps(FIT | {"what_if": ["add 4 nodes like n1"], "priority": 70}).encode()
    status, found = await post(asked, body, "application/json; charset=utf-8")
    assert status == 200
    assert found["fit"]["placement"] == {"n1": ["worker-0"]}
    ((subject, sent),) = asked.bus.asked
    assert subject == "queries.west.fit"
    query = FitJob.model_validate_json(sent)
    assert (query.user, query.priority, query.spec["name"]) == ("ann", 70, "train")


async def test_what_the_scheduler_refuses_is_told_as_it_says_it(asked: Gateway) -> None:
    broken = violation("E_WHAT_IF_NODE", "$.what_if[0]", pool="default")
    asked.bus.answer_with = answer(violations=(broken,))
    status, found = await get(asked, "/api/v1/jobs/acme/j1/explanation?what_if=drain%20n9")
    assert (status, found["violations"][0]["path"]) == (400, "$.what_if[0]")
    unknown = violation("E_JOB_UNKNOWN", "$.job", tenant="acme", job="j1")
    asked.bus.answer_with = answer(violations=(unknown,))
    assert (await get(asked, "/api/v1/jobs/acme/j1/explanation"))[0] == 404


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (None, 503, "E_NO_SCHEDULER"),
        (Temporary("reads the log"), 503, "E_AWAY"),
        (Permanent("a fault"), 502, "E_NO_ANSWER"),
        (b"[1, 2]", 502, "E_NO_ANSWER"),
    ],
    ids=["nobody", "not now", "refused", "no answer"],
)
async def test_no_answer_is_an_answer_with_a_remedy(
    asked: Gateway, error: Any, status: int, code: str
) -> None:
    asked.bus.answer_with = error
    for got, found in (
        await get(asked, "/api/v1/jobs/acme/j1/explanation"),
        await post(asked, json.dumps(FIT).encode()),
    ):
        assert got == status
        assert found["violations"][0]["code"] == code
        assert found["violations"][0]["zh"] != found["violations"][0]["en"]


async def test_questions_that_are_none(asked: Gateway) -> None:
    path = "/api/v1/jobs/acme/j1/explanation"
    for query, field in (
        ("priority=0", "query.priority"),
        ("priority=100", "query.priority"),
        ("what_if=", "query.what_if"),
        ("what=1", "query.what"),
    ):
        status, found = await get(asked, f"{path}?{query}")
        assert (status, found["violations"][0]["path"]) == (400, f"$.{field}")
    assert (await get(asked, "/api/v1/jobs/acme/j9/explanation"))[0] == 404
    for body, kind, status in (
        (b"{}", "text/plain", 415),
        (b"[", JSON, 400),
        (b'{"tenant": "acme"}', JSON, 400),
        (b" " * 300_000, JSON, 413),
        (
            json.dumps(FIT | {"spec": {"resource": {"pool": "a.b"}}}).encode(),
            "application/json",
            400,
        ),
        (json.dumps(FIT | {"spec": {"resource": {"pool": 1}}}).encode(), JSON, 400),
    ):
        got, found = await post(asked, body, kind)
        assert got == status
        assert found["violations"][0]["en"]
    assert asked.bus.asked == []


async def test_the_list_says_why_the_first_of_the_queue_wait(asked: Gateway) -> None:
    said = WaitingJob(
        tenant="acme", job="j1", code="NO_ROOM", en="no", zh="无", ahead=2, tier=Tier.CAPACITY
    )
    summary = PoolSummary(nodes=1, gpus=8, gpus_free=0, waiting=3, queue=(said,))
    asked.view.pools["default"] = SeenPool("default", summary=summary)
    _, found = await get(asked, "/api/v1/jobs?lang=zh")
    assert found["jobs"][0]["waiting"] == {
        "code": "NO_ROOM",
        "tier": "capacity",
        "text": "无",
        "ahead": 2,
    }
