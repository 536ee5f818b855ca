"""Jobs over HTTP: listing by filter and page, and one job with its timeline."""

from __future__ import annotations

import pytest

from muster.domain import facts as f
from muster.domain.edges import Owner
from muster.domain.errors import Temporary
from muster.gateway.settings import GatewaySettings
from muster.log.memory import LogFault
from muster.runtime.database import Database
from tests.gateway.web import application, client
from tests.gateway.worlds import Gateway, World


async def jobs_of(gateway: Gateway, query: str) -> list[str]:
    async with client(application(gateway)) as http:
        answer = await http.get(f"/api/v1/jobs?{query}")
    assert answer.status_code == 200, answer.text
    return [row["job"] for row in answer.json()["jobs"]]


@pytest.fixture
async def filled(gateway: Gateway, world: World) -> Gateway:
    """j1 and j2 have ended and are the archive's; the others live in the view."""
    await world.ended("j1", labels={"team": "vision", "stage": "pre"})
    await world.ended("j2", user="bob", labels={"team": "speech"})
    await world.running("j3", labels={"team": "vision"})
    await world.queued("j4", tenant="zoo", pool="west")
    await world.queued("j5", user="bob", labels={"team": "vision", "stage": "pre"})
    await gateway.settle()
    await gateway.follow.step()
    assert {name[1] for name in gateway.view.jobs} == {"j3", "j4", "j5"}
    return gateway


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["j5", "j4", "j3", "j2", "j1"]),
        ("tenant=acme", ["j5", "j3", "j2", "j1"]),
        ("user=bob", ["j5", "j2"]),
        ("pool=west", ["j4"]),
        ("phase=queued", ["j5", "j4"]),
        ("phase=queued&phase=succeeded", ["j5", "j4", "j2", "j1"]),
        ("label=team%3Dvision", ["j5", "j3", "j1"]),
        ("label=team%3Dvision&label=stage%3Dpre", ["j5", "j1"]),
        ("label=stage", ["j5", "j1"]),
        ("label=team%3Dvision&phase=succeeded&user=ann", ["j1"]),
        ("tenant=nobody", []),
    ],
)
async def test_filters_hold_together_over_view_and_archive(
    filled: Gateway, query: str, found: list[str]
) -> None:
    assert await jobs_of(filled, query) == found


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
async def test_pages_lead_through_everything_once(filled: Gateway, limit: int) -> None:
    found, cursor = [], ""
    async with client(application(filled)) as http:
        while True:
            answer = (await http.get(f"/api/v1/jobs?limit={limit}{cursor}")).json()
            found += [row["job"] for row in answer["jobs"]]
            assert len(answer["jobs"]) <= limit
            if answer["next"] is None:
                break
            cursor = f"&cursor={answer['next']}"
    assert found == ["j5", "j4", "j3", "j2", "j1"]


async def test_the_view_is_newer_than_the_archive(filled: Gateway, world: World) -> None:
    await world.relabelled("j1", {"team": "moved"})
    await filled.follow.step()
    assert await jobs_of(filled, "label=team%3Dvision&phase=succeeded") == []
    assert await jobs_of(filled, "label=team%3Dmoved") == ["j1"]
    await filled.settle()
    assert await jobs_of(filled, "label=team%3Dmoved") == ["j1"]
    assert ("acme", "j1") not in filled.view.jobs


async def test_jobs_that_ended_and_are_not_handed_over_are_listed_once(
    gateway: Gateway, world: World
) -> None:
    for number in range(6):
        await world.ended(f"j{number}")
    await gateway.feed()
    await gateway.follow.step()
    assert await jobs_of(gateway, "limit=4") == ["j5", "j4", "j3", "j2"]
    for name in list(gateway.view.jobs)[:3]:
        gateway.view.forget_job(name, gateway.view.jobs[name].seq)
    assert await jobs_of(gateway, "") == ["j5", "j4", "j3", "j2", "j1", "j0"]


