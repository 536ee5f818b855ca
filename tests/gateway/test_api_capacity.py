"""Nodes and pools over HTTP."""

from __future__ import annotations

import pytest

from tests.gateway.web import application, client
from tests.gateway.worlds import Gateway, World


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
        {"tenant": "acme", "job": "j1", "workers": ["worker-0", "worker-1"], "gpus": 4}
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
