"""The generic webhook: a signed document to where the operator allows; which kinds there are."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import httpx
import pytest
from pydantic import SecretStr

from muster.notifier.allowlist import Allowlist
from muster.notifier.channels.kinds import Means, kinds
from muster.notifier.channels.port import Address
from muster.notifier.channels.webhook import signature
from muster.notifier.core.delivery import Delivery, Fault, Form
from tests.notifier.test_cards import built, notice
from tests.notifier.test_feishu import streamed
from tests.support.leaks import MARK, heard

NOW = datetime(2025, 3, 1, 8, 0, tzinfo=UTC)
OWN = "https://hooks.example.com"
URL = f"{OWN}/muster/{MARK}"
SECRET = "whsec_plJ3nmyCDGBKInavdOK15jsl"
CARD = built(notice(), UTC)
F = Fault

PUBLISHED = [
    (
        "msg_loFOjxBNrRLzqYUf",
        1731705121,
        b'{"event_type":"ping","data":{"success":true}}',
        SECRET,
        "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=",
    ),
    (
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    ),
]


@pytest.mark.parametrize(("message", "timestamp", "body", "secret", "expected"), PUBLISHED)
def test_the_published_vectors(
    message: str, timestamp: int, body: bytes, secret: str, expected: str
) -> None:
    assert signature(secret, message, timestamp, body) == expected
    assert signature(f" {secret}\n", message, timestamp, body) == expected
    for other in ((f"{message}x", timestamp, body), (message, timestamp + 1, body)):
        assert signature(secret, *other) != expected
    assert signature(secret, message, timestamp, body + b" ") != expected


@pytest.mark.parametrize("secret", ["whsec_训练", "whsec_!", "whsec_abc", "训练"])
def test_a_secret_that_is_no_base64_is_taken_as_it_is(secret: str) -> None:
    assert signature(secret, "m", 1, b"") == signature(f" {secret} ", "m", 1, b"")
    assert signature(secret, "m", 1, b"") != signature(f"{secret}x", "m", 1, b"")


class Hook:
    """Answers every request alike, and keeps them."""

    def __init__(self, status: int = 204) -> None:
        self.reply = httpx.Response(status, headers={"retry-after": "9"}, text=f"bad {URL}")
        self.requests: list[httpx.Request] = []

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return streamed(self.reply)

    async def told(self, name: str, url: str, secret: str | None = SECRET) -> Delivery:
        means = Means(Allowlist(frozenset({OWN})), transport=httpx.MockTransport(self))
        channel = kinds()[name].build(means)
        address = Address(SecretStr(url), SecretStr(secret) if secret else None)
        try:
            return await channel.send(address, CARD, NOW, Form.CARD)
        finally:
            await channel.close()


async def test_the_document_is_sent_signed_and_named() -> None:
    hook = Hook()
    assert (await hook.told("webhook", URL)).fault is F.NONE
    (request,) = hook.requests
    assert json.loads(request.content) == CARD.document
    assert request.headers["webhook-id"] == CARD.id
    assert request.headers["webhook-timestamp"] == str(int(NOW.timestamp()))
    assert request.headers["webhook-signature"] == signature(
        SECRET, CARD.id, int(NOW.timestamp()), request.content
    )


async def test_without_a_secret_nothing_is_signed() -> None:
    hook = Hook()
    await hook.told("webhook", URL, secret=None)
    assert "webhook-signature" not in hook.requests[0].headers


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (200, F.NONE),
        (204, F.NONE),
        (302, F.REFUSED),
        (400, F.REFUSED),
        (401, F.SIGNATURE),
        (404, F.ADDRESS),
        (410, F.ADDRESS),
        (408, F.SERVER),
        (429, F.RATE),
        (500, F.SERVER),
        (503, F.SERVER),
    ],
)
async def test_the_status_is_the_answer(status: int, fault: Fault) -> None:
    told = await Hook(status).told("webhook", URL)
    assert (told.fault, told.code) == (fault, "0" if fault is F.NONE else f"http_{status}")
    assert told.retry_after == (9.0 if fault in {F.RATE, F.SERVER} else None)
    heard(repr(told))


@pytest.mark.parametrize(
    ("name", "url", "allowed"),
    [
        ("feishu", "https://open.feishu.cn/open-apis/bot/v2/hook/t1", True),
        ("feishu", "https://open.larksuite.com/open-apis/bot/v2/hook/t1", False),
        ("lark", "https://open.larksuite.com/open-apis/bot/v2/hook/t1", True),
        ("lark", "https://open.feishu.cn/open-apis/bot/v2/hook/t1", False),
        ("feishu", f"{OWN}/open-apis/bot/v2/hook/t1", True),
        ("webhook", URL, True),
        ("webhook", "https://open.feishu.cn/open-apis/bot/v2/hook/t1", False),
        ("webhook", "https://hooks.example.com.evil.org/muster", False),
        ("webhook", "http://hooks.example.com/muster", False),
        ("webhook", "https://hooks.example.com:8443/muster", False),
        ("webhook", "https://x@hooks.example.com/muster", False),
    ],
)
async def test_mail_to_a_wrong_origin_is_not_sent(name: str, url: str, allowed: bool) -> None:
    assert kinds()[name].allows(url, Allowlist(frozenset({OWN}))) is allowed
    hook = Hook()
    told = await hook.told(name, url)
    assert bool(hook.requests) is allowed
    assert (told.code == "address") is not allowed


def test_every_file_of_the_folder_adds_its_kinds() -> None:
    assert [(kind.name, kind.language, kind.addressed) for kind in kinds().values()] == [
        ("feishu", "zh", True),
        ("lark", "en", True),
        ("log", "zh", False),
        ("webhook", "en", True),
    ]
