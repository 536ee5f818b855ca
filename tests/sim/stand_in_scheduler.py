"""The smallest scheduler that obeys the rules of the log: first fit, no priorities, no victims but
those of a node that goes. For tests of the world itself; never a second opinion on placement."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from muster.contracts import subjects
from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.deadlines import passed
from muster.domain.edges import Owner
from muster.domain.errors import Conflict
from muster.domain.nodes import NodeCondition, NodeState
from muster.domain.phases import Phase
from muster.domain.pools import EpochTaken, RoundDecided
from muster.domain.state import DeadlineKind, JobState
from muster.log import Append, Basis, Recorded, UnknownOutcome, Unreadable
from muster.runtime.journal import Journal
from muster.runtime.service import Loop, Runtime, Service

POOL = "default"
PATIENCE_S = 90.0
BEAT_S = 30.0
_LEAVING = {NodeCondition.RECLAIMING, NodeCondition.GONE, NodeCondition.LOST}
_EVICTABLE = {Phase.STARTING, Phase.RUNNING, Phase.FAULTED, Phase.DEBUG_HOLDING}


class StandIn:
    """One replica; takes the epoch when it starts, and stops when it has lost it."""

    def __init__(self, runtime: Runtime) -> None:
        self._journal = Journal(Owner.SCHEDULER, runtime.log, runtime.clock, runtime.ids)
        self._jobs: dict[str, Recorded] = {}
        self._nodes: dict[str, NodeState] = {}
        self._epoch: tuple[int, int] | None = None
        self._round = 0
        self._position = 0
        self._news = True
        self._heard: tuple[int, float] = (-1, 0.0)

    async def turn(self) -> None:
        """Read, decide, write one batch."""
        log = self._journal.log
        key = subjects.pool_key(POOL, "epoch")
        last = await log.last(key, leader=True)
        if self._epoch is None:
            if await self._silent():
                await self._take(key, last)
            return
        if last is None or last.seq != self._epoch[1]:
            self._epoch = None
            return
        await self._read()
        appends = self._decide(self._journal.clock.now())
        if appends or self._news or self._beat():
            await self._write(appends, Basis(key, self._epoch[1]))

    def _beat(self) -> bool:
        """Whether it is time to say that a round has run although nothing is new."""
        ticks = self._journal.clock.monotonic()
        due = ticks - self._heard[1] > BEAT_S
        if due:
            self._heard = (self._heard[0], ticks)
        return due

    async def _silent(self) -> bool:
        """Whether the leader has said nothing for a while, by this process's own patience."""
        decided = await self._journal.log.last(subjects.pool_key(POOL, "decided"), leader=True)
        seq, ticks = decided.seq if decided else 0, self._journal.clock.monotonic()
        if seq != self._heard[0]:
            self._heard = (seq, ticks)
        return seq == 0 or ticks - self._heard[1] > PATIENCE_S

    async def _take(self, key: subjects.Key, last: Recorded | None) -> None:
        epoch = last.event.data.detail.epoch + 1 if last else 1
        fact = EpochTaken(epoch=epoch, holder=self._journal.new_id())
        append = self._journal.about_pool(POOL, fact, Basis(key, last.head if last else 0))
        try:
            recorded = await self._journal.record(append)
        except Conflict:
            return
        self._epoch = (epoch, recorded.seq)

    async def _read(self) -> None:
        follower = await self._journal.log.follow(
            (subjects.ALL_JOBS, subjects.ALL_NODES), self._position
        )
        while page := await follower.next():
            for item in page:
                self._news = True
                if not isinstance(item, Recorded):
                    self._unreadable(item)
                elif item.event.subject.startswith("jobs."):
                    self._jobs[item.job.job] = item
                else:
                    self._nodes[item.node.node] = item.node
        self._position = follower.position

    def _unreadable(self, item: Unreadable) -> None:
        """Conditions name the head of a key, whoever wrote it."""
        job = item.subject.split(".")[2]
        if job in self._jobs:
            self._jobs[job] = replace(self._jobs[job], head=item.seq)

    async def _write(self, appends: list[Append], basis: Basis) -> None:
        assert self._epoch is not None
        self._round += 1
        fact = RoundDecided(
            epoch=self._epoch[0],
            round=self._round,
            upto=self._position,
            at=self._journal.clock.now(),
            scheduled=len(appends),
        )
        fence = self._journal.about_pool(POOL, fact, basis)
        try:
            await self._journal.record_all(appends, fence)
        except Conflict:
            return
        except UnknownOutcome:
            self._epoch = None
            return
        self._news = False

    def _decide(self, now: datetime) -> list[Append]:
        free = {
            n.node: n.shape.gpus for n in self._nodes.values() if n.schedulable and not n.draining
        }
        for recorded in self._jobs.values():
            for node, workers in recorded.job.held.items():
                used = sum(recorded.job.demand.role_of(w).gpus for w in workers)
                free[node] = free.get(node, 0) - used
        appends: list[Append] = []
        for recorded in sorted(self._jobs.values(), key=lambda r: r.seq):
            fact = self._fact(recorded.job, free, now)
            if fact is not None:
                appends.append(self._journal.about_job(recorded, fact))
        return appends

    def _fact(self, job: JobState, free: dict[str, int], now: datetime) -> f.Fact | None:
        leaving = sorted(n for n in job.held if self._nodes[n].condition in _LEAVING)
        drained = sorted(n for n in job.held if self._nodes[n].draining)
        if passed(job, DeadlineKind.PLAN, now):
            return f.Unscheduled(cause=f.Withdrawal.PLAN_ABANDONED)
        spot = [n for n in leaving if self._nodes[n].shape.spot]
        if job.phase in _EVICTABLE and job.eviction is None and (spot or drained):
            cause = EvictionCause.SPOT_RECLAIM if spot else EvictionCause.NODE_DRAIN
            return f.Preempted(
                cause=cause, nodes=tuple(spot or drained), grace_s=job.demand.grace_s
            )
        if job.phase is not Phase.QUEUED or (job.not_before and job.not_before > now):
            return None
        placement = _place(job, free)
        return f.Scheduled(placement=placement) if placement else None


def _place(job: JobState, free: dict[str, int]) -> dict[str, tuple[str, ...]] | None:
    left, placement = dict(free), dict[str, tuple[str, ...]]()
    for worker in job.demand.workers:
        need = job.demand.role_of(worker).gpus
        node = next((n for n in sorted(left) if left[n] >= need and n not in job.avoid), None)
        if node is None:
            return None
        left[node] -= need
        placement[node] = (*placement.get(node, ()), worker)
    free.clear()
    free.update(left)
    return placement


def build(runtime: Runtime) -> Service:
    """Put it together, as every service's `build` does."""
    return Service(owner=Owner.SCHEDULER, loops=(Loop("round", StandIn(runtime).turn, 1.0),))
