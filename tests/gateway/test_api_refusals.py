"""A wrong question is answered with the field, the rule and the remedy, in both languages."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from muster.domain.errors import Temporary
from muster.gateway.http import problems, queries
from muster.gateway.http.queries import JobQuery, NodeQuery, Query, StreamQuery
from muster.gateway.settings import GatewaySettings
from muster.runtime.database import Database
from tests.gateway.web import application, client
from tests.gateway.worlds import Gateway, World


@pytest.fixture
async def ready(gateway: Gateway, world: World) -> Gateway:
    await world.queued("j1")
    await gateway.follow.step()
    return gateway


async def refused(gateway: Gateway, path: str, **more: Any) -> tuple[int, list[dict[str, str]]]:
    async with client(application(gateway)) as http:
        answer = await http.get(path, **more)
    return answer.status_code, answer.json()["violations"]


async def test_an_unknown_filter_is_named_with_the_one_that_was_meant(ready: Gateway) -> None:
    status, (found,) = await refused(ready, "/api/v1/jobs?fase=queued")
    assert status == 400
    assert found["code"] == "E_PARAMETER_UNKNOWN"
    assert found["path"] == "$.query.fase"
    allowed = "cursor, label, lang, limit, phase, pool, tenant, user"
    assert found["en"] == f"unknown parameter fase; did you mean phase? allowed: {allowed}"
    assert found["zh"] == f"未知参数 fase；是否想用 phase？可用：{allowed}"


async def test_a_filter_like_no_other_is_to_be_removed(ready: Gateway) -> None:
    _, (found,) = await refused(ready, "/api/v1/nodes?colour=red")
    assert (
        found["en"]
        == "unknown parameter colour; remove it; allowed: condition, lang, pool, tenant, user"
    )


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/api/v1/jobs?phase=waiting", "query.phase"),
        ("/api/v1/jobs?phase=queued&phase=waiting", "query.phase"),
        ("/api/v1/jobs?tenant=a.b", "query.tenant"),
        ("/api/v1/jobs?tenant=", "query.tenant"),
        ("/api/v1/jobs?pool=%3E", "query.pool"),
        ("/api/v1/jobs?user=a%00b", "query.user"),
        ("/api/v1/jobs?label=", "query.label"),
        ("/api/v1/jobs?label=a%0Ab", "query.label"),
        ("/api/v1/jobs?limit=0", "query.limit"),
        ("/api/v1/jobs?limit=501", "query.limit"),
        ("/api/v1/jobs?limit=ten", "query.limit"),
        ("/api/v1/jobs?cursor=!!", "query.cursor"),
        ("/api/v1/jobs?cursor=e30", "query.cursor"),
        ("/api/v1/jobs?cursor=WyIyMDMxIiwiYSIsImIiXQ", "query.cursor"),
        ("/api/v1/jobs?lang=fr", "query.lang"),
        ("/api/v1/jobs/acme/j.1", "path.job"),
        ("/api/v1/jobs/a*/j1", "path.tenant"),
        ("/api/v1/nodes?condition=broken", "query.condition"),
        ("/api/v1/stream?after=-1", "query.after"),
        ("/api/v1/stream?snapshot=perhaps", "query.snapshot"),
    ],
)
async def test_a_wrong_value_is_answered_with_the_rule(
    ready: Gateway, path: str, field: str
) -> None:
    status, (found,) = await refused(ready, path)
    name = field.partition(".")[2]
    english, chinese = queries.RULES[name]
    assert status == 400
    assert found == {
        "code": "E_PARAMETER_VALUE",
        "path": f"$.{field}",
        "en": f"parameter {name} must be {english}; correct it or leave it out",
        "zh": f"参数 {name} 须为{chinese}；请修正或去掉该参数",
    }


async def test_everything_wrong_is_told_at_once(ready: Gateway) -> None:
    status, found = await refused(ready, "/api/v1/jobs?phase=x&limit=0&colour=red")
    assert status == 400
    assert {each["path"] for each in found} == {"$.query.phase", "$.query.limit", "$.query.colour"}


async def test_a_parameter_with_one_meaning_may_come_once(ready: Gateway) -> None:
    status, (found,) = await refused(ready, "/api/v1/jobs?tenant=acme&tenant=zoo")
    assert status == 400
    assert found["code"] == "E_PARAMETER_TWICE"
    assert "tenant" in found["en"]
    assert "tenant" in found["zh"]


async def test_a_strange_name_is_not_repeated(ready: Gateway) -> None:
    _, (found,) = await refused(ready, "/api/v1/jobs?%3Cscript%3E=1")
    assert "script" not in "".join(found.values())


async def test_an_unknown_job_is_said_to_be_unknown(ready: Gateway) -> None:
    status, (found,) = await refused(ready, "/api/v1/jobs/acme/j9")
    assert status == 404
    assert found["code"] == "E_JOB_UNKNOWN"
    assert found["en"].startswith("tenant acme has no job j9")


async def test_an_unknown_place_and_another_method_are_told(ready: Gateway) -> None:
    async with client(application(ready)) as http:
        place = await http.get("/api/v1/elsewhere")
        method = await http.post("/api/v1/jobs", json={"name": "x"})
    assert (place.status_code, place.json()["violations"][0]["code"]) == (404, "E_PATH_UNKNOWN")
    assert (method.status_code, method.json()["violations"][0]["code"]) == (405, "E_METHOD")
    assert "requests.<tenant>.<verb>" in method.json()["violations"][0]["en"]


@pytest.mark.parametrize("sent", ["x", "-1", "1.5", "٣", "1" * 20])
async def test_a_wrong_last_event_id_is_refused(ready: Gateway, sent: str) -> None:
    headers = {"Last-Event-ID": sent.encode()}
    status, (found,) = await refused(ready, "/api/v1/stream", headers=headers)
    assert status == 400
    assert found["path"] == "$.headers.last-event-id"


async def test_an_archive_that_is_away_is_told(ready: Gateway) -> None:
    async def away(work: object) -> None:
        raise Temporary("the database is away", delay=2)

    ready.database.run = away  # type: ignore[assignment, method-assign]
    async with client(application(ready)) as http:
        answer = await http.get("/api/v1/jobs")
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "2"
    assert answer.json()["violations"][0]["code"] == "E_AWAY"


async def test_an_error_of_our_own_says_nothing_of_its_inside(ready: Gateway) -> None:
    async def broken(work: object) -> None:
        raise ZeroDivisionError("inside")

    ready.database.run = broken  # type: ignore[assignment, method-assign]
    with capture_logs() as told:
        async with client(application(ready)) as http:
            answer = await http.get("/api/v1/jobs")
    assert [(line["event"], line["path"]) for line in told] == [("request failed", "/api/v1/jobs")]
    assert answer.status_code == 500
    assert answer.json()["violations"][0]["code"] == "E_INTERNAL"
    assert "inside" not in answer.text


async def test_a_token_is_asked_for_where_one_is_set(world: World, database: Database) -> None:
    settings = GatewaySettings.model_validate({"token": "s3cret", "host": "0.0.0.0"})
    gateway = Gateway(world, database, settings)
    await gateway.follow.step()
    async with client(application(gateway)) as http:
        for sent in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic s3cret"}):
            answer = await http.get("/api/v1/jobs", headers=sent)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            assert answer.json()["violations"][0]["code"] == "E_TOKEN"
        right = await http.get("/api/v1/jobs", headers={"Authorization": "Bearer s3cret"})
        health = await http.get("/healthz")
    assert right.status_code == health.status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8420", "127.0.0.1.evil.example"])
async def test_on_loopback_a_foreign_host_name_is_refused(ready: Gateway, host: str) -> None:
    status, (found,) = await refused(ready, "/api/v1/jobs", headers={"Host": host})
    assert (status, found["code"]) == (400, "E_HOST")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8420", "[::1]:8420", "[::1]"])
async def test_on_loopback_its_own_names_are_welcome(ready: Gateway, host: str) -> None:
    async with client(application(ready)) as http:
        assert (await http.get("/api/v1/jobs", headers={"Host": host})).status_code == 200


def test_every_parameter_has_its_rule_in_words() -> None:
    for model in (Query, JobQuery, NodeQuery, StreamQuery):
        assert set(model.model_fields) <= set(queries.RULES)


def test_every_problem_is_told_in_both_languages() -> None:
    for english, chinese in problems._TEXTS.values():
        assert english.isascii()
        assert not chinese.isascii()
