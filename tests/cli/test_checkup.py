"""What the doctor finds on a real server: what is missing, what differs, what waits."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

import pytest

from muster.bus.api import call
from muster.bus.provision import provision
from muster.bus.topology import CONSUMERS, STREAMS, Stream
from muster.cli.checkup.finding import Finding, Severity
from muster.cli.checkup.jobs import jobs
from muster.cli.checkup.machine import machine
from muster.cli.checkup.server import server
from muster.cli.checkup.streams import filling, streams
from muster.cli.commands.doctor import summary
from muster.cli.stack.folder import StateFolder
from muster.client import MusterClient
from muster.contracts.events import pool_event
from muster.contracts.subjects import CLOCK, THE_LOG, Key
from muster.domain.clock import ClockSet
from muster.log import Basis, EventLog, Recorded
from muster.log.jetstream import JetStreamLog
from muster.runtime.connection import Connection, NatsSettings, connect
from tests.support.eventually import eventually


@pytest.fixture
async def connection(clean_nats_url: str) -> AsyncIterator[Connection]:
    opened = await connect(NatsSettings(servers=clean_nats_url, wait_s=10))
    yield opened
    await opened.close()


def _by_severity(findings: list[Finding], severity: Severity) -> list[tuple[str, object]]:
    return [(f.key, f.values.get("what")) for f in findings if f.severity is severity]


async def _streams(connection: Connection) -> list[Finding]:
    return [finding async for finding in streams(connection)]


async def test_on_an_empty_server_everything_is_missing(connection: Connection) -> None:
    problems = _by_severity(await _streams(connection), Severity.PROBLEM)
    assert len(problems) == len(STREAMS) + 2 * len(CONSUMERS)
    assert ("topology.missing", "stream EVENTS") in problems
    assert ("topology.missing", "consumer REPLAYS/requeue-jobs") in problems


async def test_a_provisioned_server_is_fine(connection: Connection) -> None:
    await provision(connection)
    found = await _streams(connection)
    assert [finding.key for finding in found] == ["topology", "backlog", "parked.none"]
    assert all(finding.remedy == "" for finding in found)


async def test_what_differs_is_named_with_both_values(connection: Connection) -> None:
    await provision(connection)
    config = (await call(connection, "STREAM.INFO.REQUESTS"))["config"]
    await call(connection, "STREAM.UPDATE.REQUESTS", config | {"max_msg_size": 1000})
    (found,) = [f for f in await _streams(connection) if f.severity is Severity.PROBLEM]
    assert found.key == "topology.differs"
    assert "max_msg_size 1000 -> 262144" in found.message
    assert found.remedy == "muster provision corrects it"
    await provision(connection)
    assert not _by_severity(await _streams(connection), Severity.PROBLEM)


@pytest.mark.case("BUS-11")
@pytest.mark.parametrize(
    ("used", "percent"), [(0, None), (699, None), (700, 70), (701, 70), (1000, 100)]
)
def test_a_stream_is_told_of_from_seventy_per_cent_on(used: int, percent: int | None) -> None:
    found = filling("stream X", {"config": {"max_bytes": 1000}, "state": {"bytes": used}})
    assert (found.values["percent"] if found else None) == percent
    assert filling("stream X", {"config": {"max_bytes": -1}, "state": {"bytes": used}}) is None


@pytest.mark.case("BUS-11")
async def test_a_stream_that_is_nearly_full_is_a_warning(connection: Connection) -> None:
    small = [replace(s, max_bytes=10_000) if s.name is Stream.REQUESTS else s for s in STREAMS]
    await provision(connection, streams=small)
    for number in range(9):
        await connection.jetstream().publish(f"requests.acme.r{number}", b"x" * 900)
    warnings = _by_severity(await _streams(connection), Severity.WARNING)
    assert ("filling", "stream REQUESTS") in warnings


async def test_a_backlog_and_parked_messages_are_warnings(connection: Connection) -> None:
    await provision(connection)
    for number in range(1001):
        await connection.publish(f"jobs.t.j{number}.admitted", b"{}")
    for subject in ("jobs.t.last.admitted", "parked.EVENTS.requeue-jobs"):
        await connection.request(subject, b"{}", timeout=30)
    warnings = _by_severity(await _streams(connection), Severity.WARNING)
    assert ("backlog.behind", "consumer EVENTS/requeue-jobs") in warnings
    assert ("parked", None) in warnings
    assert ("backlog.behind", "consumer REQUESTS/admission-requests") not in warnings


async def test_a_job_whose_last_message_cannot_be_read_is_a_warning(
    connection: Connection,
) -> None:
    client = MusterClient(connection)
    assert [finding async for finding in jobs(client)] == []
    await provision(connection)
    assert [finding.key async for finding in jobs(client)] == ["status"]
    await connection.request("jobs.acme.j1.succeeded", b"garbage", timeout=30)

    async def copied() -> bool:
        return bool(await client.unreadable())

    await eventually(copied)
    (found,) = [finding async for finding in jobs(client)]
    await client.close()
    assert (found.key, found.severity) == ("status.unreadable", Severity.WARNING)
    assert "acme/j1" in found.message
    assert "jobs.>" in found.remedy


@pytest.mark.parametrize(
    ("problems", "warnings", "words"),
    [
        (0, 0, "no problem found"),
        (0, 2, "2 warning(s)"),
        (1, 0, "1 problem(s) found"),
        (1, 2, "1 problem(s) found, 2 warning(s)"),
    ],
)
def test_the_last_line_counts_warnings_too(problems: int, warnings: int, words: str) -> None:
    assert summary(problems, warnings) == words


class _WrongClock:
    """A log whose server lives in another time."""

    def __init__(self, log: EventLog, seconds: float) -> None:
        self._log, self._seconds = log, seconds

    async def now(self) -> datetime:
        return await self._log.now() + timedelta(seconds=self._seconds)

    async def last(self, key: Key, at_least: int = 0, *, leader: bool = False) -> Recorded | None:
        return await self._log.last(key, at_least, leader=leader)


@pytest.mark.parametrize(
    ("seconds", "severity"),
    [(0.0, Severity.FINE), (10.0, Severity.WARNING), (-3600.0, Severity.PROBLEM)],
)
async def test_clocks_that_differ(
    connection: Connection, seconds: float, severity: Severity
) -> None:
    await provision(connection)
    log = JetStreamLog(connection)
    wrong = cast("EventLog", _WrongClock(log, seconds))
    found = {f.key: f async for f in server(connection, wrong, None)}
    await log.close()
    assert found["clock"].severity is severity
    assert found["server"].severity is Severity.FINE
    assert found["sync.unknown"].severity is Severity.NOTE


@pytest.mark.parametrize(
    ("offset", "shown"), [(3600.0, "+3600.0"), (-1.5, "-1.5"), (0.9, None), (0.0, None)]
)
async def test_a_clock_that_was_moved_is_named(
    connection: Connection, offset: float, shown: str | None
) -> None:
    await provision(connection)
    log = JetStreamLog(connection)
    fact = ClockSet(offset=offset, at=await log.now(), stepped=offset)
    event = pool_event(
        THE_LOG, fact, event_id="e1", source="muster/test", at=fact.at, kind="cluster"
    )
    await log.append(event, Basis(CLOCK, 0))
    found = {f.key: f async for f in server(connection, log, None)}
    await log.close()
    assert ("clock.moved" in found) is (shown is not None)
    if shown is not None:
        assert shown in found["clock.moved"].message
        assert found["clock.moved"].severity is Severity.NOTE


def test_the_state_folder_is_looked_at(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "state")
    none = {f.key: f.severity for f in machine(folder)}
    assert none["folder.none"] is Severity.NOTE
    folder.prepare()
    assert {f.key for f in machine(folder)} >= {"folder", "disk", "python", "binary"}
    folder.path.chmod(0o755)
    (open_to_all,) = [f for f in machine(folder) if f.key == "folder.open"]
    assert "mode 755" in open_to_all.message
    assert open_to_all.remedy == f"chmod 700 {folder.path}"
    assert json.dumps(open_to_all.document())
