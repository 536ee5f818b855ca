"""Whether the gateway can do its work: each check tries the thing itself and says what is wrong.

Called by the host through `Service.ready` and by `/readyz`. Lack of news is never a yes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from muster.bus import Bus, topology
from muster.domain.errors import MusterError, Temporary
from muster.gateway.follow import Follow
from muster.gateway.store.writing import probe
from muster.log import EventLog
from muster.runtime.clock import Clock
from muster.runtime.database import Database


class NotReady(Temporary):
    """Something that the gateway needs is missing; the message names it."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was tried. wrong: what is the matter, None = nothing."""

    name: str
    wrong: str | None = None


@dataclass(frozen=True, slots=True)
class _Owed:
    """An end of the log that the view must reach, and since when (monotonic seconds)."""

    end: int
    since: float


class Readiness:
    """lag: seconds within which the view must reach what was once the log's end."""

    def __init__(
        self, log: EventLog, bus: Bus, database: Database, follow: Follow, clock: Clock, lag: float
    ) -> None:
        self._log, self._bus, self._database = log, bus, database
        self._follow, self._clock, self._lag = follow, clock, lag
        self._owed: _Owed | None = None

    @property
    def caught_up(self) -> bool:
        """Whether the view has reached the log's end once."""
        return self._follow.caught_up

    def now(self) -> datetime:
        """Return the time."""
        return self._clock.now()

    async def end(self) -> int:
        """Return the log's last sequence."""
        return await self._log.end()

    @property
    def checks(self) -> Sequence[tuple[str, Callable[[], Awaitable[None]]]]:
        """Name and trial of each check; a trial raises with the reason."""
        return (("view", self._view), ("archive", self._archive), ("consumer", self._consumer))

    async def look(self) -> list[Check]:
        """Try everything."""
        return [await tried(name, trial) for name, trial in self.checks]

    async def ready(self) -> None:
        """Raise NotReady naming everything that is wrong."""
        wrong = [f"{check.name}: {check.wrong}" for check in await self.look() if check.wrong]
        if wrong:
            raise NotReady("; ".join(wrong))

    async def _view(self) -> None:
        """The log answers, and the view reaches in time what was its end."""
        end, position = await self._log.end(), self._follow.view.position
        if not self._follow.caught_up:
            raise NotReady(f"still reading the log: {position} of {end}")
        if end < position:
            raise NotReady(f"the log ends at {end}, but {position} was read: it was replaced")
        now = self._clock.monotonic()
        if self._owed is None or position >= self._owed.end:
            self._owed = _Owed(end, now)
        elif now - self._owed.since > self._lag:
            waited = now - self._owed.since
            raise NotReady(f"the view stands at {position} of {end} for {waited:.0f} s")

    async def _archive(self) -> None:
        await self._database.run(probe)

    async def _consumer(self) -> None:
        await self._bus.waiting(topology.GATEWAY_ARCHIVE)


async def tried(name: str, trial: Callable[[], Awaitable[None]]) -> Check:
    """Try one thing."""
    try:
        await trial()
    except MusterError as error:
        return Check(name, str(error))
    return Check(name)
