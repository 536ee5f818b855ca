"""The Feishu channel against scripted replies: outcomes, follow-ups, and what it never says."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from muster.notifier.allowlist import Allowlist
from muster.notifier.channels.feishu import FeishuChannel
from muster.notifier.channels.port import Address
from muster.notifier.channels.posting import Post
from muster.notifier.channels.signature import sign
from muster.notifier.core.delivery import Delivery, Fault, Form, Outcome
from muster.notifier.core.message import Message
from tests.notifier.test_cards import built, notice

NOW = datetime(2025, 3, 1, 8, 0, tzinfo=UTC)
TOKEN = "tok-5up3r-s3cret"
URL = f"https://open.feishu.cn/open-apis/bot/v2/hook/{TOKEN}"
SECRET = "sign-s3cret"
SIGNED = Address(SecretStr(URL), SecretStr(SECRET + "\n"))
OPEN = Address(SecretStr(URL))
MESSAGE = built(notice(), UTC)
OK = {"code": 0, "msg": "success"}

Handler = Callable[[httpx.Request], httpx.Response]


def a_channel(allowlist: Allowlist | None = None, **options: Any) -> FeishuChannel:
    """A channel to the official origin, and to those of the list."""
    return FeishuChannel(Post(**options), allowlist or Allowlist())


def streamed(reply: httpx.Response) -> httpx.Response:
    """The same reply as it comes from a network: not read yet."""

    async def chunks() -> AsyncIterator[bytes]:
        yield reply.content

    return httpx.Response(reply.status_code, headers=reply.headers, content=chunks())


class Bot:
    """Answers from a script and keeps what it was sent."""

    def __init__(self, *replies: object) -> None:
        self.replies = list(replies)
        self.requests: list[httpx.Request] = []

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(request.content) for request in self.requests]

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        if not isinstance(reply, httpx.Response):
            reply = httpx.Response(200, json=reply)
        return streamed(reply) if reply.is_closed else reply

    def channel(self, **options: Any) -> FeishuChannel:
        return a_channel(transport=httpx.MockTransport(self), **options)

    async def told(
        self,
        address: Address | None = SIGNED,
        sent: Message = MESSAGE,
        form: Form = Form.CARD,
    ) -> Delivery:
        return await self.channel().send(address, sent, NOW, form)


async def test_a_card_is_sent_signed_and_as_an_object() -> None:
    bot = Bot(OK)
    assert (await bot.told()).outcome is Outcome.DELIVERED
    (body,) = bot.bodies
    assert body["msg_type"] == "interactive"
    assert body["card"] == MESSAGE.card
    assert body["timestamp"] == str(int(NOW.timestamp()))
    assert body["sign"] == sign(int(NOW.timestamp()), SECRET)
    assert bot.requests[0].headers["content-type"] == "application/json; charset=utf-8"
    assert "sign" not in str(bot.requests[0].url)


async def test_without_a_secret_nothing_is_signed() -> None:
    bot = Bot(OK, OK)
    await bot.told(OPEN)
    await bot.told(Address(SecretStr(URL), SecretStr(" \n")))
    assert all({"timestamp", "sign"}.isdisjoint(body) for body in bot.bodies)


async def test_the_body_holds_chinese_as_it_is() -> None:
    bot = Bot(OK)
    await bot.told()
    assert "运行失败".encode() in bot.requests[0].content
    assert b"\\u" not in bot.requests[0].content


async def test_every_attempt_is_signed_anew() -> None:
    bot = Bot({"code": 11232, "msg": "frequency limited"}, OK)
    channel = bot.channel()
    first = await channel.send(SIGNED, MESSAGE, NOW, Form.CARD)
    second = await channel.send(SIGNED, MESSAGE, NOW + timedelta(seconds=61), Form.CARD)
    assert (first.outcome, second.outcome) == (Outcome.RETRY, Outcome.DELIVERED)
    assert bot.bodies[0]["sign"] != bot.bodies[1]["sign"]
    assert bot.bodies[1]["timestamp"] == str(int(NOW.timestamp()) + 61)


@pytest.mark.parametrize(
    ("reply", "outcome", "code"),
    [
        (httpx.ConnectError("x"), Outcome.RETRY, "unreachable"),
        (httpx.ConnectTimeout("x"), Outcome.RETRY, "unreachable"),
        (httpx.PoolTimeout("x"), Outcome.RETRY, "unreachable"),
        (httpx.ProxyError("x"), Outcome.RETRY, "unreachable"),
        (httpx.ReadTimeout("x"), Outcome.UNKNOWN, "no_reply"),
        (httpx.WriteTimeout("x"), Outcome.UNKNOWN, "no_reply"),
        (httpx.RemoteProtocolError("x"), Outcome.UNKNOWN, "no_reply"),
        (httpx.ReadError("x"), Outcome.UNKNOWN, "no_reply"),
        (httpx.Response(503, headers={"retry-after": "9"}), Outcome.RETRY, "http_503"),
        (httpx.Response(200, text="<html>"), Outcome.UNKNOWN, "not_understood"),
        (httpx.Response(200, content=b"x" * 1_000_000), Outcome.UNKNOWN, "not_understood"),
        (httpx.Response(302, headers={"location": URL}), Outcome.REFUSED, "http_302"),
        ({"code": 19001, "msg": "param invalid"}, Outcome.REFUSED, "19001"),
    ],
)
async def test_outcome(reply: object, outcome: Outcome, code: str) -> None:
    bot = Bot(reply)
    delivery = await bot.told()
    assert (delivery.outcome, delivery.code) == (outcome, code)
    assert len(bot.requests) == 1


async def test_the_wait_that_the_bot_asks_for_is_passed_on() -> None:
    delivery = await Bot(httpx.Response(429, headers={"Retry-After": "9"})).told()
    assert delivery.retry_after == 9.0


async def test_the_text_says_the_same_and_is_signed() -> None:
    bot = Bot(OK)
    assert (await bot.told(form=Form.TEXT)).outcome is Outcome.DELIVERED
    assert bot.bodies[0]["msg_type"] == "text"
    assert bot.bodies[0]["content"] == {"text": MESSAGE.text}
    assert "sign" in bot.bodies[0]


async def test_what_is_too_large_is_not_sent() -> None:
    huge = Message("n-1", {"x": "训" * 6_000}, "short")
    delivery = await Bot().told(sent=huge)
    assert (delivery.fault, delivery.code) == (Fault.CONTENT, "too_large")
    bot = Bot(OK)
    assert (await bot.told(sent=huge, form=Form.TEXT)).outcome is Outcome.DELIVERED
    hopeless = Message("n-1", {}, "训" * 6_000)
    assert (await Bot().told(sent=hopeless, form=Form.TEXT)).code == "too_large"


async def test_the_clock_of_who_refuses_a_signature_is_passed_on() -> None:
    theirs = NOW + timedelta(hours=3)
    body = {"code": 19021, "msg": "sign match fail or timestamp is not within one hour"}
    headers = {"Date": format_datetime(theirs, usegmt=True)}
    delivery = await Bot(httpx.Response(200, json=body, headers=headers)).told()
    assert (delivery.fault, delivery.server_time) == (Fault.SIGNATURE, theirs)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9/open-apis/bot/v2/hook/x", "https://evil.example/", "", "%%"]
)
async def test_an_address_that_is_not_allowed_is_never_called(url: str) -> None:
    bot = Bot()
    assert (await bot.told(Address(SecretStr(url)))).code == "address"
    assert (await bot.told(None)).code == "address"
    assert bot.requests == []


async def test_a_receiver_that_never_ends_its_reply_is_left() -> None:
    async def trickle() -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b""

    bot = Bot(httpx.Response(200, content=trickle()))
    delivery = await bot.channel(timeout=0.05).send(SIGNED, MESSAGE, NOW, Form.CARD)
    assert (delivery.outcome, delivery.code) == (Outcome.UNKNOWN, "no_reply")


async def test_nothing_tells_the_address(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("httpx", "httpcore", "httpcore.connection", "httpcore.http11"):
        caplog.set_level(logging.DEBUG, logger=name)
    echo = {"code": 19001, "msg": f"bad {URL} and {TOKEN} with {SECRET}"}
    bot = Bot(echo, httpx.ConnectError(f"cannot reach {URL}"), httpx.ReadTimeout(URL), OK)
    said = [repr(await bot.told()) for _ in range(4)]
    said += [repr(SIGNED), str(SIGNED), repr(bot.channel()), caplog.text]
    assert not any(hidden in text for text in said for hidden in (URL, TOKEN, SECRET))
    assert "****" in said[0]


async def test_other_users_of_the_client_keep_their_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="httpx")
    bot = Bot(OK, OK)
    await bot.told()
    assert caplog.text == ""
    async with httpx.AsyncClient(transport=httpx.MockTransport(bot)) as client:
        await client.get("https://example.org/mine")
    assert "example.org/mine" in caplog.text


def test_the_label_of_an_address_is_no_secret_and_stable() -> None:
    assert SIGNED.label == OPEN.label
    assert len(SIGNED.label) == 12
    assert SIGNED.label not in URL
