"""A system outside, with an account that may ask for its own tenant and hear what becomes of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muster.bus.faststream import FastStreamBus
from muster.client import connect
from muster.log.jetstream import JetStreamLog
from tests.client.test_requests import yes
from tests.deploy.guarded import Guarded, guarded_server
from tests.support.log_lives import Lives


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Guarded]:
    async with guarded_server(tmp_path) as server:
        yield server


async def test_it_is_answered_at_once_although_it_may_not_look_into_the_stream(
    guarded: Guarded,
) -> None:
    from muster.contracts.requests import RequestHead

    async with await guarded.connect("operator") as inside, connect(guarded.url("acme")) as muster:
        bus = FastStreamBus(inside)
        requests = await inside.subscribe("requests.>")
        await inside.flush()

        async def answer() -> None:
            message = await requests.next_msg(timeout=20)
            await asyncio.sleep(0.5)  # later than the first look
            head = RequestHead.model_validate_json(message.data)
            await bus.answer(yes(message.subject, head))

        answering = asyncio.create_task(answer())
        async with asyncio.timeout(4):
            told = await muster.request("stop", {"job": "j1"}, tenant="acme", user="ann")
        await answering
    assert told.accepted


async def test_it_hears_its_own_jobs_by_a_plain_subscription(guarded: Guarded) -> None:
    async with (
        await guarded.connect("operator") as inside,
        await guarded.connect("acme") as outside,
    ):
        heard = await outside.subscribe("status.>")
        await outside.flush()
        lives = Lives(JetStreamLog(inside))
        await lives.queued("j1", tenant="other")
        await lives.queued("j2", tenant="acme")
        messages = [await heard.next_msg(timeout=5) for _ in range(2)]
    assert {message.subject for message in messages} == {"status.acme.j2"}
    assert json.loads(messages[-1].data)["data"]["job"]["phase"] == "queued"
