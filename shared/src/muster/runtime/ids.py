"""Identifiers: ordered by time, unique without talking to anybody. Injected, so runs can repeat."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

Ids = Callable[[], str]
"""Returns a new identifier at each call; a valid subject token."""


def new_id() -> str:
    """Return 32 hex digits: 48 bits of milliseconds, then 80 random bits (UUIDv7's order)."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"
