"""The bot's replies: only its own code says that a message was delivered."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from muster.notifier.channels.replies import Fault, read
from muster.notifier.core.delivery import Outcome

RATE = "frequency limited psm[lark.oapi.app_platform_runtime]appID[1500]"
D, R, U, T = Outcome.DELIVERED, Outcome.REFUSED, Outcome.UNKNOWN, Outcome.RETRY
NONE, CONTENT, SIGNATURE = Fault.NONE, Fault.CONTENT, Fault.SIGNATURE

TABLE: dict[str, tuple[int, object, Outcome, Fault, str]] = {
    "success": (200, {"code": 0, "msg": "success", "data": {}}, D, NONE, "0"),
    "success in the old form": (200, {"Extra": None, "StatusCode": 0}, D, NONE, "0"),
    "both forms": (200, {"code": 0, "StatusCode": 0}, D, NONE, "0"),
    "code wins over StatusCode": (200, {"code": 9499, "StatusCode": 0}, R, CONTENT, "9499"),
    "refused in the old form": (200, {"StatusCode": 19024}, R, NONE, "19024"),
    "rate limit": (200, {"code": 11232, "msg": RATE}, T, NONE, "11232"),
    "old rate limit": (400, {"code": 9499, "msg": "too many request"}, T, NONE, "9499"),
    "bad request": (400, {"code": 9499, "msg": "Bad Request"}, R, CONTENT, "9499"),
    "cannot be parsed": (200, {"code": 9499, "msg": "fail to parse"}, R, CONTENT, "9499"),
    "internal error": (200, {"code": 2200, "msg": ""}, T, NONE, "2200"),
    "unknown token": (200, {"code": 19001, "msg": "param invalid"}, R, NONE, "19001"),
    "bad parameter": (200, {"code": 19002, "msg": "param invalid"}, R, NONE, "19002"),
    "bot disabled": (200, {"code": 19007, "msg": "Bot Not Enabled"}, R, NONE, "19007"),
    "signature": (200, {"code": 19021, "msg": "sign match fail"}, R, SIGNATURE, "19021"),
    "address not allowed": (200, {"code": 19022, "msg": "Ip Not Allowed"}, R, NONE, "19022"),
    "keyword": (200, {"code": 19024, "msg": "Key Words Not Found"}, R, NONE, "19024"),
    "card invalid": (200, {"code": 11246, "msg": "invalid at user"}, R, CONTENT, "11246"),
    "card parse": (200, {"code": 200621, "msg": "parse card json err"}, R, CONTENT, "200621"),
    "card too large": (200, {"code": 230099, "msg": "over limit"}, R, CONTENT, "230099"),
    "app rate": (200, {"code": 99991400, "msg": "request frequency"}, T, NONE, "99991400"),
    "app right": (200, {"code": 99991400, "msg": "denied"}, R, NONE, "99991400"),
    "never seen": (200, {"code": 4711, "msg": "?"}, R, NONE, "4711"),
    "empty object": (200, {}, U, NONE, "not_understood"),
    "a list": (200, [], U, NONE, "not_understood"),
    "code as text": (200, {"code": "0"}, U, NONE, "not_understood"),
    "code as truth": (200, {"code": False}, U, NONE, "not_understood"),
    "html": (200, "<html>", U, NONE, "not_understood"),
    "empty": (200, "", U, NONE, "not_understood"),
    "deeply nested": (200, "[" * 100_000, U, NONE, "not_understood"),
    "redirect": (302, "", R, NONE, "http_302"),
    "not found": (404, "<html>", R, NONE, "http_404"),
    "success with a wrong status": (403, {"code": 0}, R, NONE, "http_403"),
    "too many": (429, "", T, NONE, "http_429"),
    "too many in words": (429, {"code": 0}, T, NONE, "http_429"),
    "server fault": (502, "<html>bad gateway", T, NONE, "http_502"),
}


@pytest.mark.parametrize("name", TABLE)
def test_reply(name: str) -> None:
    status, body, outcome, fault, code = TABLE[name]
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    reply = read(status, {}, raw)
    assert (reply.outcome, reply.fault, reply.code) == (outcome, fault, code)


def test_headers() -> None:
    headers = {"retry-after": "7", "date": "Sat, 01 Mar 2025 08:00:00 GMT"}
    reply = read(429, headers, b"")
    assert reply.retry_after == 7.0
    assert reply.server_time == datetime(2025, 3, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize("headers", [{"retry-after": "soon", "date": "today"}, {"date": ""}])
def test_headers_that_make_no_sense_are_ignored(headers: dict[str, str]) -> None:
    reply = read(503, headers, b"")
    assert (reply.retry_after, reply.server_time) == (None, None)


def test_bytes_that_are_no_text() -> None:
    assert read(200, {}, b"\xff\xfe\x00").outcome is U
