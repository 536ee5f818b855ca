"""Requeue's own reading of the log: interrupted jobs that nobody has decided about.

`released` wakes requeue, and it decides at once. A message may be lost all the same - a consumer
that was restored, a server that forgot - and an interrupted job has no deadline that would tell. So
whoever stays interrupted is looked at again. Called as a loop of the service.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from muster.bus.topology import AROUND_AN_INTERRUPTION
from muster.domain.errors import MusterError
from muster.domain.phases import Phase
from muster.log import EventLog, Follower, Recorded
from muster.runtime.clock import Clock

LOOK_S = 10.0
PATIENCE_S = 20.0
"""So long may a job be interrupted before it is looked at without being woken."""


@dataclass(frozen=True, slots=True)
class _Interrupted:
    tenant: str
    since: float


class Watch:
    """decide: what `released` would have called for, by tenant and job."""

    def __init__(
        self, log: EventLog, clock: Clock, decide: Callable[[str, str], Awaitable[None]]
    ) -> None:
        self._log, self._clock, self._decide = log, clock, decide
        self._follower: Follower | None = None
        self._interrupted: dict[str, _Interrupted] = {}

    async def step(self) -> None:
        """Read what is new; decide about whoever has waited too long."""
        await self._read()
        now = self._clock.monotonic()
        failed: list[MusterError] = []
        for job, one in list(self._interrupted.items()):
            if now - one.since < PATIENCE_S:
                continue
            try:
                await self._decide(one.tenant, job)
                self._interrupted.pop(job, None)
            except MusterError as error:  # the others are not to wait for this one
                failed.append(error)
        if failed:
            raise failed[0]

    async def _read(self) -> None:
        if self._follower is None:
            self._follower = await self._log.follow(AROUND_AN_INTERRUPTION)
        while page := await self._follower.next():
            for item in page:
                if isinstance(item, Recorded):
                    self._note(item)

    def _note(self, item: Recorded) -> None:
        state = item.job
        if state.phase is Phase.INTERRUPTED:
            self._interrupted[state.job] = _Interrupted(state.tenant, self._clock.monotonic())
        else:
            self._interrupted.pop(state.job, None)
