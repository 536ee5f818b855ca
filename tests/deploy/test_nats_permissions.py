"""The configuration in deploy/nats, on a real server: a service can do its work and no more."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js.errors import NoStreamResponseError

from muster.bus import Subscription, Trigger
from muster.bus.faststream import FastStreamBus
from muster.bus.provision import provision
from muster.bus.topology import CONSUMERS, Consumer
from muster.contracts.alarms import Alarm
from muster.contracts.requests import Answer
from muster.contracts.subjects import job_key
from muster.domain.deadlines import DEADLINES
from muster.domain.edges import EDGES, Owner
from muster.log.jetstream import JetStreamLog
from muster.runtime.nats_binary import find_binary
from muster.runtime.nats_process import is_healthy
from muster.runtime.ports import free_port
from scripts import nats_permissions

FOLDER = Path(nats_permissions.TARGET).parent
USERS = [*Owner, "operator", "acme", "system"]


def passwords() -> dict[str, str]:
    names = (str(user).upper().replace("-", "_") for user in USERS)
    return {f"MUSTER_{name}_PASSWORD": "secret" for name in names}


def test_the_file_is_made_from_the_tables() -> None:
    assert nats_permissions.TARGET.read_text() == nats_permissions.render()


@pytest.mark.parametrize("name", ["single.conf", "cluster.conf"])
def test_a_server_accepts_the_configuration(name: str) -> None:
    environment = os.environ | passwords() | {"MUSTER_NATS_NAME": "n1"}
    command = [str(find_binary().path), "-t", "-c", str(FOLDER / name)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


class Guarded:
    """A server with the accounts of deploy/nats, and connections as each of their users."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.refused: list[str] = []

    async def connect(self, user: str) -> Client:
        async def note(error: Exception) -> None:
            self.refused.append(f"{user}: {error}")

        return await nats.connect(
            f"nats://{user}:secret@127.0.0.1:{self.port}",
            inbox_prefix=f"_INBOX_{user}",
            error_cb=note,
        )

    async def says(self, user: str, subject: str) -> bool:
        """True if the stream took a message that the user published there."""
        async with await self.connect(user) as client:
            try:
                await client.jetstream(timeout=1).publish(subject, b"{}")
            except (NatsTimeoutError, NoStreamResponseError):
                return False
            return True

    async def sees(self, client: Client, consumer: Consumer) -> bool:
        """True if the user of the connection may ask for the durable."""
        js = client.jetstream()
        try:
            await js.consumer_info(str(consumer.stream), consumer.durable, timeout=1)
        except NatsTimeoutError:
            return False
        return True


def write_config(folder: Path, port: int, monitor_port: int) -> Path:
    config = folder / "server.conf"
    accounts = os.path.relpath(
        FOLDER / "accounts.conf", folder
    )  # the server knows no other include
    config.write_text(
        f'listen: "127.0.0.1:{port}"\nhttp: "127.0.0.1:{monitor_port}"\n'
        f'jetstream {{\n store_dir: "{folder / "store"}"\n}}\n'
        f'include "{accounts}"\n'
    )
    return config


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Guarded]:
    port, monitor_port = free_port(), free_port()
    config = write_config(tmp_path, port, monitor_port)
    server = await asyncio.create_subprocess_exec(
        str(find_binary().path),
        "-c",
        str(config),
        env=os.environ | passwords(),
        stderr=subprocess.DEVNULL,
    )
    try:
        while not await is_healthy(monitor_port):
            assert server.returncode is None
            await asyncio.sleep(0.02)
        guarded = Guarded(port)
        async with await guarded.connect("operator") as client:
            await provision(client)
        yield guarded
    finally:
        server.terminate()
        await server.wait()


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


async def test_an_outside_system_writes_requests_of_its_own_tenant_only(guarded: Guarded) -> None:
    assert await guarded.says("acme", "requests.acme.submit")
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
