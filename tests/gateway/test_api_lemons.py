"""Nodes against the fleet over HTTP: what is asked, what is answered, what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from muster.contracts.judgements import NodeRating, NodeRatings
from muster.domain.errors import Permanent, Temporary
from tests.gateway.web import application, client
from tests.gateway.worlds import START, Gateway

RATED = NodeRatings(
    at=START,
    fleet=0.02,
    rated=40,
    nodes=(
        NodeRating(
            pool="default",
            node="n7",
            condition="ready",
            suspected=True,
            excluded_until=START,
            exclusions=2,
            jobs=4,
            users=3,
            rate=0.4,
            low=0.2,
            high=0.6,
            rules=(("xid.79", 3), ("unknown", 1)),
            proposed=True,
            why="because",
            why_zh="因为",
        ),
    ),
)


async def get(gateway: Gateway, query: str = "") -> tuple[int, Any]:
    async with client(application(gateway)) as http:
        found = await http.get(f"/api/v1/nodes/lemons{query}")
    return found.status_code, found.json()


async def test_nodes_are_rated_as_fault_tolerance_says(gateway: Gateway) -> None:
    gateway.bus.answer_with = RATED.model_dump_json().encode()
    status, found = await get(gateway, "?pool=west")
    assert status == 200
    assert NodeRatings.model_validate(found) == RATED
    ((subject, body),) = gateway.bus.asked
    assert (subject, json.loads(body)) == ("judgements.nodes", {"pool": "west"})


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (None, 503, "E_NO_FAULT_TOLERANCE"),
        (Temporary("reads the log"), 503, "E_AWAY"),
        (Permanent("a fault"), 502, "E_NO_RATINGS"),
        (b"[1, 2]", 502, "E_NO_RATINGS"),
    ],
    ids=["nobody", "not now", "refused", "no answer"],
)
async def test_no_answer_is_an_answer_with_a_remedy(
    gateway: Gateway, error: Any, status: int, code: str
) -> None:
    gateway.bus.answer_with = error
    got, found = await get(gateway)
    assert (got, found["violations"][0]["code"]) == (status, code)
    assert found["violations"][0]["zh"] != found["violations"][0]["en"]


async def test_a_pool_that_is_none_is_refused(gateway: Gateway) -> None:
    status, found = await get(gateway, "?pool=a.b")
    assert (status, found["violations"][0]["path"]) == (400, "$.query.pool")
