"""Use over HTTP: filters, sums, and what is said of what is not known."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from muster.gateway.http import queries
from muster.gateway.store import metering
from muster.gateway.store.tables import backfill, meter
from muster.runtime.database import Database
from tests.gateway.web import application, client
from tests.gateway.worlds import Gateway, World, rows


@pytest.fixture
async def filled(gateway: Gateway, world: World) -> Gateway:
    await world.joined("n1")
    await world.ended("j1", labels={"team": "vision"}, gpus=4)
    await world.queued("j2", labels={"team": "speech"})
    await gateway.settle()
    world.clock.pass_by(seconds=99)
    return gateway


async def asked(gateway: Gateway, query: str = "") -> dict[str, Any]:
    async with client(application(gateway)) as http:
        answer = await http.get(f"/api/v1/usage{query}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_waiting_is_told_and_costs_nothing(filled: Gateway) -> None:
    found = await asked(filled, "?by=job&by=label:team")
    first, second = found["rows"]
    assert first == {
        "by": {"job": "acme/j1", "label:team": "vision"},
        "jobs": 1,
        "seconds": 6.0,
        "waiting_seconds": 2.0,
        "gpu_seconds": 32.0,
        "waiting_gpu_seconds": 0.0,
    }
    assert second["by"] == {"job": "acme/j2", "label:team": "speech"}
    assert (second["gpu_seconds"], second["waiting_seconds"]) == (0.0, second["seconds"])
    assert found["total"]["gpu_seconds"] == 32.0
    assert (found["source"], found["groups"], found["gaps"], found["whole"]) == (
        "archive",
        2,
        0,
        True,
    )


async def test_time_and_filters_cut_what_is_asked_for(filled: Gateway) -> None:
    # j1: submitted at 1 s, queued at 2, placed at 3, launching at 4, running at 5, gone at 7
    part = "?since=2031-05-01T08:00:04Z&until=2031-05-01T08:00:06Z&by=phase"
    found = await asked(filled, part)
    assert {row["by"]["phase"]: row["gpu_seconds"] for row in found["rows"]} == {
        "starting": 8.0,
        "running": 8.0,
    }
    assert (await asked(filled, "?label=team=speech"))["total"]["jobs"] == 1
    assert (await asked(filled, "?tenant=zoo"))["total"]["jobs"] == 0
    assert (await asked(filled, "?pool=default&user=ann"))["total"]["jobs"] == 2


async def test_the_future_is_not_metered(filled: Gateway) -> None:
    now = filled.world.clock.now()
    found = await asked(filled, "?until=2999-01-01T00:00:00Z")
    assert found["until"] == now.isoformat().replace("+00:00", "Z")


async def test_gpus_by_model_and_those_of_unknown_nodes(filled: Gateway) -> None:
    found = await asked(filled, "?by=model")
    assert {row["by"]["model"]: row["gpu_seconds"] for row in found["rows"]} == {
        "A100": 16.0,
        "?": 16.0,
        None: 0.0,
    }


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("by=node", "by"),
        ("by=label:", "by"),
        ("by=user&by=user", "by"),
        ("since=yesterday", "since"),
        ("since=2031-05-01T08:00:04", "since"),
        ("since=2031-05-01T08:00:04Z&until=2031-05-01T08:00:04Z", "since"),
        ("until=0001-01-01T00:00:00%2B05:00", "until"),
        ("top=0", "top"),
    ],
)
async def test_a_wrong_question_is_answered_with_the_rule(
    filled: Gateway, query: str, name: str
) -> None:
    async with client(application(filled)) as http:
        answer = await http.get(f"/api/v1/usage?{query}")
    (found,) = answer.json()["violations"]
    assert (answer.status_code, found["path"]) == (400, f"$.query.{name}")
    assert queries.RULES[name][0] in found["en"]
    assert queries.RULES[name][1] in found["zh"]


async def test_trimming_the_log_takes_no_use_away(filled: Gateway, world: World) -> None:
    before = (await asked(filled, "?by=job"))["rows"][0]
    world.clock.pass_by(hours=25)
    await filled.feed()
    await filled.handlers.trim()
    await filled.settle()
    assert len([t for t in world.triggers() if ".j1." in t.subject]) == 1
    assert (await asked(filled, "?by=job"))["rows"][0] == before


async def test_a_sweep_meters_what_was_archived_before(filled: Gateway, database: Database) -> None:
    await database.run(metering.rebuild)
    assert (await asked(filled))["whole"] is False
    await filled.handlers.sweep()
    found = await asked(filled)
    assert (found["whole"], found["total"]["gpu_seconds"]) == (True, 32.0)
    assert rows(database, backfill) == []


async def test_an_end_is_archived_with_all_of_its_use(
    gateway: Gateway, world: World, database: Database
) -> None:
    await world.ended("j1")
    *most, last = list(world.triggers())
    for trigger in most:
        await gateway.handlers.on_event(trigger)
    await database.run(partial(_forget, version=3))
    await gateway.handlers.on_event(last)
    assert sorted(row["version"] for row in rows(database, meter)) == [1, 2, 3, 4, 5, 6, 7]


def _forget(connection: sa.Connection, version: int) -> None:
    connection.execute(sa.delete(meter).where(meter.c.version == version))
