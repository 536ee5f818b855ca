"""Requests and their answers: stored once, and never missed."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import nats
import pytest
from nats.aio.client import Client

from muster.bus.faststream import FastStreamBus
from muster.bus.topology import Stream
from muster.client import MusterClient, NoAnswer, connect
from muster.contracts.requests import Answer, RequestHead, Stop, request_type
from muster.contracts.subjects import BadSubject, parse
from muster.domain.errors import Permanent, Temporary
from muster.domain.violations import Violation
from tests.support.log_lives import START
from tests.support.nats import KillableServer

Answering = Callable[[str, bytes], Awaitable[None]]


def yes(subject: str, head: RequestHead) -> Answer:
    """The answer of somebody who grants everything."""
    address = parse(subject)
    return Answer(
        request=head.id,
        tenant=address.names[0],
        verb=address.event,
        accepted=True,
        job="j1",
        phase="queued",
        at=START,
    )


@asynccontextmanager
async def door(url: str, answer: Callable[[str, RequestHead], Answer] = yes) -> AsyncIterator[None]:
    """Somebody who answers every request that is stored."""
    async with await nats.connect(url) as connection:
        bus = FastStreamBus(connection)
        subscription = await connection.jetstream().subscribe(
            "requests.>", stream=Stream.REQUESTS, ordered_consumer=True
        )

        async def serve() -> None:
            async for message in subscription.messages:
                head = RequestHead.model_validate_json(message.data)
                await bus.answer(answer(message.subject, head))

        serving = asyncio.create_task(serve())
        try:
            yield
        finally:
            while not serving.done():  # a cancellation that meets an answer is lost
                serving.cancel()
                await asyncio.wait({serving}, timeout=0.1)


async def requests_in(connection: Client) -> list[tuple[str, dict[str, str], bytes]]:
    """Everything in the stream of requests: subject, headers, body."""
    context = connection.jetstream()
    state = (await context.stream_info(Stream.REQUESTS)).state
    messages = [await context.get_msg(Stream.REQUESTS, seq) for seq in range(1, state.last_seq + 1)]
    return [(m.subject or "", m.headers or {}, m.data or b"") for m in messages]


async def test_a_request_is_stored_as_an_envelope_and_answered(
    muster: MusterClient, url: str
) -> None:
    async with door(url):
        answer = await muster.request(
            "stop", {"job": "j1"}, tenant="acme", user="ann", request_id="r1"
        )
    assert answer == Answer(
        request="r1",
        tenant="acme",
        verb="stop",
        accepted=True,
        job="j1",
        phase="queued",
        at=START,
    )
    ((subject, headers, body),) = await requests_in(muster.connection)
    head = RequestHead.model_validate_json(body)
    assert subject == head.subject == "requests.acme.stop"
    assert headers["Nats-Msg-Id"] == head.id == "r1"
    assert head.type == request_type("stop")
    assert head.data == {"job": "j1", "user": "ann"}


async def test_a_request_of_a_model_is_the_same(muster: MusterClient, url: str) -> None:
    async with door(url):
        answer = await muster.send(Stop(user="ann", job="j1"), tenant="acme")
    assert answer.accepted
    ((_, _, body),) = await requests_in(muster.connection)
    assert json.loads(body)["data"] == {"user": "ann", "job": "j1"}


async def test_the_trace_of_a_job_begins_with_its_request(muster: MusterClient, url: str) -> None:
    async with door(url):
        for _ in range(2):
            await muster.request("stop", {"job": "j1"}, tenant="acme", user="ann")
    traces = set()
    for _, headers, body in await requests_in(muster.connection):
        head = RequestHead.model_validate_json(body)
        assert head.traceparent is not None
        assert headers["traceparent"] == head.traceparent
        assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]", head.traceparent)
        traces.add(head.traceparent.split("-")[1])
    assert len(traces) == 2


async def test_a_refusal_is_an_answer_with_every_violation(muster: MusterClient, url: str) -> None:
    found = Violation(code="E_STATE", path="$.job", en="it has ended", zh="已结束")

    def no(subject: str, head: RequestHead) -> Answer:
        return yes(subject, head).model_copy(update={"accepted": False, "violations": (found,)})

    async with door(url, no):
        answer = await muster.request("stop", {"job": "j1"}, tenant="acme", user="ann")
    assert not answer.accepted
    assert answer.violations == (found,)


async def test_who_asks_again_later_gets_the_same_answer(muster: MusterClient, url: str) -> None:
    def ask(timeout: float) -> Awaitable[Answer]:
        return muster.request(
            "stop", {"job": "j1"}, tenant="acme", user="ann", request_id="r1", timeout=timeout
        )

    with pytest.raises(NoAnswer, match="r1") as none:
        await ask(0.3)
    assert none.value.request == "r1"
    async with door(url):
        first = await ask(10)
    again = await ask(10)
    assert again == first == await muster.answer("acme", "r1")
    assert len(await requests_in(muster.connection)) == 1


async def test_an_answer_is_waited_for_or_not(muster: MusterClient, url: str) -> None:
    assert await muster.answer("acme", "r1") is None
    waiting = asyncio.create_task(muster.answer("acme", "r1", timeout=20))
    async with door(url):
        asked = await muster.request(
            "stop", {"job": "j1"}, tenant="acme", user="ann", request_id="r1"
        )
        assert await waiting == asked


async def test_many_at_once_each_get_their_own(url: str) -> None:
    async with door(url), connect(url) as muster:
        answers = await asyncio.gather(
            *(
                muster.request(
                    "stop", {"job": "j1"}, tenant="acme", user="ann", request_id=f"r{number}"
                )
                for number in range(50)
            )
        )
    assert [answer.request for answer in answers] == [f"r{number}" for number in range(50)]


@pytest.mark.parametrize("bad", ["", "a.b", "a b", "*", "x" * 129])
async def test_names_that_are_no_tokens_are_refused_before_anything_is_sent(
    muster: MusterClient, bad: str
) -> None:
    for verb, tenant, request in (
        ("stop", bad, "r1"),
        (bad, "acme", "r1"),
        ("stop", "acme", bad or " "),
    ):
        with pytest.raises(BadSubject):
            await muster.request(verb, {"job": "j1"}, tenant=tenant, user="ann", request_id=request)
    assert await requests_in(muster.connection) == []


async def test_a_request_that_is_too_large_is_refused_for_good(muster: MusterClient) -> None:
    with pytest.raises(Permanent):
        await muster.request(
            "submit", {"spec": {"description": "x" * 300_000}}, tenant="acme", user="ann"
        )


@pytest.mark.slow
async def test_a_request_outlives_the_server_it_was_sent_to(nats_server: KillableServer) -> None:
    from muster.bus.provision import provision

    async with await nats.connect(nats_server.url) as connection:
        await provision(connection)
    async with connect(nats_server.url) as muster:
        await nats_server.kill()
        asking = asyncio.create_task(
            muster.request("stop", {"job": "j1"}, tenant="acme", user="ann", timeout=60)
        )
        await asyncio.wait({asking}, timeout=1)
        await nats_server.restart()
        async with door(nats_server.url):
            assert (await asking).accepted
        assert len(await requests_in(muster.connection)) == 1


async def test_without_a_stream_of_requests_it_is_told(clean_nats_url: str) -> None:
    async with connect(clean_nats_url) as muster:
        with pytest.raises(Temporary):
            await muster.request("stop", {"job": "j1"}, tenant="acme", user="ann", timeout=0.5)
