"""Reads the reply of a Feishu custom bot. Pure.

The bot refuses with HTTP 200, so the status alone says nothing: success is the receiver's own code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

from muster.notifier.core.delivery import Delivery, Fault

_CODES = {
    11232: Fault.RATE,
    2200: Fault.SERVER,
    9499: Fault.CONTENT,
    11246: Fault.CONTENT,
    200621: Fault.CONTENT,
    230099: Fault.CONTENT,
    19001: Fault.ADDRESS,
    19002: Fault.PARAMETER,
    19007: Fault.DISABLED,
    19021: Fault.SIGNATURE,
    19022: Fault.IP,
    19024: Fault.KEYWORD,
}
_AMBIGUOUS = {9499: "too many", 99991400: "frequency", 11310: "card table"}
"""Codes that mean a limit of the rate, or of the content, only with these words beside them."""


def read(status: int, headers: Mapping[str, str], body: bytes) -> Delivery:
    """Turn status, headers (lower-case names) and body into what it means."""
    wait = seconds(headers.get("retry-after"))
    when = moment(headers.get("date"))
    if status in {408, 429} or status >= 500:
        fault = Fault.RATE if status == 429 else Fault.SERVER
        return Delivery(fault, f"http_{status}", "", wait, when)
    told = _object(body)
    code, text = _code(told), _message(told)
    if code is not None and code != 0:
        return Delivery(_judge(code, text), str(code), text, wait, when)
    if not 200 <= status < 300:
        return Delivery(Fault.REFUSED, f"http_{status}", text, server_time=when)
    if code == 0:
        return Delivery(Fault.NONE, "0", text, server_time=when)
    return Delivery(Fault.NOT_UNDERSTOOD, "not_understood", text, server_time=when)


def _judge(code: int, text: str) -> Fault:
    meant = _AMBIGUOUS.get(code)
    if meant is not None and meant in text.lower():
        return Fault.CONTENT if code == 11310 else Fault.RATE
    return _CODES.get(code, Fault.REFUSED)


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


def seconds(value: str | None) -> float | None:
    """Return the seconds of a `Retry-After`; None for a date or nonsense."""
    return float(value) if value is not None and value.isascii() and value.isdigit() else None


def moment(value: str | None) -> datetime | None:
    """Return the instant of a `Date`; None for nonsense."""
    if value is None:
        return None
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else None
