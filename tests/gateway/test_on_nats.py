"""The gateway as it is hosted: on a real server, with its own consumer, archive and port."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import nats
import pytest
from nats.aio.client import Client
from pydantic import SecretStr

from muster.bus import topology
from muster.bus.provision import provision
from muster.client.restore import CannotRestore, read_line, restore
from muster.domain.edges import Owner
from muster.gateway.service import build
from muster.gateway.settings import GatewaySettings
from muster.gateway.store import export
from muster.log import Recorded
from muster.log.jetstream import JetStreamLog
from muster.runtime.database import open_engine
from muster.runtime.host import Host
from muster.runtime.service import Runtime, Service
from muster.runtime.settings import HostSettings
from tests.gateway.worlds import HandClock
from tests.support.eventually import eventually
from tests.support.log_lives import TENANT, Lives
from tests.support.nats import KillableServer, delete_streams

QUICK = GatewaySettings(port=0, sweep_s=0.2, trim_s=0.2, lag_s=2, heartbeat_s=0.2)


@asynccontextmanager
async def hosted(
    url: str, folder: Path, settings: GatewaySettings = QUICK
) -> AsyncIterator[httpx.AsyncClient]:
    """A gateway that runs; yields a client of its port."""

    def build_it(runtime: Runtime) -> Service:
        return build(runtime, settings)

    host = Host(
        HostSettings(nats_url=SecretStr(url), state_dir=folder), [(Owner.GATEWAY, build_it)]
    )
    await host.start()
    try:
        address = (folder / "gateway.url").read_text().strip()
        async with httpx.AsyncClient(base_url=address, timeout=20) as http:
            yield http
    finally:
        await host.stop()


@pytest.fixture
async def connection(clean_nats_url: str) -> AsyncIterator[Client]:
    async with await nats.connect(clean_nats_url) as connection:
        await provision(connection)
        yield connection


@pytest.fixture
async def lives(connection: Client) -> AsyncIterator[Lives]:
    log = JetStreamLog(connection)
    yield Lives(log)
    await log.close()


async def job(http: httpx.AsyncClient, name: str) -> dict[str, Any]:
    body: dict[str, Any] = (await http.get(f"/api/v1/jobs/{TENANT}/{name}")).json()
    return body


async def is_archived(http: httpx.AsyncClient, name: str) -> bool:
    found = await job(http, name)
    return "job" in found and bool(found["job"]["archived"])


async def is_ready(http: httpx.AsyncClient) -> bool:
    return (await http.get("/readyz")).status_code == 200


async def test_a_job_is_followed_archived_and_listed(
    clean_nats_url: str, lives: Lives, tmp_path: Path
) -> None:
    await lives.joined("n1")
    await lives.running("j0")
    async with hosted(clean_nats_url, tmp_path) as http:
        await eventually(lambda: is_ready(http))
        async with http.stream("GET", "/api/v1/stream?job=j1") as stream:
            lines = stream.aiter_lines()
            await lives.ended("j1", labels={"team": "vision"})
            phases = []
            async with asyncio.timeout(20):
                async for line in lines:
                    if line.startswith("data: "):
                        phases.append(line.split('"phase":"')[1].partition('"')[0])
                    if '"archived":true' in line:
                        break
        assert phases == [
            "submitted",
            "queued",
            "starting",
            "starting",
            "running",
            "succeeded",
            "succeeded",
            "succeeded",
        ]
        await eventually(lambda: is_archived(http, "j1"))
        listed = (await http.get("/api/v1/jobs?label=team%3Dvision")).json()["jobs"]
        assert [row["job"] for row in listed] == ["j1"]
        metrics = (await http.get("/metrics")).text
        assert 'muster_jobs{phase="running",pool="default"} 1.0' in metrics


async def test_a_day_later_the_log_is_trimmed_and_the_timeline_whole(
    clean_nats_url: str, connection: Client, tmp_path: Path
) -> None:
    log = JetStreamLog(connection)
    now = (await log.now()).replace(microsecond=0)
    lives = Lives(log, HandClock(now.replace(year=now.year - 1)))
    await lives.ended("j1")
    await lives.running("j2")
    async with hosted(clean_nats_url, tmp_path) as http:
        await eventually(lambda: _left(log, lives, 1))
        found = await job(http, "j1")
        assert [event["version"] for event in found["timeline"]] == list(range(1, 9))
        assert found["missing"] == []
        assert [event["event"] for event in found["timeline"]][-1] == "archived"
        assert len((await job(http, "j2"))["timeline"]) == 5
    await log.close()


async def _left(log: JetStreamLog, lives: Lives, count: int) -> bool:
    key = (await lives.pen(Owner.GATEWAY).job(TENANT, "j1")) is not None
    history = await log.history(_key("j1"))
    return key and len(history) == count


def _key(name: str) -> Any:
    from muster.contracts import subjects

    return subjects.job_key(TENANT, name)


async def test_it_goes_on_where_it_was_stopped(
    clean_nats_url: str, lives: Lives, tmp_path: Path
) -> None:
    await lives.running("j1")
    async with hosted(clean_nats_url, tmp_path) as http:
        await eventually(lambda: is_ready(http))
    await lives.ended("j2")
    async with hosted(clean_nats_url, tmp_path) as http:
        await eventually(lambda: is_archived(http, "j2"))
        await eventually(lambda: is_ready(http))
        listed = (await http.get("/api/v1/jobs")).json()["jobs"]
        assert [row["job"] for row in listed] == ["j2", "j1"]


async def test_a_deleted_consumer_is_named_while_the_process_is_healthy(
    clean_nats_url: str, connection: Client, lives: Lives, tmp_path: Path
) -> None:
    await lives.queued("j1")
    async with hosted(clean_nats_url, tmp_path) as http:
        await eventually(lambda: is_ready(http))
        await connection.jetstream().delete_consumer(
            topology.Stream.EVENTS, topology.GATEWAY_ARCHIVE.durable
        )
        answer = await http.get("/readyz")
        assert answer.status_code == 503
        checks = answer.json()["checks"]
        assert checks["consumer"] == "there is no consumer gateway-archive"
        assert checks["view"] == checks["archive"] == "ok"
        assert (await http.get("/healthz")).status_code == 200


@pytest.mark.slow
async def test_a_silent_server_makes_it_unready_and_jobs_are_remembered(
    nats_server: KillableServer, tmp_path: Path
) -> None:
    async with await nats.connect(nats_server.url, max_reconnect_attempts=-1) as connection:
        await provision(connection)
        lives = Lives(JetStreamLog(connection))
        await lives.running("j1")
        async with hosted(nats_server.url, tmp_path) as http:
            await eventually(lambda: is_ready(http))
            nats_server.freeze()
            answer = await http.get("/readyz")
            assert answer.status_code == 503
            assert "no answer" in answer.json()["checks"]["view"]
            assert answer.json()["checks"]["archive"] == "ok"
            found = await job(http, "j1")
            assert (found["fresh"], found["job"]["phase"]) == (False, "running")
            nats_server.thaw()
            await eventually(lambda: is_ready(http), within=60)
            assert (await job(http, "j1"))["fresh"] is True


def exported(folder: Path) -> list[str]:
    """What the archive has, as JSON lines."""
    engine = open_engine(f"sqlite:///{folder / 'gateway.db'}")
    out = io.StringIO()
    with engine.connect() as connection:
        export.export(connection, out)
    engine.dispose()
    return out.getvalue().splitlines()


def differences(folder: Path) -> list[export.Difference]:
    """Where the archive contradicts itself, once nobody writes to it."""
    engine = open_engine(f"sqlite:///{folder / 'gateway.db'}")
    with engine.connect() as connection:
        found = list(export.check(connection))
    engine.dispose()
    return found


async def everything(connection: Client) -> list[tuple[int, str]]:
    """Sequence and id of every event of the log."""
    log = JetStreamLog(connection)
    follower = await log.follow((), 0)
    found = []
    while page := await follower.next():
        found += [(item.seq, item.event.id) for item in page if isinstance(item, Recorded)]
    await follower.close()
    await log.close()
    return found


async def test_a_lost_log_is_made_again_from_the_archive(
    clean_nats_url: str, connection: Client, lives: Lives, tmp_path: Path
) -> None:
    await lives.joined("n1")
    await connection.jetstream().publish("jobs.acme.j9.scheduled", b"no event")
    await lives.ended("j1")
    await lives.running("j2")
    await lives.decided()
    async with hosted(clean_nats_url, tmp_path) as http:
        await eventually(lambda: is_archived(http, "j1"))
        await eventually(lambda: _has_lines(tmp_path, 15))
    before, lines = await everything(connection), exported(tmp_path)
    assert differences(tmp_path) == []
    assert len(before) == len(lines) == 15
    await delete_streams(clean_nats_url)
    await provision(connection)

    assert await restore(connection, lines[:6]) == 6
    assert await restore(connection, lines) == 9, "it goes on where it was broken off"
    assert await everything(connection) == before
    last = await lives.pen(Owner.GATEWAY).job(TENANT, "j2")
    assert last is not None
    assert last.job.version == 5

    async with hosted(clean_nats_url, tmp_path) as http:
        await eventually(lambda: is_ready(http))
        await lives.relabelled("j2", {"after": "the restore"})
        await eventually(lambda: _has_lines(tmp_path, 16))
        listed = (await http.get("/api/v1/jobs")).json()["jobs"]
        assert {row["job"]: row["version"] for row in listed} == {"j1": 8, "j2": 6}
    assert differences(tmp_path) == []


def _has_lines(folder: Path, count: int) -> bool:
    return len(exported(folder)) == count


async def test_a_log_with_something_else_is_left_alone(connection: Client, lives: Lives) -> None:
    await lives.joined("n1")
    line = '{"seq": 1, "id": "x", "subject": "jobs.acme.j1.submitted", "body": "{}"}'
    with pytest.raises(CannotRestore, match="not from this export"):
        await restore(connection, [line])


@pytest.mark.parametrize("line", ["", "{}", "[]", '{"seq": "x"}', '{"seq": 1, "body": null}'])
def test_a_line_that_is_none_is_told(line: str) -> None:
    with pytest.raises(CannotRestore, match="not a line"):
        read_line(line)
