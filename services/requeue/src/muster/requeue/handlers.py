"""Wake, read, decide, append. Called by the bus and by the keeper of deadlines."""

from __future__ import annotations

from muster.bus import Trigger
from muster.contracts import subjects
from muster.contracts.alarms import Alarm
from muster.domain.edges import Owner
from muster.domain.pools import RoundDecided
from muster.domain.state import JobState
from muster.requeue.core.decide import Round, on_deadline, on_release
from muster.runtime.deadlines import Deadlines
from muster.runtime.journal import Journal


class Handlers:
    """Everything requeue reacts to."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.deadlines = Deadlines(Owner.REQUEUE, journal.log, journal.clock, self.on_time)

    async def on_job(self, trigger: Trigger) -> None:
        """A job was released, or its queue clock may be another one now."""
        assert trigger.event is not None
        state: JobState = trigger.event.data.job
        last = await self._journal.advance(
            state.tenant, state.job, lambda last, now: on_release(last.job), at_least=trigger.seq
        )
        if last is not None:
            await self.deadlines.keep(last.job)

    async def on_alarm(self, trigger: Trigger) -> None:
        """An alarm rang; the state says whether it still counts."""
        assert trigger.alarm is not None
        await self.on_time(trigger.alarm)

    async def on_time(self, alarm: Alarm) -> None:
        """A queue clock of this job may be over."""
        recorded = await self._journal.job(alarm.tenant, alarm.job)
        if recorded is None:
            return
        last = await self._last_round(recorded.job.pool)
        await self._journal.advance(
            alarm.tenant,
            alarm.job,
            lambda job, now: on_deadline(job.job, job.seq, now, last),
        )

    async def _last_round(self, pool: str) -> Round | None:
        recorded = await self._journal.log.last(subjects.pool_key(pool, "decided"), leader=True)
        if recorded is None:
            return None
        detail: RoundDecided = recorded.event.data.detail
        return Round(at=detail.at, upto=detail.upto)
