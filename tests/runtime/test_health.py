"""The pages of a process for the platform: its own figures, and further ones beside them."""

from __future__ import annotations

import pytest
from httpx import AsyncClient

from muster.runtime.health import HealthServer
from muster.runtime.ports import LOOPBACK


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/healthz", 200, "ok"),
        ("/metrics", 200, "# HELP"),
        ("/metrics/jobs", 200, "x 1"),
        ("/metrics/jobs?since=1", 200, "x 1"),
        ("/metrics/other", 404, "try /healthz"),
    ],
)
async def test_pages_by_their_path(path: str, status: int, words: str) -> None:
    server = HealthServer({}, {"/metrics/jobs": lambda: b"x 1\n"})
    port = await server.start(LOOPBACK, 0)
    async with AsyncClient(base_url=f"http://{LOOPBACK}:{port}", trust_env=False) as client:
        answer = await client.get(path)
    await server.stop()
    assert answer.status_code == status
    assert words in answer.text
