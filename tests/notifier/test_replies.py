"""The bot's replies: only its own code says that a message was delivered."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from muster.notifier.channels.replies import read
from muster.notifier.core.delivery import Fault, Outcome

RATE = "frequency limited psm[lark.oapi.app_platform_runtime]appID[1500]"
D, R, U, T = Outcome.DELIVERED, Outcome.REFUSED, Outcome.UNKNOWN, Outcome.RETRY
F = Fault

TABLE: dict[str, tuple[int, object, Outcome, Fault, str]] = {
    "success": (200, {"code": 0, "msg": "success", "data": {}}, D, F.NONE, "0"),
    "success in the old form": (200, {"Extra": None, "StatusCode": 0}, D, F.NONE, "0"),
    "both forms": (200, {"code": 0, "StatusCode": 0}, D, F.NONE, "0"),
    "code wins over StatusCode": (200, {"code": 9499, "StatusCode": 0}, R, F.CONTENT, "9499"),
    "refused in the old form": (200, {"StatusCode": 19024}, R, F.KEYWORD, "19024"),
    "rate limit": (200, {"code": 11232, "msg": RATE}, T, F.RATE, "11232"),
    "old rate limit": (400, {"code": 9499, "msg": "too many request"}, T, F.RATE, "9499"),
    "bad request": (400, {"code": 9499, "msg": "Bad Request"}, R, F.CONTENT, "9499"),
    "cannot be parsed": (200, {"code": 9499, "msg": "fail to parse"}, R, F.CONTENT, "9499"),
    "internal error": (200, {"code": 2200, "msg": ""}, T, F.SERVER, "2200"),
    "unknown token": (200, {"code": 19001, "msg": "param invalid"}, R, F.ADDRESS, "19001"),
    "bad parameter": (200, {"code": 19002, "msg": "param invalid"}, R, F.PARAMETER, "19002"),
    "bot disabled": (200, {"code": 19007, "msg": "Bot Not Enabled"}, R, F.DISABLED, "19007"),
    "signature": (200, {"code": 19021, "msg": "sign match fail"}, R, F.SIGNATURE, "19021"),
    "address not allowed": (200, {"code": 19022, "msg": "Ip Not Allowed"}, R, F.IP, "19022"),
    "keyword": (200, {"code": 19024, "msg": "Key Words Not Found"}, R, F.KEYWORD, "19024"),
    "card invalid": (200, {"code": 11246, "msg": "invalid at user"}, R, F.CONTENT, "11246"),
    "card parse": (200, {"code": 200621, "msg": "parse card json err"}, R, F.CONTENT, "200621"),
    "too many tables": (
        200,
        {"code": 11310, "msg": "card table over limit"},
        R,
        F.CONTENT,
        "11310",
    ),
    "no such card": (200, {"code": 11310, "msg": "cardid is invalid"}, R, F.REFUSED, "11310"),
    "card too large": (200, {"code": 230099, "msg": "over limit"}, R, F.CONTENT, "230099"),
    "app rate": (200, {"code": 99991400, "msg": "request frequency"}, T, F.RATE, "99991400"),
    "app right": (200, {"code": 99991400, "msg": "denied"}, R, F.REFUSED, "99991400"),
    "never seen": (200, {"code": 4711, "msg": "?"}, R, F.REFUSED, "4711"),
    "empty object": (200, {}, U, F.NOT_UNDERSTOOD, "not_understood"),
    "a list": (200, [], U, F.NOT_UNDERSTOOD, "not_understood"),
    "code as text": (200, {"code": "0"}, U, F.NOT_UNDERSTOOD, "not_understood"),
    "code as truth": (200, {"code": False}, U, F.NOT_UNDERSTOOD, "not_understood"),
    "html": (200, "<html>", U, F.NOT_UNDERSTOOD, "not_understood"),
    "empty": (200, "", U, F.NOT_UNDERSTOOD, "not_understood"),
    "deeply nested": (200, "[" * 100_000, U, F.NOT_UNDERSTOOD, "not_understood"),
    "redirect": (302, "", R, F.REFUSED, "http_302"),
    "not found": (404, "<html>", R, F.REFUSED, "http_404"),
    "success with a wrong status": (403, {"code": 0}, R, F.REFUSED, "http_403"),
    "too many": (429, "", T, F.RATE, "http_429"),
    "too many in words": (429, {"code": 0}, T, F.RATE, "http_429"),
    "server fault": (502, "<html>bad gateway", T, F.SERVER, "http_502"),
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


@pytest.mark.parametrize(
    "headers",
    [
        {"retry-after": "soon", "date": "today"},
        {"date": ""},
        {"date": "Sat, 01 Mar 99999999999999999999 08:00:00 GMT"},
        {"date": "Sat, 01 Mar 2025 08:00:00 +99999999999999"},
    ],
)
def test_headers_that_make_no_sense_are_ignored(headers: dict[str, str]) -> None:
    reply = read(503, headers, b"")
    assert (reply.retry_after, reply.server_time) == (None, None)


def test_bytes_that_are_no_text() -> None:
    assert read(200, {}, b"\xff\xfe\x00").outcome is U
