"""The page for people: served as it is, guarded, and reading only fields that the API has."""

from __future__ import annotations

import re

from muster.gateway.http.rows import JobRow, NodeRow
from tests.gateway.web import application, client
from tests.gateway.worlds import Gateway


async def test_the_page_is_guarded_and_loads_nothing_from_elsewhere(gateway: Gateway) -> None:
    async with client(application(gateway)) as http:
        answer = await http.get("/")
    assert answer.status_code == 200
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "://" not in answer.text
    assert "innerHTML" not in answer.text


async def test_the_page_reads_fields_that_the_api_has(gateway: Gateway) -> None:
    await gateway.follow.step()
    async with client(application(gateway)) as http:
        page = (await http.get("/")).text
        jobs = await http.get("/api/v1/jobs?limit=50&lang=zh")
        nodes = await http.get("/api/v1/nodes?lang=zh")
    assert set(re.findall(r"\bj\.(\w+)", page)) <= JobRow.model_fields.keys()
    assert set(re.findall(r"\bn\.(\w+)", page)) <= NodeRow.model_fields.keys()
    assert "jobs" in jobs.json()
    assert "nodes" in nodes.json()
