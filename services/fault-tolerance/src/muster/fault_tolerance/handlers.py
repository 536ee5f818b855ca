"""Wake on a failure, gather the evidence, decide, append."""

from __future__ import annotations

from muster.bus import Trigger
from muster.contracts import subjects
from muster.contracts.alarms import Alarm
from muster.domain.edges import Owner
from muster.domain.facts import Fact
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.fault_tolerance.core.verdict import by_event
from muster.log import Recorded
from muster.runtime.deadlines import Deadlines
from muster.runtime.journal import Journal

_EVIDENCE = ("workers_failed", "hung")


class Handlers:
    """Everything fault tolerance reacts to."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.deadlines = Deadlines(Owner.FAULT_TOLERANCE, journal.log, journal.clock, self.on_time)

    async def on_job(self, trigger: Trigger) -> None:
        """A job's workers failed, or it hangs."""
        assert trigger.event is not None
        state: JobState = trigger.event.data.job
        await self._judge(state.tenant, state.job, trigger.seq)

    async def on_alarm(self, trigger: Trigger) -> None:
        """An alarm rang; the state says whether it still counts."""
        assert trigger.alarm is not None
        await self.on_time(trigger.alarm)

    async def on_time(self, alarm: Alarm) -> None:
        """The time for a verdict on this job may be over."""
        await self._judge(alarm.tenant, alarm.job)

    async def _judge(self, tenant: str, job: str, at_least: int = 0) -> None:
        last = await self._journal.job(tenant, job, at_least)
        if last is None or last.job.phase is not Phase.FAULTED:
            return
        evidence = await self._evidence(tenant, job)
        after = await self._journal.advance(
            tenant, job, lambda now_last, now: by_event(now_last.job, evidence, now), last.seq
        )
        if after is not None:
            await self.deadlines.keep(after.job)

    async def _evidence(self, tenant: str, job: str) -> Fact | None:
        """Return the newest fact that made the job faulted."""
        key = subjects.job_key(tenant, job)
        found: list[Recorded] = []
        for event in _EVIDENCE:
            alone = subjects.Key(key.subject(event), whole=False)
            recorded = await self._journal.log.last(alone, leader=True)
            if recorded is not None:
                found.append(recorded)
        if not found:
            return None
        detail = max(found, key=lambda recorded: recorded.seq).event.data.detail
        assert isinstance(detail, Fact)
        return detail
