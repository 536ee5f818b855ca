"""Nodes and pools over HTTP."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from muster.domain.demand import StabilityLevel
from muster.domain.pools import (
    DemandHistory,
    SpotQuotaMeasured,
    SpotQuotaRow,
    StabilityMeasured,
)
from muster.domain.survival import Chance, LevelSurvival
from tests.gateway.web import application, client
from tests.gateway.worlds import START, Gateway, World


@pytest.fixture
async def filled(gateway: Gateway, world: World) -> Gateway:
    for node in ("n2", "n1", "n3"):
        await world.joined(node)
    await world.joined("w1", pool="west", gpus=4)
    await world.cordoned("n2")
    await world.left("n3")
    await world.running("j1", "n1", "n1", gpus=2)
    await world.decided()
    await gateway.follow.step()
    return gateway


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["n1", "n2", "w1"]),
        ("?pool=west", ["w1"]),
        ("?condition=gone", ["n3"]),
        ("?condition=ready&pool=default", ["n1", "n2"]),
    ],
)
async def test_nodes_come_by_pool_and_condition(
    filled: Gateway, query: str, found: list[str]
) -> None:
    async with client(application(filled)) as http:
        rows = (await http.get(f"/api/v1/nodes{query}")).json()["nodes"]
    assert [row["node"] for row in rows] == found


async def test_a_node_shows_who_is_on_it(filled: Gateway) -> None:
    async with client(application(filled)) as http:
        row = (await http.get("/api/v1/nodes")).json()["nodes"][0]
    assert row["jobs"] == [
        {"tenant": "acme", "job": "j1", "workers": ["worker-0", "worker-1"], "gpus": 4, "cards": {}}
    ]
    assert (row["gpus"], row["gpus_used"], row["gpus_free"]) == (8, 4, 4)


async def test_pools_show_use_fragments_and_the_last_round(filled: Gateway) -> None:
    async with client(application(filled)) as http:
        answer = (await http.get("/api/v1/pools")).json()
    default, west = answer["pools"]
    assert (default["pool"], default["nodes"], default["schedulable"]) == ("default", 2, 1)
    assert default["fragments"] == {"A100": {"4": 1}}
    assert default["jobs"] == {"running": 1}
    assert default["decided"]["round"] == 1
    assert (west["gpus_free"], west["decided"]) == (4, None)
    assert answer["position"] == filled.view.position


async def test_pools_show_how_long_idle_jobs_keep_their_places(
    filled: Gateway, world: World
) -> None:
    chance = Chance(chance=0.9, low=0.8, high=0.95, known=40)
    level = LevelSurvival(level=StabilityLevel.HIGH, bound=0.2, stays=41, survive_1h=chance)
    await world.told(StabilityMeasured(levels=(level,)))
    await filled.follow.step()
    async with client(application(filled)) as http:
        default, west = (await http.get("/api/v1/pools")).json()["pools"]
    (shown,) = default["stability"]["levels"]
    assert (shown["bound"], shown["survive_1h"]) == (0.2, chance.model_dump())
    assert shown["survive_6h"] is None
    assert west["stability"] is None


async def test_pools_show_how_much_spot_jobs_may_hold(filled: Gateway, world: World) -> None:
    row = SpotQuotaRow(
        gpu_model="A100",
        capacity=16,
        demand=4,
        held=2,
        quota=10.5,
        eta=1,
        evicted=0,
        kept=3,
        history=DemandHistory(hour=1, peak=4),
    )
    await world.told(SpotQuotaMeasured(at=START, upto=START, rows=(row,)))
    await filled.follow.step()
    async with client(application(filled)) as http:
        default, west = (await http.get("/api/v1/pools")).json()["pools"]
    (shown,) = default["spot_quota"]["rows"]
    assert (shown["gpu_model"], shown["quota"], shown["held"]) == ("A100", 10.5, 2)
    assert "history" not in shown
    assert west["spot_quota"] is None


async def test_shared_cards_and_what_others_take_are_not_free(
    gateway: Gateway, world: World
) -> None:
    await world.joined("n1")
    await world.sharing("j1", "n1", 300, card=0)
    await world.sharing("j2", "n1", 400, card=0)
    await world.sharing("j3", "n1", 300, card=1)
    await world.occupied("n1", 3)
    await gateway.follow.step()
    async with client(application(gateway)) as http:
        row = (await http.get("/api/v1/nodes")).json()["nodes"][0]
        (pool,) = (await http.get("/api/v1/pools")).json()["pools"]
        page = (await http.get("/metrics")).text
    assert (row["gpus_used"], row["gpus_foreign"], row["gpus_free"]) == (2, 3, 3)
    assert row["cards"] == {"0": 700, "1": 300}
    assert row["jobs"][0]["cards"] == {"worker-0": 0}
    assert (pool["gpus_used"], pool["gpus_foreign"], pool["gpus_free"]) == (2, 3, 3)
    assert pool["fragments"] == {"A100": {"3": 1}}
    assert 'muster_pool_gpus{pool="default",state="foreign"} 3.0' in page


async def capacity(gateway: Gateway, who: str = "") -> dict[str, Any]:
    async with client(application(gateway)) as http:
        (pool,) = (await http.get(f"/api/v1/pools{who}")).json()["pools"]
    found: dict[str, Any] = pool
    return found


@pytest.mark.case("NOD-05")
async def test_what_nobody_can_use_is_shown_apart_from_what_is_free(
    gateway: Gateway, world: World
) -> None:
    for node in ("n1", "n2", "n3"):
        await world.joined(node)
    await world.cordoned("n1")
    await world.lost("n2")
    await world.running("k", "n3", gpus=4)
    await gateway.follow.step()
    pool = await capacity(gateway)
    assert (pool["gpus_free"], pool["fragments"]) == (4, {"A100": {"4": 1}})
    assert pool["gpus_shut"] == {"cordoned": 8, "lost": 8}
    assert pool["schedulable"] == 1


@pytest.mark.case("NOD-05")
async def test_a_block_list_changes_the_view_of_whoever_it_is_for(
    gateway: Gateway, world: World
) -> None:
    for node in ("n1", "n2"):
        await world.joined(node)
    await world.running("k", "n1", gpus=2)
    await world.blocked("n1", user="ann")
    await world.blocked("n2", tenant="beta")
    await gateway.follow.step()
    whole = await capacity(gateway)
    assert (whole["gpus_free"], whole["gpus_shut"]) == (14, {})
    ann = await capacity(gateway, "?tenant=acme&user=ann")
    assert (ann["gpus_free"], ann["gpus_shut"]) == (8, {"blocked": 6})
    beta = await capacity(gateway, "?tenant=beta")
    assert (beta["gpus_free"], beta["fragments"]) == (6, {"A100": {"6": 1}})
    assert await capacity(gateway, "?tenant=acme&user=bob") == whole
    async with client(application(gateway)) as http:
        refused = await http.get("/api/v1/pools?user=ann")
        rows = (await http.get("/api/v1/nodes?tenant=beta")).json()["nodes"]
    assert refused.status_code == 400
    assert [(row["node"], row["shut"]) for row in rows] == [("n1", None), ("n2", "blocked")]


# --- spot capacity -------------------------------------------------------------------------------


async def shelves(gateway: Gateway, query: str = "") -> list[dict[str, Any]]:
    await gateway.follow.step()
    async with client(application(gateway)) as http:
        answer = await http.get(f"/api/v1/stock{query}")
    assert answer.status_code == 200
    found: list[dict[str, Any]] = answer.json()["stock"]
    return found


async def test_stock_tells_what_can_be_had_and_none_left_from_not_offered(
    gateway: Gateway, world: World
) -> None:
    await world.joined("n1")
    await world.joined("w1", pool="west", gpus=4)
    await world.stocked("A100", 6, price=1.5, currency="CNY", network="RoCE")
    await world.stocked("B200", 0)
    await world.stocked("H100", None)
    await world.running("j1", "n1", gpus=4)
    a100, b200, h100, west = await shelves(gateway)
    assert (a100["offered_gpus"], a100["held_gpus"], a100["available_gpus"]) == (6, 4, 2)
    assert (a100["price"], a100["currency"], a100["network"]) == (1.5, "CNY", "RoCE")
    assert (b200["status"], b200["offered_gpus"]) == ("offered", 0)
    assert (h100["status"], h100["offered_gpus"]) == ("withdrawn", None)
    assert (west["status"], west["available_gpus"]) == ("unknown", 4)
    assert [row["zone"] for row in await shelves(gateway, "?pool=west")] == ["default"]


async def test_stock_that_falls_says_what_must_go_back_and_by_when(
    gateway: Gateway, world: World
) -> None:
    await world.joined("n1")
    await world.running("j1", "n1", gpus=4)
    await world.stocked("A100", 1, deadline=START + timedelta(seconds=60))
    (row,) = await shelves(gateway)
    assert (row["going_gpus"], row["available_gpus"]) == (3, 0)
    assert row["gone_by"] == "2031-05-01T08:01:00Z"


async def test_stock_says_for_whom_it_is_not(gateway: Gateway, world: World) -> None:
    await world.joined("n1")
    await world.denied_spot("beta")
    assert [row["enabled"] for row in await shelves(gateway)] == [True]
    assert [row["enabled"] for row in await shelves(gateway, "?tenant=beta")] == [False]
    await world.blocked("n1")
    (row,) = await shelves(gateway, "?tenant=acme")
    assert (row["enabled"], row["free_gpus"]) == (True, 0)