async def test_a_row_says_where_the_job_stands(gateway: Gateway, world: World) -> None:
    await world.running("j1", labels={"team": "vision"})
    await gateway.follow.step()
    async with client(application(gateway)) as http:
        row = (await http.get("/api/v1/jobs", params={"lang": "zh"})).json()["jobs"][0]
    assert row["phase"] == row["shown"] == "running"
    assert row["shown_text"] == "运行中"
    assert (row["gpus"], row["workers"], row["attempt"]) == (16, 2, 1)
    assert row["nodes"] == ["n1", "n2"]
    assert row["labels"] == {"team": "vision"}
    assert row["version"] == 5


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("", "queued"),
        ("de", "queued"),
        ("en, zh;q=0.8", "queued"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "排队中"),
        ("en;q=0.2, zh;q=0.7", "排队中"),
        ("zh;q=oops", "queued"),
    ],
)
async def test_the_browsers_language_is_spoken(
    gateway: Gateway, world: World, header: str, text: str
) -> None:
    await world.queued("j1")
    await gateway.follow.step()
    async with client(application(gateway)) as http:
        answer = await http.get("/api/v1/jobs", headers={"Accept-Language": header})
    assert answer.json()["jobs"][0]["shown_text"] == text


async def test_a_job_is_told_with_every_event_of_its_life(gateway: Gateway, world: World) -> None:
    await world.running("j1")
    failure = f.WorkerFailure(worker="worker-1", node="n2", exit_code=137)
    await world.say("j1", Owner.EXECUTOR, f.WorkersFailed(attempt=1, failures=(failure,)))
    async with client(application(gateway)) as http:
        english = (await http.get("/api/v1/jobs/acme/j1")).json()
        chinese = (await http.get("/api/v1/jobs/acme/j1?lang=zh")).json()
    assert english["fresh"] is True
    assert english["missing"] == []
    assert [event["event"] for event in english["timeline"]] == [
        "submitted",
        "admitted",
        "scheduled",
        "launching",
        "started",
        "workers_failed",
    ]
    assert english["timeline"][0]["detail"]["spec"]["image"] == "registry/train:1"
    assert english["timeline"][2]["text"] == "placed on 2 node(s): n1 (worker-0); n2 (worker-1)"
    assert chinese["timeline"][2]["text"] == "已分配 2 个节点：n1 (worker-0); n2 (worker-1)"
    last = english["timeline"][-1]
    assert last["detail"]["failures"][0]["exit_code"] == 137
    assert last["text"] == "worker(s) ended badly: worker-1@n2 exit code 137"
    assert last["reason"]["code"] == "WORKER_FAILED"
    (tried,) = english["tried"]
    assert (tried["entry"], tried["end"], tried["bounced"]) == (1, None, 0)
    assert tried["ran_s"] is not None
    assert english["state"]["phase"] == english["job"]["phase"] == "faulted"


async def test_one_job_is_asked_of_the_leader_not_of_the_view(
    gateway: Gateway, world: World
) -> None:
    await world.queued("j1")
    async with client(application(gateway)) as http:
        answer = await http.get("/api/v1/jobs/acme/j1")
    assert answer.json()["job"]["phase"] == "queued"


class Away:
    """The log does not answer."""

    def __init__(self) -> None:
        self.away = False

    async def before(self, operation: str) -> LogFault:
        if self.away:
            raise Temporary("the log is away")
        return LogFault.NONE

    async def after(self, operation: str) -> None:
        return None


async def test_while_the_log_is_away_jobs_are_remembered(
    database: Database, settings: GatewaySettings
) -> None:
    hooks = Away()
    world = World(hooks=hooks)
    gateway = Gateway(world, database, settings)
    await world.ended("j1")
    await world.running("j2")
    await gateway.settle()
    hooks.away = True
    async with client(application(gateway)) as http:
        ended = (await http.get("/api/v1/jobs/acme/j1")).json()
        running = (await http.get("/api/v1/jobs/acme/j2")).json()
        unknown = await http.get("/api/v1/jobs/acme/j3")
        listed = await http.get("/api/v1/jobs")
    assert (ended["fresh"], ended["job"]["phase"]) == (False, "succeeded")
    assert len(ended["timeline"]) == 8
    assert (running["fresh"], running["job"]["phase"]) == (False, "running")
    assert len(running["timeline"]) == 5
    assert unknown.status_code == 503
    assert unknown.json()["violations"][0]["code"] == "E_AWAY"
    assert len(listed.json()["jobs"]) == 2


async def test_a_view_that_has_not_read_the_log_yet_shows_nothing_rather_than_too_little(
    gateway: Gateway, world: World
) -> None:
    await world.queued("j1")
    async with client(application(gateway)) as http:
        for path in ("jobs", "nodes", "pools", "stream"):
            answer = await http.get(f"/api/v1/{path}")
            assert answer.status_code == 503
            assert answer.headers["retry-after"] == "1"
            assert answer.json()["violations"][0]["code"] == "E_STARTING"
