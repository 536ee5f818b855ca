"""The server's time between two askings: what one's own appends are dated with.

An acknowledgement has a sequence and no time; asking for each would double every write. Off by a
round trip at most; nothing is decided by it. Called by the adapter of the log.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

REFRESH_S = 60.0


class EstimatedClock:
    """Asks once a minute and counts on from there."""

    def __init__(self, ask: Callable[[], Awaitable[datetime]]) -> None:
        self._ask = ask
        self._told: datetime | None = None
        self._when = 0.0

    async def now(self) -> datetime:
        """Return the server's time as far as it is known."""
        elapsed = time.monotonic() - self._when
        if self._told is None or elapsed > REFRESH_S:
            before = time.monotonic()
            self._told = await self._ask()
            self._when = (before + time.monotonic()) / 2
            elapsed = time.monotonic() - self._when
        return self._told + timedelta(seconds=elapsed)
