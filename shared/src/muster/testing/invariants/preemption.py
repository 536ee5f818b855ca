"""I7, I8: who may be evicted, for whom, and that it is of use."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from muster.domain.causes import PREEMPTIONS, EvictionCause
from muster.domain.facts import Preempted, Prioritised, Scheduled
from muster.domain.state import JobState
from muster.testing.invariants.base import Invariant, JobChange, Known
from muster.testing.world import World

_FOR_SOMEBODY = PREEMPTIONS - {EvictionCause.SPOT_RECLAIM}


_WINDOW = timedelta(hours=1)


class GuaranteeIsKept(Invariant):
    number: ClassVar[str] = "I7"
    text: ClassVar[str] = "A guaranteed job is never evicted for another one."

    def on_job(self, change: JobChange) -> None:
        fact, state = change.fact, change.after
        if not isinstance(fact, Preempted) or not state.demand.guarantee:
            return
        if fact.by is not None or fact.cause in _FOR_SOMEBODY:
            raise self.broken(f"guaranteed, and evicted ({fact.cause}) for {fact.by}", state.job)


class VictimsAreUseful(Invariant):
    number: ClassVar[str] = "I8"
    text: ClassVar[str] = (
        "A victim ranks below its beneficiary, the beneficiary is placed in the same batch on nodes"
        " that the victim leaves (or in the share that it leaves), waits for it, and nobody is"
        " evicted by its own victim within an hour, but by a guaranteed one that takes back."
    )

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._open: dict[str, list[JobChange]] = {}
        self._evicted_by: dict[str, dict[str, datetime]] = {}

    def on_job(self, change: JobChange) -> None:
        fact = change.fact
        if isinstance(fact, Preempted) and fact.by is not None:
            self._victim(change, fact, fact.by)
        if isinstance(fact, Scheduled):
            self._beneficiary(change.after, fact)
        if isinstance(fact, Prioritised):
            self._forget(change.after.job)  # a person has turned the order round

    def on_tenant(self, tenant: str) -> None:
        for state in self.known.jobs.values():
            if state.tenant == tenant:
                self._forget(state.job)  # an operator has turned the order round

    def _forget(self, job: str) -> None:
        self._evicted_by.pop(job, None)
        for victims in self._evicted_by.values():
            victims.pop(job, None)

    def _victim(self, change: JobChange, fact: Preempted, by: str) -> None:
        victim, other = change.after, self.known.jobs.get(by)
        if other is None:
            raise self.broken(f"evicted for {by}, which does not exist", victim.job)
        if fact.cause is not EvictionCause.QUOTA_RECLAIM and not _below(victim, other):
            raise self.broken(f"evicted for {by}, which does not rank higher", victim.job)
        back = fact.cause is EvictionCause.QUOTA_RECLAIM and other.demand.guarantee
        when = self._evicted_by.get(victim.job, {}).get(by)
        if when is not None and change.at - when < _WINDOW and not back:
            raise self.broken(f"{by} evicts what evicted it", victim.job)
        self._evicted_by.setdefault(by, {})[victim.job] = change.at
        self._open.setdefault(by, []).append(change)

    def _beneficiary(self, state: JobState, fact: Scheduled) -> None:
        waits = {wait.job for wait in fact.waits_for}
        for change in self._open.pop(state.job, ()):
            victim = change.after
            if victim.job not in waits:
                raise self.broken(f"{state.job} does not wait for its victim", victim.job)
            share = victim.tenant == state.tenant and self.known.has_shares(state.pool)
            if not set(victim.held) & set(fact.placement) and not share:
                raise self.broken(f"evicted for {state.job}, of no use to it", victim.job)

    def on_step(self, world: World) -> None:
        for by, changes in self._open.items():
            raise self.broken(f"evicted for {by}, which was not placed", changes[0].after.job)


def _below(victim: JobState, other: JobState) -> bool:
    return _level(victim) < _level(other)


def _level(state: JobState) -> tuple[int, int]:
    return state.demand.tier, state.demand.priority or 0
