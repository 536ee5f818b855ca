"""The fact by which every service reads the server's clock alike, whatever happens to that clock.

Kept once for the whole log (`clusters.log.clock`). Written by whoever sees the clock step first,
read by everybody (`muster.runtime.discipline`).
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from muster.domain.edges import Owner
from muster.domain.model import Instant
from muster.domain.pools import PoolFact

GIVE_BACK = 1 / 2000
"""An offset shrinks by so much of the time that goes by, as kernels slew a clock: an hour in twelve
weeks, and an entry of an hour is off by two seconds at most."""

CLOCK_OWNERS = frozenset(
    {Owner.ADMISSION, Owner.SCHEDULER, Owner.REQUEUE, Owner.EXECUTOR, Owner.FAULT_TOLERANCE}
)
"""Who may say by how much: those who set deadlines or judge them. The others follow."""


class ClockSet(PoolFact):
    """The server's clock is ahead of Muster's time by an offset, in seconds, negative if behind.

    at: what the server's clock showed then. stepped: by how much it had just been moved, within so
    many seconds before (the writer's monotonic clock since it last heard the server).
    """

    event: ClassVar[str] = "clock"
    offset: float
    at: Instant
    stepped: float
    within: float = 0.0

    def offset_at(self, server: datetime) -> float:
        """Return the offset when the server's clock shows an instant: what is left of it."""
        gone = max(0.0, (server - self.at).total_seconds()) * GIVE_BACK
        left = max(0.0, abs(self.offset) - gone)
        return left if self.offset > 0 else -left
