"""What the bot can say: its codes, and every way in which a line or a server goes wrong. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

SUCCESS: Final = "success"
TEXTS: Final[Mapping[int, str]] = {
    0: SUCCESS,
    2200: "internal error",
    9499: "Bad Request",
    11232: "frequency limited psm[lark.oapi.app_platform_runtime]appID[1500]",
    11246: "path: message->card; err_msg: invalid at user; err_type: validation;",
    19001: "param invalid: incoming webhook access token invalid",
    19002: "param invalid: msg_type or its content",
    19007: "Bot Not Enabled",
    19021: "sign match fail or timestamp is not within one hour from current time",
    19022: "Ip Not Allowed",
    19024: "Key Words Not Found",
    200621: "parse card json err, please check whether the card json is correct",
    230099: "Failed to create card content: element exceeds the limit",
}
_JSON: Final = "application/json; charset=utf-8"
_HTML: Final = b"<html><body><h1>Please sign in</h1></body></html>"


@dataclass(frozen=True, slots=True)
class Answer:
    """wait_s: before it is sent; None never sends it. cut: the connection is reset instead."""

    body: bytes = b""
    status: int = 200
    type: str = _JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_s: float | None = 0.0
    cut: bool = False


def told(value: object, status: int = 200) -> Answer:
    """Return a JSON answer."""
    return Answer(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"), status)


def of_code(code: int, text: str | None = None) -> Answer:
    """Return what the bot says with this code: HTTP 200, whatever the code is."""
    said = TEXTS.get(code, "") if text is None else text
    if code:
        return told({"code": code, "msg": said, "data": {}})
    legacy = {"Extra": None, "StatusCode": 0, "StatusMessage": SUCCESS}
    return told({"code": 0, "msg": said, "data": {}, **legacy})


REFUSED: Final[Mapping[str, Answer]] = {
    "old_rate": told({"code": 9499, "msg": "too many request"}, 400),
    "html": Answer(_HTML, type="text/html"),
    "redirect": Answer(b"", 302, "text/html", {"location": "https://127.0.0.1:9/elsewhere"}),
    "http_429": replace(told({"code": 0}, 429), headers={"retry-after": "2"}),
    "http_500": Answer(_HTML, 500, "text/html"),
    "http_503": Answer(_HTML, 503, "text/html"),
    "huge": Answer(b" " * 1_200_000 + b'{"code":0}'),
    "reset": Answer(cut=True),
    **{str(code): of_code(code) for code in TEXTS if code},
}
"""Answers to a message that is not kept: `muster notify sandbox` takes these names as modes."""

KEPT: Final[Mapping[str, Answer]] = {
    "ok": of_code(0),
    "slow": of_code(0),
    "legacy": told({"Extra": None, "StatusCode": 0, "StatusMessage": SUCCESS}),
    "code_as_text": told({"code": "0", "msg": SUCCESS}),
    "broken_json": Answer(b'{"code":0,"msg":"succ'),
    "not_utf8": Answer(b'{"code":0,"msg":"\xff\xfe"'),
    "empty_object": told({}),
    "empty": Answer(),
    "hang": Answer(wait_s=None),
    "reset_after": Answer(cut=True),
}
"""Answers to a message that is kept, if all else about it is right."""

MODES: Final = frozenset(REFUSED) | frozenset(KEPT)
