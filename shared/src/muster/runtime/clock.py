"""Where the time comes from: the log server's clock, carried on by a monotonic one.

A service's wall clock may be wrong by hours and the server's may be moved; deadlines must not care.
`ServerClock` asks the server for its time, and the log for what to take off (`discipline`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

import structlog

from muster.contracts import subjects
from muster.contracts.events import pool_event
from muster.domain.clock import CLOCK_OWNERS, ClockSet
from muster.domain.edges import Owner
from muster.domain.errors import Conflict
from muster.log import Basis, EventLog
from muster.runtime.discipline import STEP_S, Agreed, Discipline
from muster.runtime.ids import Ids, new_id

TRIES = 5


class Clock(Protocol):
    """now: an aware UTC instant. monotonic: seconds that never step."""

    def now(self) -> datetime:
        """Return the present instant."""
        ...

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start."""
        ...

    def on_server(self, instant: datetime) -> datetime:
        """Return what the server's own clock shows at an instant, as far as is known."""
        ...

    def of_server(self, instant: datetime) -> datetime:
        """Return the instant at which the server's clock shows this, as far as is known."""
        ...


def ticks() -> float:
    """Return seconds that never step, and go on while the machine sleeps where it can tell."""
    return time.clock_gettime(_MONOTONIC)


_MONOTONIC = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class ServerClock:
    """Muster's time. Call `synchronise` once before use and then every some seconds."""

    def __init__(
        self,
        log: EventLog,
        owner: Owner,
        *,
        monotonic: Callable[[], float] = ticks,
        ids: Ids = new_id,
    ) -> None:
        self._log, self._owner, self._monotonic, self._ids = log, owner, monotonic, ids
        self._discipline = Discipline()

    async def synchronise(self) -> None:
        """Ask log and server; agree on a step of the server's clock with the other services."""
        leader = False
        for _ in range(TRIES):
            agreed = await self._agreed(leader=leader)
            told, when, slack = await self._ask()
            wanted = self._discipline.hear(told, when, agreed, slack)
            if wanted is None:
                self._say_followed()
                return
            if self._owner not in CLOCK_OWNERS:
                return  # one of those who may will say so
            leader = True
            await self._propose(wanted, when, agreed)

    async def _agreed(self, *, leader: bool) -> Agreed:
        """Read before the server is asked, so that no agreed step can be later than its answer."""
        known = self._discipline.seq
        found = await self._log.last(subjects.CLOCK, known, leader=leader)
        return Agreed(found.head, found.event.data.detail) if found else Agreed()

    async def _ask(self) -> tuple[datetime, float, float]:
        """The answer counts for the middle of the round trip, and may be off by half of it."""
        before = self._monotonic()
        told = await self._log.now()
        after = self._monotonic()
        return told, (before + after) / 2, (after - before) / 2

    async def _propose(self, wanted: ClockSet, when: float, agreed: Agreed) -> None:
        event = pool_event(
            subjects.THE_LOG,
            wanted,
            event_id=self._ids(),
            source=f"muster/{self._owner}",
            at=self._discipline.at(when),
            kind="cluster",
        )
        try:
            await self._log.append(event, Basis(subjects.CLOCK, agreed.seq))
        except Conflict:
            return  # somebody else was first: read what it said
        structlog.get_logger().warning(
            "server clock stepped", seconds=wanted.stepped, offset=wanted.offset
        )

    def _say_followed(self) -> None:
        moved = self._discipline.followed
        if abs(moved) > STEP_S:
            structlog.get_logger().warning("time corrected", seconds=round(moved, 3))

    def now(self) -> datetime:
        """Return the present time, as well as it is known here."""
        return self._discipline.at(self._monotonic())

    def monotonic(self) -> float:
        """Return the machine's monotonic clock."""
        return self._monotonic()

    def on_server(self, instant: datetime) -> datetime:
        """See Clock."""
        return instant + timedelta(seconds=self._discipline.offset)

    def of_server(self, instant: datetime) -> datetime:
        """See Clock."""
        return instant - timedelta(seconds=self._discipline.offset_at(instant))
