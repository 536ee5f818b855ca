"""The stand-in for Feishu judges as the real one, and the channel gets through to it over HTTP."""

from __future__ import annotations

import json
import logging
import socket
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from muster.notifier.allowlist import Allowlist
from muster.notifier.channels.port import Address
from muster.notifier.channels.signature import sign
from muster.notifier.core.delivery import Form, Outcome
from muster.notifier.sandbox import HOOK, Receiver, new_token, serving
from tests.notifier.test_cards import built, notice
from tests.notifier.test_feishu import a_channel

NOW = datetime(2025, 3, 1, 8, 0, tzinfo=UTC)
SECONDS = int(NOW.timestamp())
CARD = built(notice(), UTC)


def receiver(secret: str = "demo") -> Receiver:
    return Receiver({"t1": secret}, clock=lambda: float(SECONDS))


def body(**changes: Any) -> bytes:
    base = {
        "timestamp": str(SECONDS),
        "sign": sign(SECONDS, "demo"),
        "msg_type": "interactive",
        "card": CARD.card,
    }
    return json.dumps({**base, **changes}).encode()


LATE = SECONDS - 3601
EDGE = SECONDS - 3600


@pytest.mark.parametrize(
    ("token", "content", "code"),
    [
        ("t1", body(), 0),
        ("t1", body(timestamp=str(EDGE), sign=sign(EDGE, "demo")), 0),
        ("t1", body(msg_type="text", content={"text": "hello"}), 0),
        ("t2", body(), 19001),
        ("", body(), 19001),
        ("t1", body(sign=sign(SECONDS, "other")), 19021),
        ("t1", body(sign=None), 19021),
        ("t1", body(sign="训练"), 19021),
        ("t1", body(timestamp=SECONDS), 19021),
        ("t1", body(timestamp=str(SECONDS * 1000), sign=sign(SECONDS * 1000, "demo")), 19021),
        ("t1", body(timestamp=str(LATE), sign=sign(LATE, "demo")), 19021),
        ("t1", b"not json", 9499),
        ("t1", b"[]", 9499),
        ("t1", b"\xff", 9499),
        ("t1", body(card="x" * 30_000), 9499),
        ("t1", body(msg_type="video"), 19002),
        ("t1", body(card={"schema": "1.0"}), 200621),
        ("t1", body(card=json.dumps(CARD.card)), 19002),
    ],
)
def test_judgement(token: str, content: bytes, code: int) -> None:
    bot = receiver()
    assert bot.take(token, content)[0] == code
    assert len(bot.received) == (1 if code == 0 else 0)


def test_a_bot_without_a_secret_checks_no_signature() -> None:
    assert receiver("").take("t1", body(sign="x"))[0] == 0


def test_a_rehearsed_refusal_comes_once() -> None:
    bot = receiver()
    bot.refuse_next.append((11232, "frequency limited"))
    assert [bot.take("t1", body())[0] for _ in range(2)] == [11232, 0]


def test_what_was_received_reads_like_the_card() -> None:
    bot = receiver()
    bot.take("t1", body())
    (got,) = bot.received
    assert (got.kind, got.colour) == ("interactive", "red")
    assert got.title == "运行失败 · llama-sft"
    assert "任务运行失败：未记录原因" in got.text
    assert f"通知编号 {CARD.id}" in got.text


async def test_the_channel_reaches_it_over_http(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    token = new_token()
    bot = Receiver({token: "demo"}, clock=lambda: float(SECONDS))
    async with serving(bot) as origin:
        channel = a_channel(Allowlist(frozenset({origin})))
        address = Address(SecretStr(f"{origin}{HOOK}{token}"), SecretStr("demo"))
        wrong = Address(SecretStr(f"{origin}{HOOK}{token}"), SecretStr("other"))
        gone = Address(SecretStr(f"{origin}{HOOK}{new_token()}"), SecretStr("demo"))
        assert (await channel.send(address, CARD, NOW, Form.CARD)).outcome is Outcome.DELIVERED
        assert (await channel.send(wrong, CARD, NOW, Form.CARD)).code == "19021"
        assert (await channel.send(gone, CARD, NOW, Form.CARD)).code == "19001"
        await channel.close()
        async with httpx.AsyncClient(trust_env=False) as client:
            listed = (await client.get(f"{origin}/received")).json()["received"]
            missing = await client.get(f"{origin}/elsewhere")
    assert [entry["title"] for entry in listed] == ["运行失败 · llama-sft"]
    assert missing.status_code == 404
    assert token not in caplog.text


async def test_by_default_a_loopback_address_is_refused() -> None:
    bot = Receiver({"t1": ""}, clock=lambda: float(SECONDS))
    async with serving(bot) as origin:
        channel = a_channel(Allowlist())
        delivery = await channel.send(Address(SecretStr(f"{origin}{HOOK}t1")), CARD, NOW, Form.CARD)
        await channel.close()
    assert (delivery.outcome, delivery.code) == (Outcome.REFUSED, "address")
    assert bot.received == []


async def test_nobody_listening_is_worth_another_try() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        origin = f"http://127.0.0.1:{reserved.getsockname()[1]}"
        channel = a_channel(Allowlist(frozenset({origin})))
        delivery = await channel.send(Address(SecretStr(f"{origin}{HOOK}t1")), CARD, NOW, Form.CARD)
        await channel.close()
    assert (delivery.outcome, delivery.code) == (Outcome.RETRY, "unreachable")


async def test_a_port_in_use_is_said_so() -> None:
    async with serving(receiver()) as origin:
        with pytest.raises(OSError, match="in use"):
            async with serving(receiver(), port=int(origin.rpartition(":")[2])):
                pass
