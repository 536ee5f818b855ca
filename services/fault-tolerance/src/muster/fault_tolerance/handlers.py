"""Wake on a failure, wait for those that fail with it, gather what is known, decide, append.

Waiting is never sleeping: the state has the instants (`settle`, `verdict`) and an alarm wakes us.
Whatever cannot be asked, a job is decided about before its time for a verdict is over.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from muster.bus import Trigger
from muster.contracts import subjects
from muster.contracts.alarms import Alarm
from muster.domain.edges import Owner
from muster.domain.errors import Temporary
from muster.domain.facts import Fact
from muster.domain.phases import Phase
from muster.domain.state import DeadlineKind, JobState
from muster.fault_tolerance.core.ranking import has_ended
from muster.fault_tolerance.core.verdict import undecided
from muster.fault_tolerance.judging.judging import Decide, Judging
from muster.log import Recorded
from muster.runtime.deadlines import Deadlines
from muster.runtime.journal import Journal

_EVIDENCE = ("workers_failed", "hung")
ALONE = timedelta(seconds=15)
"""So long before the time for a verdict is over, it is decided by the event alone."""
AGAIN_S = 5.0
HEARD = timedelta(seconds=15)
"""So long an alarm is left to whoever hears it; then it is held to be lost."""


class Handlers:
    """Everything fault tolerance reacts to."""

    def __init__(self, journal: Journal, judging: Judging) -> None:
        self._journal, self._judging = journal, judging
        self.deadlines = Deadlines(Owner.FAULT_TOLERANCE, journal.log, journal.clock, self.on_time)

    async def on_job(self, trigger: Trigger) -> None:
        """A job's workers failed, or it hangs."""
        assert trigger.event is not None
        state: JobState = trigger.event.data.job
        await self._judge(state.tenant, state.job, trigger.seq)

    async def on_alarm(self, trigger: Trigger) -> None:
        """An alarm rang; the state says whether it still counts."""
        assert trigger.alarm is not None
        await self._judge(trigger.alarm.tenant, trigger.alarm.job)

    async def on_time(self, alarm: Alarm) -> None:
        """The others have had their time, or the time for a verdict may be over.

        Who cannot be decided about yet comes again by itself, and holds up nobody else. An alarm
        that just rings is the business of whoever hears it: judging takes a moment.
        """
        heard = alarm.kind is DeadlineKind.SETTLE and self._journal.clock.now() < alarm.at + HEARD
        if heard:
            return
        with suppress(Temporary):
            await self._judge(alarm.tenant, alarm.job)

    async def _judge(self, tenant: str, job: str, at_least: int = 0) -> None:
        last = await self._journal.job(tenant, job, at_least)
        if last is None or last.job.phase is not Phase.FAULTED:
            return
        decide = await self._decision(last.job)
        if decide is None:
            await self.deadlines.keep(last.job)
            return
        after = await self._journal.advance(
            tenant, job, lambda now_last, now: decide(now_last.job, now), last.seq
        )
        if after is not None:
            await self.deadlines.keep(after.job)

    async def _decision(self, state: JobState) -> Decide | None:
        """Return how to decide; None while others may still fail of the same cause."""
        fact = await self._fact(state)
        if fact is None:
            return undecided
        if await self._waits(state):
            return None
        found = await self._judging.evidence(state)
        if found is None and self._journal.clock.now() < _alone_from(state):
            await self.deadlines.keep(state)
            raise Temporary(f"nobody tells how {state.job} failed", delay=AGAIN_S)
        return await self._judging.verdict(state, fact, found)

    async def _waits(self, state: JobState) -> bool:
        """Tell whether a worker still runs that may fail of the same cause."""
        settled = state.due(DeadlineKind.SETTLE)
        if settled is None or self._journal.clock.now() >= settled:
            return False
        found = await self._judging.ends(state)
        return found is not None and any(not has_ended(worker) for worker in found.workers)

    async def _fact(self, state: JobState) -> Fact | None:
        """Return the newest fact that made the job faulted."""
        key = subjects.job_key(state.tenant, state.job)
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


def _alone_from(state: JobState) -> datetime:
    due = state.due(DeadlineKind.VERDICT)
    return due - ALONE if due is not None else state.since
