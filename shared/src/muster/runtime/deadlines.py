"""The keeper of a service's deadlines: alarms on the bus, and an index that does not trust them.

An append and the setting of its alarm are not one act, and an alarm may be lost. So the owner of
each deadline reads the log in order, keeps what is due when (`deadline_index`), sets the alarm that
is missing, and fires by itself whatever is over. It asks its clock alone, which goes on evenly
while the server's is moved; what comes of a firing is decided by the state.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from functools import partial

from muster.contracts import subjects
from muster.contracts.alarms import Alarm
from muster.domain.deadlines import armed
from muster.domain.edges import Owner
from muster.domain.state import DeadlineKind, JobState
from muster.log import EventLog, Follower, Recorded
from muster.runtime.clock import Clock
from muster.runtime.deadline_index import DeadlineIndex, Kept
from muster.runtime.together import Together, one_by_one

SETS_A_TURN = 1000
"""So many alarms are set in one turn, the nearest first: a restart does not flood the server."""
FIRES_AT_ONCE = 256
"""After so many firings the log is read again: some of the next may be settled by then."""
TURN_S = 5.0
"""A turn ends after so long, whatever is left for the next."""

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


class Deadlines:
    """One per service that owns deadlines. `step` is a loop's turn; `keep` is for handlers.

    together: does several things at the same time, as far as the process may.
    """

    def __init__(
        self,
        owner: Owner,
        log: EventLog,
        clock: Clock,
        fire: Fire,
        together: Together = one_by_one,
    ) -> None:
        self._owner, self._log, self._clock = owner, log, clock
        self._fire, self._together = fire, together
        self._follower: Follower | None = None
        self._index = DeadlineIndex()
        self._early: dict[str, dict[DeadlineKind, datetime]] = {}

    def __len__(self) -> int:
        """Return how many deadlines are kept."""
        return len(self._index)

    async def keep(self, state: JobState) -> None:
        """Set the alarms of a state that has just been seen or written.

        Not those that are over: they would ring at once, and again for as long as they stand. What
        still has to be done about them comes from the index.
        """
        now = self._clock.now()
        for alarm in alarms_of(state, self._owner):
            if alarm.at > now and not self._is_set(alarm):
                await self._set(alarm)

    def _is_set(self, alarm: Alarm) -> bool:
        if self._early.get(alarm.job, {}).get(alarm.kind) == alarm.at:
            return True
        return self._index.is_set(alarm.job, alarm.kind, alarm.at)

    async def step(self) -> None:
        """Read what is new, fire what is over, set what is missing."""
        end = self._clock.monotonic() + TURN_S
        await self._read()
        while due := self._index.take_due(*self._moment(), FIRES_AT_ONCE):
            await self._together([partial(self._fire, self._alarm(kept)) for kept in due])
            if self._clock.monotonic() >= end:
                return
            await self._read()
        missing = self._index.take_missing(*self._moment(), SETS_A_TURN)
        await self._together([partial(self._set, self._alarm(kept)) for kept in missing])

    def _moment(self) -> tuple[datetime, float]:
        return self._clock.now(), self._clock.monotonic()

    def _alarm(self, kept: Kept) -> Alarm:
        return Alarm(
            owner=self._owner,
            kind=kept.kind,
            tenant=kept.tenant,
            job=kept.job,
            version=kept.version,
            at=kept.at,
        )

    async def _set(self, alarm: Alarm) -> None:
        by_server = self._clock.on_server(alarm.at)
        if by_server != alarm.at:
            alarm = alarm.model_copy(update={"by_server": by_server})
        await self._log.timer(alarm)
        if not self._index.note_set(alarm.job, alarm.kind, alarm.at, *self._moment()):
            # a handler was faster than the reading of the log
            self._early.setdefault(alarm.job, {})[alarm.kind] = alarm.at

    async def _read(self) -> None:
        if self._follower is None:
            self._follower = await self._log.follow((subjects.ALL_JOBS,))
        before = {job: dict(kinds) for job, kinds in self._early.items()}
        while page := await self._follower.next():
            self._note(page)
        # What was early when this reading began and is so still was late: the job has gone on
        # already. At worst an alarm is set once more.
        for job, kinds in before.items():
            if self._early.get(job) == kinds:
                del self._early[job]

    def _note(self, page: Sequence[object]) -> None:
        now, ticks = self._moment()
        for item in page:
            if isinstance(item, Recorded):
                state = item.job
                self._index.note(state, tuple(armed(state, self._owner)), now, ticks)
                for kind, at in self._early.pop(state.job, {}).items():
                    self._index.note_set(state.job, kind, at, now, ticks)
