"""Two of everything at once: 200 jobs, nothing placed twice, and every view of the log agrees."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from muster.contracts.events import read_event
from muster.runtime.database import open_engine
from tests.support.eventually import eventually
from tests.support.fleet import Fleet, Stored, last_states, most_held, read_stream
from tests.support.nats import KillableServer, NatsCluster

JOBS = 200
NODES = {f"n{number}": 8 for number in range(1, 9)}
WITHIN_S = 240.0

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(400)]


def job(number: int, output: Path) -> dict[str, Any]:
    """A gang that writes one line for each worker that really ran."""
    script = f'echo "$MUSTER_JOB $MUSTER_ATTEMPT $RANK" >> {output}'
    return {
        "name": f"job-{number}",
        "image": "local",
        "command": ["sh", "-c", script],
        "resource": {
            "type": "reserved",
            "replicas": 1 + number % 3,
            "gpus_per_replica": (1, 2, 4, 8)[number % 4],
        },
    }


async def run_all(fleet: Fleet, disturb: Any = None) -> tuple[list[Stored], list[Stored]]:
    """Submit everything, wait for the last `archived`; returns the jobs' events and STATUS."""
    output = fleet.folder / "ran.txt"
    async with fleet, await fleet.connect() as client:
        for number in range(JOBS):
            await fleet.submit(client, f"request-{number}", job(number, output))
            if disturb is not None and number == JOBS // 2:
                await disturb()

        async def archived() -> bool:
            status = await read_stream(client, "STATUS", "status.>")
            ended = [json.loads(s.body)["data"]["job"].get("archived") for s in status]
            return len(ended) == JOBS and all(ended)

        try:
            await eventually(archived, within=WITHIN_S, every=1.0)
        except (TimeoutError, AssertionError) as error:
            raise AssertionError(
                _unfinished(await read_stream(client, "EVENTS", "jobs.>"))
            ) from error
        events = await read_stream(client, "EVENTS", "jobs.>")
        return events, await read_stream(client, "STATUS", "status.>")


def _unfinished(events: list[Stored]) -> str:
    states = last_states(events).values()
    rows = [f"{s.name} {s.phase} v{s.version} {s.reason}" for s in states if not s.archived]
    return f"{len(rows)} jobs are not archived, e.g. {rows[:10]}"


def check(fleet: Fleet, events: list[Stored], status: list[Stored]) -> None:
    """No double placement; the fold of the log, STATUS and the archive are one."""
    states = last_states(events)
    assert len(states) == JOBS
    assert Counter(state.phase for state in states.values()) == {"succeeded": JOBS}
    assert all(state.attempt == 1 for state in states.values())
    assert all(used <= NODES[node] for node, used in most_held(events).items())

    ran = Counter((fleet.folder / "ran.txt").read_text(encoding="utf-8").split("\n")[:-1])
    wanted = sum(len(state.demand.workers) for state in states.values())
    assert (len(ran), max(ran.values())) == (wanted, 1)

    shown = {s.subject.rpartition(".")[2]: _state_of(s.body) for s in status}
    assert shown == states
    assert _archive(fleet) == [(e.seq, e.body) for e in events]


def _state_of(body: bytes) -> Any:
    subject = json.loads(body)["subject"]
    return read_event(subject, body).data.job


def _archive(fleet: Fleet) -> list[tuple[int, bytes]]:
    engine = open_engine(fleet.database or f"sqlite:///{fleet.folder / 'shared.db'}")
    query = "SELECT seq, body FROM archive_events WHERE subject LIKE 'jobs.%' ORDER BY seq"
    with engine.connect() as connection:
        rows = [(seq, body.encode()) for seq, body in connection.execute(text(query))]
    engine.dispose()
    return rows


async def test_on_one_server_that_is_killed_in_between(
    nats_server: KillableServer, tmp_path: Path
) -> None:
    fleet = Fleet(tmp_path / "fleet", nats_server.url, NODES)

    async def disturb() -> None:
        await nats_server.kill()
        await nats_server.restart()

    events, status = await run_all(fleet, disturb)
    check(fleet, events, status)


@pytest.mark.cluster
@pytest.mark.postgres
async def test_on_three_servers_whose_leader_is_killed(
    nats_cluster: NatsCluster, postgres_url: str, tmp_path: Path
) -> None:
    fleet = Fleet(tmp_path / "fleet", nats_cluster.url, NODES, database=postgres_url, replicas=3)

    async def disturb() -> None:
        killed = await nats_cluster.kill_leader("EVENTS")
        await asyncio.sleep(0)
        await nats_cluster.restart(killed)

    events, status = await run_all(fleet, disturb)
    check(fleet, events, status)
