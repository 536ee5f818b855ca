"""The keeper of a service's deadlines: alarms on the bus, and an index that does not trust them.

An append and the setting of its alarm are not one act, and an alarm may be lost. So the owner of
each deadline reads the log in order, keeps what is due when, sets the alarm that is missing, and
fires by itself whatever is over - by the server's clock or by the monotonic one, whichever says so
first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from muster.contracts import subjects
from muster.contracts.alarms import Alarm
from muster.domain.deadlines import armed
from muster.domain.edges import Owner
from muster.domain.state import JobState
from muster.log import EventLog, Follower, Recorded
from muster.runtime.clock import Clock

REARM_S = 60.0
"""A deadline still in the index after so long has its alarm set (again)."""
LATE_S = 1.0
"""The index leaves the alarm this much time before it fires by itself."""

REFIRE_S = 2.0
"""What was fired and still stands, since its owner waits for more, is fired again after this."""

Fire = Callable[[Alarm], Awaitable[None]]


def alarms_of(state: JobState, owner: Owner) -> Iterator[Alarm]:
    """Yield the alarms that a state wants from an owner."""
    for kind, at in armed(state, owner):
        yield Alarm(
            owner=owner,
            kind=kind,
            tenant=state.tenant,
            job=state.job,
            version=state.version,
            at=at,
        )


@dataclass(slots=True)
class _Kept:
    alarm: Alarm
    anchor: float
    set_at: float | None = None
    quiet_until: float = 0.0


class Deadlines:
    """One per service that owns deadlines. `step` is a loop's turn; `keep` is for handlers."""

    def __init__(self, owner: Owner, log: EventLog, clock: Clock, fire: Fire) -> None:
        self._owner, self._log, self._clock, self._fire = owner, log, clock, fire
        self._follower: Follower | None = None
        self._index: dict[str, dict[str, _Kept]] = {}

    async def keep(self, state: JobState) -> None:
        """Set the alarms of a state that has just been seen or written.

        Not those that are over: they would ring at once, and again for as long as they stand. What
        still has to be done about them comes from the index, every REFIRE_S.
        """
        now = self._clock.now()
        for alarm in alarms_of(state, self._owner):
            if alarm.at > now and not self._is_set(alarm):
                await self._set(alarm)

    async def step(self) -> None:
        """Read what is new, set what is missing, fire what is over."""
        await self._read()
        now, ticks = self._clock.now(), self._clock.monotonic()
        for kept in [kept for kinds in self._index.values() for kept in kinds.values()]:
            if self._over(kept, now, ticks):
                kept.quiet_until = ticks + REFIRE_S
                await self._fire(kept.alarm)
            elif kept.set_at is None or ticks - kept.set_at > REARM_S:
                await self._set(kept.alarm)

    async def _set(self, alarm: Alarm) -> None:
        await self._log.timer(alarm)
        kept = self._kept(alarm)
        if kept is not None:
            kept.set_at = self._clock.monotonic()

    def _is_set(self, alarm: Alarm) -> bool:
        kept = self._kept(alarm)
        return kept is not None and kept.set_at is not None

    def _kept(self, alarm: Alarm) -> _Kept | None:
        """Return what the index has of this very deadline, if its reading has come so far."""
        kept = self._index.get(alarm.job, {}).get(alarm.kind)
        return kept if kept is not None and kept.alarm.at == alarm.at else None

    def _over(self, kept: _Kept, now: datetime, ticks: float) -> bool:
        if ticks < kept.quiet_until:
            return False
        late = (now - kept.alarm.at).total_seconds()
        return late >= LATE_S or ticks >= kept.anchor + LATE_S

    async def _read(self) -> None:
        if self._follower is None:
            self._follower = await self._log.follow((subjects.ALL_JOBS,))
        while page := await self._follower.next():
            for item in page:
                if isinstance(item, Recorded):
                    self._note(item.job)

    def _note(self, state: JobState) -> None:
        now, ticks = self._clock.now(), self._clock.monotonic()
        before = self._index.pop(state.job, {})
        kinds: dict[str, _Kept] = {}
        for alarm in alarms_of(state, self._owner):
            old = before.get(alarm.kind)
            same = old is not None and old.alarm.at == alarm.at
            anchor = ticks + (alarm.at - now).total_seconds()
            kinds[alarm.kind] = _Kept(
                alarm,
                old.anchor if same and old else anchor,
                old.set_at if same and old else None,
            )
        if kinds:
            self._index[state.job] = kinds
