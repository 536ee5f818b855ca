"""Reads the reply of a Feishu custom bot. Pure.

The bot refuses with HTTP 200, so the status alone says nothing: success is the receiver's own code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum

from muster.notifier.core.delivery import Outcome


class Fault(StrEnum):
    """What a refusal is about, where something other than waiting may help."""

    NONE = "none"
    CONTENT = "content"
    SIGNATURE = "signature"


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply in our terms. `server_time` and `retry_after` (seconds) come from its headers."""

    outcome: Outcome
    code: str
    text: str = ""
    fault: Fault = Fault.NONE
    retry_after: float | None = None
    server_time: datetime | None = None


_RETRY = frozenset({11232, 2200})
_CONTENT = frozenset({9499, 11246, 200621, 230099})
_SIGNATURE = 19021


def read(status: int, headers: Mapping[str, str], body: bytes) -> Reply:
    """Turn status, headers (lower-case names) and body into a Reply."""
    wait = _seconds(headers.get("retry-after"))
    when = _moment(headers.get("date"))
    if status in {408, 429} or status >= 500:
        return Reply(Outcome.RETRY, f"http_{status}", retry_after=wait, server_time=when)
    told = _object(body)
    code = _code(told)
    text = _message(told)
    if code is not None and code != 0:
        outcome, fault = _judge(code, text)
        return Reply(outcome, str(code), text, fault, wait, when)
    if 200 <= status < 300:
        outcome = Outcome.DELIVERED if code == 0 else Outcome.UNKNOWN
        return Reply(outcome, "0" if code == 0 else "not_understood", text, server_time=when)
    return Reply(Outcome.REFUSED, f"http_{status}", text, server_time=when)


def _judge(code: int, text: str) -> tuple[Outcome, Fault]:
    told = text.lower()
    if code in _RETRY or (code == 9499 and "too many" in told):
        return Outcome.RETRY, Fault.NONE
    if code == 99991400 and "frequency" in told:
        return Outcome.RETRY, Fault.NONE
    if code in _CONTENT:
        return Outcome.REFUSED, Fault.CONTENT
    if code == _SIGNATURE:
        return Outcome.REFUSED, Fault.SIGNATURE
    return Outcome.REFUSED, Fault.NONE


def _object(body: bytes) -> Mapping[str, object]:
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _code(told: Mapping[str, object]) -> int | None:
    """Return the receiver's code; `code` wins over the older `StatusCode`."""
    value = told["code"] if "code" in told else told.get("StatusCode")
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _message(told: Mapping[str, object]) -> str:
    value = told.get("msg") or told.get("StatusMessage") or ""
    return value if isinstance(value, str) else ""


def _seconds(value: str | None) -> float | None:
    return float(value) if value is not None and value.isascii() and value.isdigit() else None


def _moment(value: str | None) -> datetime | None:
    if value is None:
        return None
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
