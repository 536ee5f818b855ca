"""Whether the server's clock has stepped, judged by a monotonic one; what time it is nevertheless.

Pure: readings in, an instant or a proposal out. Muster's time is the server's clock less an offset
that all services agree on in the log, so that an hour stays an hour when that clock is moved, or
when another server with another clock leads. Called by `clock` and by the simulated clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from muster.domain.clock import ClockSet

STEP_S = 5.0
"""A clock that is off by more than this from one reading to the next was moved; less is drift."""
LARGEST_S = 86_400.0
"""A clock moved by more than a day was never right: it is followed."""
WITNESS_S = 60.0
"""Who watched the clock so long before a step that somebody else claims may contradict it."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """What the log says: the last fact and its sequence, 0 and None while there is none."""

    seq: int = 0
    fact: ClockSet | None = None

    def offset_at(self, server: datetime) -> float:
        """Return by how much the server's clock is ahead when it shows an instant."""
        return self.fact.offset_at(server) if self.fact else 0.0


class Discipline:
    """One process's knowledge of the time. Use `hear` before `at`."""

    def __init__(self) -> None:
        self._anchor: tuple[datetime, float] | None = None
        self._slack = 0.0
        self._born = 0.0
        self._agreed = Agreed()
        self.seq = 0
        self.offset = 0.0
        self.followed = 0.0

    def at(self, ticks: float) -> datetime:
        """Return Muster's time at a moment of the monotonic clock."""
        if self._anchor is None:
            raise RuntimeError("the clock was never synchronised")
        time, when = self._anchor
        return time + timedelta(seconds=ticks - when)

    def offset_at(self, server: datetime) -> float:
        """Return what the offset was or will be when the server's clock shows an instant."""
        return self._agreed.offset_at(server)

    def hear(
        self, told: datetime, ticks: float, agreed: Agreed, slack: float = 0.0
    ) -> ClockSet | None:
        """Take in what the server's clock showed at `ticks`, read after `agreed` was.

        slack: by how much the reading may be off, since the answer was so long on its way. Returns
        what should be agreed instead, if it is not as agreed; nothing has changed then. `followed`
        says by how much `at` has moved, if the reading was taken as it is.
        """
        offset = agreed.offset_at(told)
        time = told - timedelta(seconds=offset)
        moved = (time - self.at(ticks)).total_seconds() if self._anchor else 0.0
        news, self.seq = agreed.seq != self.seq, agreed.seq
        drift = abs(moved) <= STEP_S + slack + self._slack
        if not self._anchor:
            self._born = ticks
        elif not drift and self._doubts(moved, told, ticks, agreed, news=news):
            return ClockSet(
                offset=round(offset + moved, 3),
                at=told,
                stepped=round(moved, 3),
                within=round(ticks - self._anchor[1], 3),
            )
        if self._anchor and drift and slack > self._slack + STEP_S / 10:
            moved = 0.0  # what is known is better than what was heard
        else:
            self._anchor, self._slack = (time, ticks), slack
        self._agreed, self.offset, self.followed = agreed, offset, moved
        return None

    def _doubts(
        self, moved: float, told: datetime, ticks: float, agreed: Agreed, *, news: bool
    ) -> bool:
        if abs(moved + agreed.offset_at(told)) > LARGEST_S:
            return False
        # Somebody else has said so. A machine that slept for an hour believes that the clock was
        # moved by an hour: who was awake all the time knows better, who came later does not.
        return not news or (moved < 0 and self._watched(told, ticks, agreed.fact))

    def _watched(self, told: datetime, ticks: float, fact: ClockSet | None) -> bool:
        """Whether this process had been watching before the earliest moment of the step."""
        ago = fact.within + max(0.0, (told - fact.at).total_seconds()) if fact else 0.0
        return ticks - self._born >= ago + WITNESS_S
