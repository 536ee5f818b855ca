"""Wake, read, decide, append. Called by the bus and by the keeper of deadlines."""

from __future__ import annotations

from muster.bus import Trigger
from muster.contracts import subjects
from muster.contracts.alarms import Alarm
from muster.domain.deadlines import passed
from muster.domain.edges import Owner
from muster.domain.pools import PoolSummary, RoundDecided
from muster.domain.reasons import Reason, ReasonCode
from muster.domain.state import DeadlineKind, JobState
from muster.log import Recorded
from muster.requeue.core.decide import Round, may_be_over, on_deadline, on_release
from muster.runtime.deadlines import Deadlines
from muster.runtime.journal import Journal
from muster.runtime.together import Together, one_by_one


class Handlers:
    """Everything requeue reacts to."""

    def __init__(self, journal: Journal, together: Together = one_by_one) -> None:
        self._journal = journal
        self._rounds: dict[str, Round] = {}
        self._said: dict[str, tuple[Round, PoolSummary | None]] = {}
        self.deadlines = Deadlines(
            Owner.REQUEUE, journal.log, journal.clock, self.on_time, together
        )

    async def on_job(self, trigger: Trigger) -> None:
        """A job was released, or its queue clock may be another one now."""
        assert trigger.event is not None
        state: JobState = trigger.event.data.job
        await self.after_release(state.tenant, state.job, at_least=trigger.seq)

    async def after_release(self, tenant: str, job: str, at_least: int = 0) -> None:
        """Decide about a job if it is interrupted; keep its deadlines."""
        last = await self._journal.advance(
            tenant, job, lambda last, now: on_release(last.job), at_least=at_least
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
        if recorded is None or not may_be_over(recorded.job, self._journal.clock.now()):
            return  # it rang early, late, again, or for what has changed since
        last = await self._round_after(recorded)
        why = await self._why_it_waits(recorded.job, last)
        await self._journal.advance(
            alarm.tenant,
            alarm.job,
            lambda job, now: on_deadline(job.job, job.seq, now, last, why),
            known=recorded,
        )

    async def _round_after(self, recorded: Recorded) -> Round | None:
        """Return the pool's last round; one that was enough for this job stays enough."""
        pool, now = recorded.job.pool, self._journal.clock.now()
        known = self._rounds.get(pool)
        if known and on_deadline(recorded.job, recorded.seq, now, known):
            return known
        found = await self._journal.log.last(subjects.pool_key(pool, "decided"), leader=True)
        if found is not None:
            detail: RoundDecided = found.event.data.detail
            self._rounds[pool] = Round(at=detail.at, upto=detail.upto)
        return self._rounds.get(pool)

    async def _why_it_waits(self, job: JobState, ran: Round | None) -> Reason | None:
        """Return what the scheduler said of a job whose time is over, if it named it.

        Read once for a round: many may be over at once.
        """
        if ran is None or not passed(job, DeadlineKind.QUEUE, self._journal.clock.now()):
            return None
        if job.pool not in self._said or self._said[job.pool][0] != ran:
            found = await self._journal.log.last(subjects.pool_key(job.pool, "summary"))
            self._said[job.pool] = (ran, found.event.data.detail if found else None)
        summary = self._said[job.pool][1]
        told = summary.place_of(job.tenant, job.job) if summary else None
        return Reason(code=ReasonCode.WAITING, en=told.en, zh=told.zh) if told else None
