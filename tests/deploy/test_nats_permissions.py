"""The configuration in deploy/nats, on a real server: a service can do its work and no more."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from muster.bus import NobodyAnswers, Question, Responder, Subscription, Trigger
from muster.bus.faststream import FastStreamBus
from muster.bus.topology import CONSUMERS, SCHEDULER_QUERIES
from muster.contracts.alarms import Alarm
from muster.contracts.requests import REQUESTS, Answer, JobRequest, Submit
from muster.contracts.subjects import job_key, query_subject
from muster.domain.deadlines import DEADLINES
from muster.domain.edges import EDGES, Owner
from muster.log.jetstream import JetStreamLog
from muster.runtime.nats_binary import find_binary
from scripts import nats_permissions
from tests.deploy.guarded import DEPLOY, Guarded, passwords


def test_the_file_is_made_from_the_tables() -> None:
    assert nats_permissions.TARGET.read_text() == nats_permissions.render()


@pytest.mark.parametrize("name", ["single.conf", "cluster.conf"])
def test_a_server_accepts_the_configuration(name: str) -> None:
    environment = os.environ | passwords() | {"MUSTER_NATS_NAME": "n1"}
    command = [str(find_binary().path), "-t", "-c", str(DEPLOY / "nats" / name)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
async def test_every_event_is_written_by_its_owners_only(guarded: Guarded) -> None:
    async def check(event: str, owner: Owner) -> None:
        may = owner in EDGES[event].owners
        assert await guarded.says(owner, f"jobs.acme.j1.{event}") is may, (event, owner)

    async with asyncio.TaskGroup() as group:
        for event in EDGES:
            for owner in Owner:
                group.create_task(check(event, owner))


@pytest.mark.parametrize("owner", list(Owner))
async def test_a_service_does_its_work_through_the_adapters(guarded: Guarded, owner: Owner) -> None:
    own = [consumer for consumer in CONSUMERS if consumer.owner is owner]
    async with await guarded.connect(owner) as client:
        log, bus = JetStreamLog(client, patience_s=1), FastStreamBus(client)
        follower = await log.follow(())
        key = job_key("acme", "j1")
        assert await log.last(key) is await log.last(key, leader=True) is None
        assert await follower.next(0.1) == []
        for consumer in own:
            await bus.consume(Subscription(consumer, ignore))
            assert await bus.waiting(consumer) == 0
        for alarm in alarms(owner):
            await log.timer(alarm)
        if owner is Owner.ADMISSION:
            at = datetime.now(UTC)
            await bus.answer(
                Answer(request="r1", tenant="acme", verb="submit", accepted=True, at=at)
            )
        await client.flush()
        await follower.close()
        await bus.close()
        await log.close()
    assert guarded.refused == []


async def ignore(trigger: Trigger) -> None:
    """Nothing is sent in this test."""


def alarms(owner: Owner) -> Iterator[Alarm]:
    for kind, deadline in DEADLINES.items():
        if deadline.owner is owner:
            at = datetime.now(UTC) + timedelta(hours=1)
            yield Alarm(owner=owner, kind=kind, tenant="acme", job="j1", version=1, at=at)


async def test_a_service_asks_for_its_own_durables_only(guarded: Guarded) -> None:
    async def check(owner: Owner) -> None:
        async with await guarded.connect(owner) as client:
            seen = await asyncio.gather(*(guarded.sees(client, each) for each in CONSUMERS))
        assert seen == [each.owner is owner for each in CONSUMERS], owner

    async with asyncio.TaskGroup() as group:
        for owner in Owner:
            group.create_task(check(owner))


async def test_the_gateway_asks_the_scheduler_and_nobody_else_may(guarded: Guarded) -> None:
    async def echo(question: Question) -> bytes:
        return question.body

    subject = query_subject("default", "fit")
    async with await guarded.connect(Owner.SCHEDULER) as scheduler:
        bus = FastStreamBus(scheduler)
        await bus.serve(Responder(SCHEDULER_QUERIES, echo))
        await scheduler.flush()
        async with await guarded.connect(Owner.GATEWAY) as gateway:
            assert await FastStreamBus(gateway).ask(subject, b"?", 5) == b"?"
        assert guarded.refused == []
        for user in ("acme", Owner.EXECUTOR, Owner.NOTIFIER):
            async with await guarded.connect(user) as client:
                with pytest.raises(NobodyAnswers):
                    await FastStreamBus(client).ask(subject, b"?", 1)
        await bus.close()


async def test_an_outside_system_writes_requests_of_its_own_tenant_only(guarded: Guarded) -> None:
    for request in REQUESTS.values():
        about_jobs = issubclass(request, Submit | JobRequest)
        assert await guarded.says("acme", f"requests.acme.{request.verb}") is about_jobs
    for subject in (
        "requests.other.submit",
        "jobs.acme.j1.submitted",
        "timers.requeue.queue.acme.j1",
        "answers.acme.r1",
    ):
        assert not await guarded.says("acme", subject), subject


async def test_an_outside_system_hears_its_own_answers_only(guarded: Guarded) -> None:
    async with await guarded.connect("acme") as client:
        answers = await client.subscribe("answers.>")
        await client.flush()
        assert await guarded.says("admission", "answers.other.r1")
        assert await guarded.says("admission", "answers.acme.r2")
        assert (await answers.next_msg(timeout=2)).subject == "answers.acme.r2"


async def test_a_request_of_another_tenants_name_cannot_be_smuggled(guarded: Guarded) -> None:
    assert not await guarded.says("acme", "requests.acme.submit.more")
