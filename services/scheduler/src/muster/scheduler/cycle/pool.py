"""One pool's turn: lead or stand by; plan when something is new or due; write one batch.

Decides nothing itself: `core.plan` does. Decides nothing either before the fold has read as far as
the log went when it last mattered (a start, an epoch, a batch, a conflict).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import structlog

from muster.domain.errors import Conflict
from muster.domain.pools import FragmentsMeasured, PoolFact, PoolSummary
from muster.log import UnknownOutcome
from muster.runtime.journal import Journal
from muster.scheduler.core import spot_quota
from muster.scheduler.core.fragments import measure
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy, SpotQuota
from muster.scheduler.core.snapshot import JobKey, Snapshot
from muster.scheduler.core.verdicts import Plan
from muster.scheduler.cycle.batch import MAX_MESSAGES, Batch, build
from muster.scheduler.cycle.fold import PoolFold
from muster.scheduler.cycle.leadership import PATIENCE_GROWS, Leadership
from muster.scheduler.cycle.metrics import Meter, Outcome
from muster.scheduler.cycle.summary import JUDGE_EVERY_S, judged, pause_after, summarise

FRAGMENTS_EVERY_S = 10.0
"""No two measurements of a pool's fragments are nearer than this."""


@dataclass(frozen=True, slots=True)
class Standby:
    """look_s: between two looks of a scheduler that stands by. misses: so many, then it leads."""

    look_s: float = 3.0
    misses: int = 3


