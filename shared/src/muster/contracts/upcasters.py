"""Old versions of events, turned into today's when they are read. The log is never rewritten.

An upcaster takes the JSON object of version n and returns that of version n+1; chains are walked to
the current version. A newer version than this code knows is an error: upgrade first, then replay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

UPCASTERS: dict[str, Upcaster] = {}
"""Old type (`muster.job.scheduled.v1`) -> function to the next version."""

_VERSIONED = re.compile(r"^(muster\.[a-z_.-]+)\.v(\d+)$")


class NoUpcaster(ValueError):
    """The type is unknown here, newer than this code, or has no way to the current version."""


def type_of(body: bytes) -> str | None:
    """Return the `type` of a message, or None when it is not a JSON object that has one."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    found = value.get("type") if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def upcast(body: bytes, current: str) -> bytes:
    """Return the message as the current version. Raises NoUpcaster or ValueError (not JSON)."""
    try:
        value = json.loads(body)
    except RecursionError as error:
        raise NoUpcaster("the message is nested too deep") from error
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise NoUpcaster("the message is not a JSON object with a type")
    while value["type"] != current:
        value = _step(value, current)
    return json.dumps(value).encode()


def _step(value: dict[str, Any], current: str) -> dict[str, Any]:
    found, wanted = _VERSIONED.match(value["type"]), _VERSIONED.match(current)
    if not found or not wanted or found[1] != wanted[1]:
        raise NoUpcaster(f"type {value['type']!r} does not belong here; expected {current}")
    if int(found[2]) > int(wanted[2]):
        raise NoUpcaster(f"type {value['type']} is newer than {current}: upgrade, then replay")
    upcaster = UPCASTERS.get(value["type"])
    if upcaster is None:
        raise NoUpcaster(f"no upcaster from {value['type']} to {current}")
    try:
        return {**upcaster(value), "type": f"{found[1]}.v{int(found[2]) + 1}"}
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise NoUpcaster(f"no {value['type']} inside: {type(error).__name__}") from error
