"""The service as a whole: on a real port, and driven by hand where there is no event loop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Coroutine
from pathlib import Path
from typing import Any

import httpx
import pytest

from muster.bus import topology
from muster.domain.edges import Owner
from muster.domain.errors import Temporary
from muster.gateway.http.server import ADDRESS_FILE, PortTaken
from muster.gateway.service import build
from muster.gateway.settings import GatewaySettings
from muster.runtime.database import Database, open_engine
from muster.runtime.loops import LoopRunner
from muster.runtime.ports import free_port
from muster.runtime.service import Runtime, Service
from tests.gateway.worlds import TENANT, QuietBus, World
from tests.support.eventually import eventually


def runtime(world: World, folder: Path, *, threaded: bool) -> Runtime:
    def database(owner: Owner, url: str | None) -> Database:
        return Database(open_engine(url or f"sqlite:///{folder / owner}.db"), threaded=threaded)

    return Runtime(
        log=world.log,
        bus=QuietBus(),
        clock=world.clock,
        ids=lambda: f"gateway-{len(world.store.entries)}",
        state_dir=folder,
        database=database,
    )


def by_hand(work: Awaitable[None]) -> None:
    """Run what never waits for an event loop."""
    coroutine: Coroutine[Any, Any, None] = work.__await__()  # type: ignore[assignment]
    with pytest.raises(StopIteration):
        coroutine.send(None)


def turn(service: Service) -> None:
    for loop in service.loops:
        by_hand(loop.step())


def test_without_http_a_world_can_drive_it_by_hand(tmp_path: Path) -> None:
    world = World()
    service = build(runtime(world, tmp_path, threaded=False), GatewaySettings(http=False))
    by_hand(service.start())

    async def live() -> None:
        await world.ended("j1")

    by_hand(live())
    (subscription,) = service.subscriptions
    assert subscription.consumer is topology.GATEWAY_ARCHIVE
    for trigger in list(world.triggers()):
        by_hand(subscription.handler(trigger))
    turn(service)
    by_hand(service.ready())
    last = world.store.entries[-1].event
    assert last is not None
    assert last.data.job.archived
    world.clock.pass_by(hours=25)
    for trigger in list(world.triggers())[-1:]:
        by_hand(subscription.handler(trigger))
    turn(service)
    assert [t.subject for t in world.triggers()] == [f"jobs.{TENANT}.j1.archived"]
    by_hand(service.stop())


def test_without_http_nothing_of_a_web_server_is_loaded() -> None:
    program = (
        "import sys; import muster.gateway.service;"
        " sys.exit(any(n in sys.modules for n in ('fastapi', 'muster.gateway.http')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


async def test_it_serves_on_a_free_port_and_says_where(tmp_path: Path) -> None:
    world = World()
    await world.queued("j1")
    service = build(runtime(world, tmp_path, threaded=True), GatewaySettings(port=0))
    await service.start()
    loops = LoopRunner(service)
    loops.start()
    try:
        url = (tmp_path / ADDRESS_FILE).read_text().strip()
        async with httpx.AsyncClient(base_url=url) as http:
            await eventually(lambda: _is_ready(http))
            assert (await http.get("/api/v1/jobs")).json()["jobs"][0]["job"] == "j1"
            schema = (await http.get("/api/v1/openapi.json")).json()
            assert "/api/v1/jobs/{tenant}/{job}" in schema["paths"]
            assert "server" not in (await http.get("/healthz")).headers
            async with http.stream("GET", "/api/v1/stream") as answer:
                lines = answer.aiter_lines()
                assert await anext(lines) == "retry: 2000"
                await world.running("j2")
                async with asyncio.timeout(10):
                    while '"job":"j2"' not in await anext(lines):
                        pass
                await asyncio.gather(service.stop(), _until_closing(lines))
    finally:
        await loops.stop()
    assert not (tmp_path / ADDRESS_FILE).exists()
    with pytest.raises(httpx.ConnectError):
        await httpx.AsyncClient().get(f"{url}/healthz")
    with pytest.raises(Temporary):
        await service.ready()


async def _is_ready(http: httpx.AsyncClient) -> bool:
    return (await http.get("/readyz")).status_code == 200


async def _until_closing(lines: Any) -> None:
    async with asyncio.timeout(10):
        while await anext(lines) != "event: closing":
            pass


async def test_a_busy_port_is_named_with_the_way_out(tmp_path: Path) -> None:
    world, port = World(), free_port()
    first = build(runtime(world, tmp_path / "a", threaded=False), GatewaySettings(port=port))
    second = build(runtime(world, tmp_path / "b", threaded=False), GatewaySettings(port=port))
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    await first.start()
    try:
        with pytest.raises(PortTaken, match="MUSTER_GATEWAY_PORT"):
            await second.start()
    finally:
        await first.stop()
        await second.stop()