class PoolCycle:
    """See the module. position: how far the fold has read."""

    def __init__(
        self,
        fold: PoolFold,
        journal: Journal,
        policy: Policy,
        standby: Standby,
        holder: str,
        position: Callable[[], int],
    ) -> None:
        self._fold, self._journal, self._policy = fold, journal, policy
        self._standby, self._position = standby, position
        self.leadership = Leadership(journal, fold, holder)
        self._meter = Meter(fold.pool)
        self._claims = True
        self._renews = False
        self._target = 0
        self._planned: int | None = None
        self._due_at: datetime | None = None
        self._cursor: JobKey | None = None
        self._limit = MAX_MESSAGES
        self._set_aside: dict[JobKey, int] = {}
        self._look_at = 0.0
        self._made: Plan | None = None
        self._tell_at = 0.0
        self._unmeasured: Plan | None = None
        self._measure_at = 0.0
        self._judge_at: float | None = None
        self._quota_at = 0.0

    def stand_by(self) -> None:
        """Do not claim the pool at the first turn: another scheduler leads it."""
        self._claims = False

    async def turn(self) -> None:
        """Do what is to be done now, at most one round."""
        if self._position() < self._target:
            return
        if self.leadership.superseded:
            self._step_down("another scheduler has taken the epoch")
        if self.leadership.mine is not None:
            await self._lead()
        elif self._claims or self._renews or self._should_take_over():
            await self._take()

    # --- leadership ----------------------------------------------------------------------------

    async def _take(self) -> None:
        seq = await self.leadership.take(again=self._renews)
        self._claims = self._renews = False
        if seq is None:
            self._step_down("another scheduler was faster")
            return
        self._target, self._planned, self._made = seq, None, None
        self._meter.leads(True)
        log = structlog.get_logger()
        log.info("leads the pool", pool=self._fold.pool, epoch=self.leadership.epoch)

    def _step_down(self, why: str) -> None:
        self.leadership.step_down()
        self._meter.leads(False)
        structlog.get_logger().info("stands by", pool=self._fold.pool, why=why)

    def _should_take_over(self) -> bool:
        ticks = self._journal.clock.monotonic()
        if ticks < self._look_at:
            return False
        patience = 1 << min(self.leadership.takeovers, PATIENCE_GROWS)
        self._look_at = ticks + self._standby.look_s * patience
        made = self._plan()
        waits = self._batch(made) is not None
        if self.leadership.missed(work_waits=waits) < self._standby.misses:
            return False
        self.leadership.takeovers += 1
        return True

    # --- a round -------------------------------------------------------------------------------

    async def _lead(self) -> None:
        if self._is_due():
            await self._round()
        if self.leadership.mine is not None:
            await self._tell()
        if self.leadership.mine is not None:
            await self._measure()
        if self.leadership.mine is not None:
            await self._judge()
        if self.leadership.mine is not None and self._policy.spot_quota is not SpotQuota.OFF:
            await self._measure_quota()

    def _is_due(self) -> bool:
        if self._planned != self._fold.version or self._cursor is not None:
            return True
        return self._due_at is not None and self._journal.clock.now() >= self._due_at

    def frozen(self, now: datetime) -> Snapshot:
        """Return what the next round would look at. Changes nothing: anybody may ask."""
        aside = frozenset(
            job
            for job, seq in self._set_aside.items()
            if job in self._fold.jobs and self._fold.jobs[job].seq == seq
        )
        return self._fold.snapshot(now, self._position(), self._cursor, aside)

    def _plan(self) -> Plan:
        self._set_aside = {
            job: seq
            for job, seq in self._set_aside.items()
            if job in self._fold.jobs and self._fold.jobs[job].seq == seq
        }
        now = self._journal.clock.now()
        aside = frozenset(self._set_aside)
        return plan(self._fold.snapshot(now, self._position(), self._cursor, aside), self._policy)

    def _batch(self, made: Plan) -> Batch | None:
        return build(made, self._fold, self._journal, self.leadership.epoch, self._limit)

    async def _round(self) -> None:
        began = self._journal.clock.monotonic()
        if self._cursor is None:
            # a sweep that was cut ends with the version it began with: what came since is planned
            self._planned = self._fold.version
        self._unmeasured = None
        made = self._made = self._plan()
        self._cursor, self._due_at = made.cursor, made.next_at
        self._meter.planned(made, self._journal.clock.monotonic() - began)
        batch = self._batch(made)
        if batch is None:
            self._meter.ended(Outcome.NOTHING)
            return
        if batch.refused:
            self._put_aside(batch)
        if batch.moves or not batch.refused:
            await self._write(batch)

    def _put_aside(self, batch: Batch) -> None:
        self._meter.ended(Outcome.REFUSED)
        self._planned = None
        for job in batch.jobs:
            self._set_aside[job] = self._fold.jobs[job].seq
        structlog.get_logger().error(
            "a decision breaks the life cycle; its jobs are left alone until something happens",
            pool=self._fold.pool,
            decisions=[repr(one) for one in batch.refused.decisions] if batch.refused else [],
        )

    async def _write(self, batch: Batch) -> None:
        fence = self._journal.about_pool(self._fold.pool, batch.record, self.leadership.basis)
        try:
            written = await self._journal.record_all(batch.appends, fence)
        except Conflict:
            # somebody was first, with a job or with the epoch: read what they wrote, plan again
            self._meter.ended(Outcome.CONFLICT)
            self._planned, self._made, self._limit = None, None, max(2, self._limit // 2)
            self._target = await self._journal.log.end()
            return
        except UnknownOutcome:
            # it may still land, unless a newer epoch is there first
            self._meter.ended(Outcome.UNKNOWN)
            self._planned, self._made, self._renews = None, None, True
            self._step_down("the outcome of a batch is unknown")
            return
        self._meter.ended(Outcome.WRITTEN)
        self._meter.written(batch.moves)
        self._limit = min(MAX_MESSAGES, self._limit * 2)
        self._target = written[-1].seq if written else await self._journal.log.end()

    # --- what others are told ------------------------------------------------------------------

    async def _tell(self) -> None:
        ticks = self._journal.clock.monotonic()
        if self._made is None or ticks < self._tell_at:
            return
        self._unmeasured = self._made
        summary, self._made = summarise(self._made, self._told), None
        if summary != self._told:
            self._tell_at = ticks + pause_after(summary)
            await self._say(summary)

    async def _measure(self) -> None:
        """Measure fragments, now and then: the last plan will do, as long as it is the last."""
        ticks = self._journal.clock.monotonic()
        made = self._made or self._unmeasured
        if made is None or ticks < self._measure_at:
            return
        found, self._unmeasured = measure(made), None
        self._measure_at = ticks + FRAGMENTS_EVERY_S
        self._meter.measured(found)
        if found != self._measured:
            await self._say(found)

    async def _judge(self) -> None:
        """Tell how long idle jobs keep their places, if there were some."""
        ticks = self._journal.clock.monotonic()
        if self._judge_at is None:
            # whoever leads anew waits as long as whoever led before: no bound moves faster for it
            self._judge_at = ticks + JUDGE_EVERY_S
        if ticks < self._judge_at:
            return
        self._judge_at = ticks + JUDGE_EVERY_S
        found = judged(self._fold, self._journal.clock.now(), self._policy)
        if found is not None:
            self._meter.judged(found)
            await self._say(found)

    async def _measure_quota(self) -> None:
        """Measure now and then how much spot jobs may hold, whether anything happened or not."""
        ticks, now = self._journal.clock.monotonic(), self._journal.clock.now()
        last = self._fold.measured_quota
        fresh = last is not None and (now - last.at).total_seconds() < spot_quota.EVERY_S
        if ticks < self._quota_at or fresh:
            return
        self._quota_at = ticks + spot_quota.EVERY_S
        found = spot_quota.measure(self._made or self._unmeasured or self._plan(), now)
        if last is None or found.rows != last.rows:
            await self._say(found)

    async def _say(self, fact: PoolFact) -> None:
        fence = self._journal.about_pool(self._fold.pool, fact, self.leadership.basis)
        try:
            await self._journal.record_all((), fence)
        except (Conflict, UnknownOutcome):
            self._planned = None

    @property
    def _measured(self) -> FragmentsMeasured | None:
        detail = self._fold.fragments.event.data.detail if self._fold.fragments else None
        assert detail is None or isinstance(detail, FragmentsMeasured)
        return detail

    @property
    def _told(self) -> PoolSummary | None:
        detail = self._fold.summary.event.data.detail if self._fold.summary else None
        assert detail is None or isinstance(detail, PoolSummary)
        return detail
