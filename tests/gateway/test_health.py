"""`/readyz` says the truth and names what is wrong; `/metrics` counts."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from muster.bus import ACCOUNT, Room
from muster.domain.errors import Temporary
from muster.gateway.readiness import NotReady
from muster.gateway.settings import GatewaySettings
from muster.log.memory import LogFault
from muster.runtime.database import Database
from tests.gateway.web import application, client
from tests.gateway.worlds import Gateway, World


class Hooked:
    """A log whose reads may fail, and whose followers may hear nothing."""

    def __init__(self) -> None:
        self.away = False
        self.deaf = False

    async def before(self, operation: str) -> LogFault:
        if self.away:
            raise Temporary("nobody answers")
        stale = self.deaf and operation == "follow"
        return LogFault.STALE if stale else LogFault.NONE

    async def after(self, operation: str) -> None:
        return None


@pytest.fixture
def hooks() -> Hooked:
    return Hooked()


@pytest.fixture
def world(hooks: Hooked) -> World:
    return World(hooks=hooks)


async def readyz(gateway: Gateway) -> tuple[int, dict[str, Any]]:
    async with client(application(gateway)) as http:
        answer = await http.get("/readyz")
    return answer.status_code, answer.json()


async def test_a_gateway_that_works_is_ready(gateway: Gateway, world: World) -> None:
    await world.queued("j1")
    await gateway.settle()
    assert await readyz(gateway) == (
        200,
        {"ready": True, "checks": {"view": "ok", "archive": "ok", "consumer": "ok"}},
    )
    await gateway.readiness.ready()


async def test_the_process_is_healthy_whatever_is_away(gateway: Gateway, hooks: Hooked) -> None:
    hooks.away = True
    async with client(application(gateway)) as http:
        assert (await http.get("/healthz")).status_code == 200


async def test_it_is_not_ready_before_the_view_has_reached_the_end(
    gateway: Gateway, world: World
) -> None:
    await world.queued("j1")
    status, body = await readyz(gateway)
    assert status == 503
    assert body["checks"]["view"] == "still reading the log: 0 of 2"


async def test_a_view_that_lags_is_named_with_its_place(
    gateway: Gateway, world: World, hooks: Hooked
) -> None:
    await world.queued("j1")
    await gateway.settle()
    hooks.deaf = True
    await world.queued("j2")
    assert (await readyz(gateway))[0] == 200, "a moment's lag is nothing"
    world.clock.pass_by(seconds=11)
    status, body = await readyz(gateway)
    assert status == 503
    assert body["checks"]["view"].startswith("the view stands at 2 of 4 for 1")
    hooks.deaf = False
    await gateway.settle()
    assert (await readyz(gateway))[0] == 200


async def test_a_view_that_follows_a_busy_log_is_ready(gateway: Gateway, world: World) -> None:
    await world.queued("j1")
    await gateway.settle()
    for number in range(20):
        await world.queued(f"k{number}")
        assert (await readyz(gateway))[0] == 200
        await gateway.settle()
        world.clock.pass_by(seconds=5)


async def test_a_log_that_is_away_an_archive_and_a_consumer_are_each_named(
    gateway: Gateway, world: World, hooks: Hooked
) -> None:
    await world.queued("j1")
    await gateway.settle()
    hooks.away = True
    gateway.bus.behind = None
    gateway.database.close()

    async def away(work: object) -> None:
        raise Temporary("the database is away or busy")

    gateway.database.run = away  # type: ignore[assignment, method-assign]
    status, body = await readyz(gateway)
    assert status == 503
    assert body == {
        "ready": False,
        "checks": {
            "view": "nobody answers",
            "archive": "the database is away or busy",
            "consumer": "there is no consumer gateway-archive",
        },
    }
    with pytest.raises(NotReady, match=r"view: nobody answers; archive: .*; consumer: there is no"):
        await gateway.readiness.ready()


async def test_a_log_that_was_replaced_is_named(gateway: Gateway, world: World) -> None:
    await world.queued("j1")
    await gateway.settle()
    world.store.entries.clear()
    _, body = await readyz(gateway)
    assert body["checks"]["view"] == "the log ends at 0, but 2 was read: it was replaced"


async def metrics(gateway: Gateway, *before: str) -> dict[tuple[str, tuple[str, ...]], float]:
    async with client(application(gateway)) as http:
        for path in before:
            await http.get(path)
        answer = await http.get("/metrics")
    assert answer.status_code == 200
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


async def test_metrics_count_jobs_gpus_and_answers(gateway: Gateway, world: World) -> None:
    await world.joined("n1")
    await world.running("j1", "n1", gpus=2)
    await world.queued("j2")
    await world.ended("j3")
    await gateway.follow.step()
    gateway.bus.behind = 7
    found = await metrics(gateway, "/api/v1/jobs", "/api/v1/jobs/acme/j1", "/api/v1/elsewhere/x")
    assert found["muster_jobs", ("running", "default")] == 1
    assert found["muster_jobs", ("queued", "default")] == 1
    assert found["muster_jobs", ("succeeded", "default")] == 1
    assert found["muster_pool_gpus", ("default", "free")] == 6
    assert found["muster_gateway_archive_waiting", ()] == 7
    assert found["muster_log_end", ()] == found["muster_gateway_view_position", ()] == 15
    requests = {labels: value for (name, labels), value in found.items() if "requests_t" in name}
    assert requests["jobs", "200"] == 1
    assert requests["job", "200"] == 1
    assert requests["other", "404"] == 1


@pytest.mark.case("BUS-11")
async def test_how_full_a_stream_is_is_counted(gateway: Gateway) -> None:
    gateway.bus.rooms = (
        Room("REQUESTS", 3, 700, 1000),
        Room("EVENTS", 5, 400),
        Room(ACCOUNT, 8, 9),
    )
    found = await metrics(gateway)
    assert found["muster_stream_full_ratio", ("REQUESTS",)] == 0.7
    assert ("muster_stream_full_ratio", ("EVENTS",)) not in found
    assert found["muster_stream_bytes", ("EVENTS",)] == 400
    assert found["muster_stream_messages", (ACCOUNT,)] == 8
    gateway.bus.rooms = None
    assert not [name for name, _ in await metrics(gateway) if name.startswith("muster_stream")]


async def test_what_nobody_can_say_is_left_out(
    gateway: Gateway, hooks: Hooked, world: World
) -> None:
    await world.queued("j1")
    await gateway.follow.step()
    hooks.away = True
    gateway.bus.behind = None
    found = await metrics(gateway)
    assert ("muster_log_end", ()) not in found
    assert ("muster_gateway_archive_waiting", ()) not in found
    assert found["muster_gateway_view_position", ()] == 2


def test_settings_refuse_an_open_door_by_accident() -> None:
    with pytest.raises(ValueError, match="MUSTER_GATEWAY_TOKEN"):
        GatewaySettings(host="0.0.0.0")
    assert GatewaySettings(host="0.0.0.0", open=True).open
    assert GatewaySettings(host="::1").is_loopback
    assert GatewaySettings(host="0.0.0.0", http=False).hot is not None


def test_settings_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    monkeypatch.setenv("MUSTER_GATEWAY_PORT", "0")
    monkeypatch.setenv("MUSTER_GATEWAY_HOT_HOURS", "0")
    settings = GatewaySettings()
    assert (settings.port, settings.hot) == (0, None)
