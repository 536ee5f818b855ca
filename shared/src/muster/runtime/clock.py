"""Where the time comes from: the log server's clock, carried on by a monotonic one.

A service's wall clock may step or be wrong by hours; deadlines must not care. `ServerClock` asks
the server for its time, adds what the monotonic clock has counted since, and asks again.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Protocol

import structlog

STEP_S = 5.0
"""A difference larger than this between two readings is a step of the server's clock: logged."""


class Clock(Protocol):
    """now: an aware UTC instant. monotonic: seconds that never step."""

    def now(self) -> datetime:
        """Return the present instant."""
        ...

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start."""
        ...


class ServerClock:
    """The server's time. Call `synchronise` once before use and then every minute or so."""

    def __init__(self, ask: Callable[[], Awaitable[datetime]]) -> None:
        self._ask = ask
        self._anchor: tuple[datetime, float] | None = None

    async def synchronise(self) -> None:
        """Ask the server; the answer counts for the middle of the round trip."""
        before = time.monotonic()
        told = await self._ask()
        middle = (before + time.monotonic()) / 2
        if self._anchor is not None:
            step = (told - self._at(middle)).total_seconds()
            if abs(step) > STEP_S:
                structlog.get_logger().warning("server clock stepped", seconds=round(step, 3))
        self._anchor = (told, middle)

    def _at(self, monotonic: float) -> datetime:
        if self._anchor is None:
            raise RuntimeError("the clock was never synchronised")
        told, when = self._anchor
        return told + timedelta(seconds=monotonic - when)

    def now(self) -> datetime:
        """Return the server's present time, as well as it is known here."""
        return self._at(time.monotonic())

    def monotonic(self) -> float:
        """Return the machine's monotonic clock."""
        return time.monotonic()
