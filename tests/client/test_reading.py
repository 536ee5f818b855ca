"""Jobs, nodes, events and logs, read from a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TypeVar

import pytest

from muster.client import MusterClient, connect
from muster.contracts import subjects
from muster.contracts.alarms import LogLines
from muster.domain.errors import Temporary
from muster.domain.nodes import NodeCondition
from muster.domain.phases import Phase
from muster.log import Recorded
from muster.runtime.ports import free_port
from tests.support.eventually import eventually
from tests.support.log_lives import TENANT, Lives
from tests.support.nats import KillableServer

T = TypeVar("T")


async def take(source: AsyncIterator[T], count: int) -> list[T]:
    """The next so many, within a bound."""
    found: list[T] = []
    async with asyncio.timeout(20):
        while len(found) < count:
            found.append(await anext(source))
    return found


async def test_a_job_is_told_as_it_stands(muster: MusterClient, lives: Lives) -> None:
    last = await lives.running("j1")
    found = await muster.job(TENANT, "j1")
    assert found is not None
    assert (found.event, found.seq) == (last.event, last.seq)
    assert found.job.phase is Phase.RUNNING
    assert await muster.job(TENANT, "j2") is None


async def test_a_timeline_has_every_event_in_order(muster: MusterClient, lives: Lives) -> None:
    await lives.ended("j1")
    await lives.queued("j2")
    found = await muster.timeline(TENANT, "j1")
    assert [item.job.version for item in found] == list(range(1, 8))
    assert await muster.timeline(TENANT, "j3") == []


async def test_jobs_are_listed_by_tenant(muster: MusterClient, lives: Lives) -> None:
    assert await muster.jobs() == []
    await lives.ended("j1")
    await lives.running("j2")
    await lives.queued("j3", tenant="zoo")
    await eventually(lambda: _phase_of(muster, "zoo", "j3", Phase.QUEUED))
    assert {(s.job.tenant, s.job.job): s.job.phase for s in await muster.jobs()} == {
        ("acme", "j1"): Phase.SUCCEEDED,
        ("acme", "j2"): Phase.RUNNING,
        ("zoo", "j3"): Phase.QUEUED,
    }
    assert [status.job.job for status in await muster.jobs("zoo")] == ["j3"]
    assert await muster.jobs("nobody") == []


async def _phase_of(muster: MusterClient, tenant: str, job: str, phase: Phase) -> bool:
    """What is listed is a copy and follows in a moment."""
    listed = await muster.jobs(tenant)
    return any(s.job.job == job and s.job.phase is phase for s in listed)


async def test_statuses_begin_with_the_present_and_go_on(
    muster: MusterClient, lives: Lives
) -> None:
    await lives.queued("j1")
    await lives.queued("j2")
    await eventually(lambda: _phase_of(muster, TENANT, "j2", Phase.QUEUED))
    async with aclosing(muster.statuses()) as statuses:
        first = await take(statuses, 2)
        assert [(s.job.job, s.job.phase) for s in first] == [
            ("j1", Phase.QUEUED),
            ("j2", Phase.QUEUED),
        ]
        await lives.running("j3", tenant="zoo")
        more = [s async for s in _until(statuses, Phase.RUNNING)]
    assert more[-1].job.job == "j3"


async def _until(statuses: AsyncIterator[T], phase: Phase) -> AsyncIterator[T]:
    async with asyncio.timeout(20):
        async for status in statuses:
            yield status
            if status.job.phase is phase:  # type: ignore[attr-defined]
                return


async def test_statuses_of_one_job_only(muster: MusterClient, lives: Lives) -> None:
    await lives.queued("j1")
    await lives.queued("j2")
    async with aclosing(muster.statuses(TENANT, "j2")) as statuses:
        async for status in _until(statuses, Phase.QUEUED):
            assert status.job.job == "j2"


async def test_a_plain_subscription_hears_every_change(muster: MusterClient, lives: Lives) -> None:
    heard = await muster.connection.subscribe(subjects.ALL_STATUS)
    await muster.connection.flush()
    await lives.queued("j1")
    bodies = [(await heard.next_msg(5)).data for _ in range(2)]
    found = await muster.timeline(TENANT, "j1")
    assert bodies == [item.event.to_bytes() for item in found]


async def test_events_are_followed_from_a_place_on(muster: MusterClient, lives: Lives) -> None:
    await lives.queued("j1")
    last = await lives.queued("j2")
    async with aclosing(muster.events(after=0)) as events:
        assert [item.seq for item in await take(events, 4)] == [1, 2, 3, 4]
        await lives.joined("n1")
        await lives.queued("j3")
        assert [item.job.job for item in await take(events, 2)] == ["j3", "j3"]
    async with aclosing(muster.events(("jobs.acme.j2.>",), after=last.seq - 1)) as events:
        assert (await take(events, 1))[0].event == last.event


async def test_events_from_now_on(muster: MusterClient, lives: Lives) -> None:
    await lives.queued("j1")
    async with aclosing(muster.events()) as events:
        coming = asyncio.create_task(take(events, 1))
        number = 0

        async def heard() -> bool:
            nonlocal number
            number += 1
            await lives.submitted(f"new{number}")
            await asyncio.wait({coming}, timeout=0.1)
            return coming.done()

        await eventually(heard)
        found: Recorded = coming.result()[0]
    assert found.job.job.startswith("new")


async def test_logs_are_what_workers_print_from_now_on(muster: MusterClient) -> None:
    async with aclosing(muster.logs(TENANT, "j1", "worker-0")) as logs:
        coming = asyncio.create_task(take(logs, 1))

        async def heard() -> bool:
            for worker in ("worker-1", "worker-0"):
                lines = LogLines(
                    tenant=TENANT, job="j1", attempt=1, worker=worker, first=0, lines=("step 1",)
                )
                subject = subjects.logs_subject(TENANT, "j1", worker)
                await muster.connection.publish(subject, b"no lines")
                await muster.connection.publish(subject, lines.model_dump_json().encode())
            await asyncio.wait({coming}, timeout=0.05)
            return coming.done()

        await eventually(heard)
        (found,) = coming.result()
    assert (found.worker, found.lines) == ("worker-0", ("step 1",))


async def test_nodes_and_pools_are_told_as_they_stand(muster: MusterClient, lives: Lives) -> None:
    assert await muster.nodes() == []
    assert await muster.pool("default") is None
    await lives.joined("n2.example")
    await lives.joined("n1")
    await lives.joined("w1", pool="west")
    await lives.cordoned("n1")
    await lives.left("n2.example")
    await lives.summed_up()
    nodes = {node.node: node for node in await muster.nodes()}
    assert list(nodes) == ["n1", "n2.example", "w1"]
    assert nodes["n1"].cordoned
    assert nodes["n2.example"].condition is NodeCondition.GONE
    assert [node.node for node in await muster.nodes("west")] == ["w1"]
    summary = await muster.pool("default")
    assert summary is not None
    assert summary.gpus_free == 4
    assert await muster.decided("default") is None


NEWER = b'{"type": "muster.job.started.v99"}'


@pytest.mark.parametrize(("event", "body"), [("succeeded", b"garbage"), ("started", NEWER)])
async def test_a_message_that_cannot_be_read_hides_no_job(
    muster: MusterClient, lives: Lives, event: str, body: bytes
) -> None:
    last = await lives.running("j1")
    await muster.connection.request(f"jobs.{TENANT}.j1.{event}", body, timeout=5)
    await muster.connection.request(f"jobs.{TENANT}.nobody.{event}", body, timeout=5)

    async def copied() -> bool:
        return len(await muster.unreadable()) == 2

    await eventually(copied)
    assert [(status.event, status.at) for status in await muster.jobs(TENANT)] == [
        (last.event, last.at)
    ]
    first = (await muster.unreadable(TENANT))[0]
    assert (first.subject, first.seq) == (f"jobs.{TENANT}.j1.{event}", last.seq + 1)
    async with aclosing(muster.statuses(TENANT, "j1")) as statuses:
        assert (await take(statuses, 1))[0].job == last.job


@pytest.mark.parametrize("event", ["cordoned", "joined"])
async def test_a_message_that_cannot_be_read_changes_no_node(
    muster: MusterClient, lives: Lives, event: str
) -> None:
    await lives.joined("n1")
    last = await lives.cordoned("n1")
    await muster.connection.request(f"pools.default.nodes.n1.{event}", b"garbage", timeout=5)
    assert await muster.nodes() == [last.node]


@pytest.mark.slow
async def test_followers_survive_a_server_that_was_killed(nats_server: KillableServer) -> None:
    import nats

    from muster.bus.provision import provision
    from muster.log.jetstream import JetStreamLog

    async with await nats.connect(nats_server.url, max_reconnect_attempts=-1) as connection:
        await provision(connection)
        lives = Lives(JetStreamLog(connection))
        await lives.queued("j1")
        async with (
            connect(nats_server.url) as muster,
            aclosing(muster.statuses()) as statuses,
            aclosing(muster.events(after=0)) as events,
        ):
            await take(events, 2)
            assert [s async for s in _until(statuses, Phase.QUEUED)]
            await nats_server.kill()
            await nats_server.restart()
            await eventually(lambda: connection.is_connected)
            await lives.queued("j2")
            assert [item.job.job for item in await take(events, 2)] == ["j2", "j2"]
            found = [s async for s in _until(statuses, Phase.QUEUED)]
            assert found[-1].job.job == "j2"


async def test_a_server_that_is_not_there_is_told() -> None:
    with pytest.raises(Temporary, match="cannot be reached"):
        async with connect(f"nats://127.0.0.1:{free_port()}", wait=0.2):
            pass
