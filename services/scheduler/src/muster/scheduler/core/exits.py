"""Who may make room for a job in this round: who leaves anyway, and whom it may send off.

The one place where candidates for an eviction come from.
"""

from __future__ import annotations

from muster.domain.demand import ResourceClass
from muster.scheduler.core.jobs import JobKey, Listed
from muster.scheduler.core.leaving import Parting, seconds_left, worth_waiting
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rank import Level, level, may_evict, protected_until, shielded
from muster.scheduler.core.snapshot import Snapshot, is_hold
from muster.scheduler.core.upkeep import may_be_told_to_leave
from muster.scheduler.core.victims import Candidate, candidate


class Exits:
    """The jobs that hold something, by how they may go. looks: so many were looked at."""

    def __init__(self, snapshot: Snapshot, policy: Policy) -> None:
        self._snapshot, self._policy = snapshot, policy
        self.leaving: dict[JobKey, Parting] = {}
        self._touchable: dict[JobKey, Listed] = {}
        self._leavers: dict[JobKey, Candidate] = {}
        self._victims: dict[tuple[Level, ResourceClass, bool], list[Candidate]] = {}
        self.looks = 0

    def enter(self, job: Listed) -> None:
        """Take in a job that holds something."""
        state, now = job.state, self._snapshot.now
        if worth_waiting(state, now):
            self.leaving[job.key] = Parting(job, seconds_left(state, now))
        elif job.key in self._snapshot.set_aside:
            return
        elif is_hold(state) or may_be_told_to_leave(state):
            self._touchable[job.key] = job

    def leaves(self, job: Listed, seconds: int) -> None:
        """Note that a job was told to leave, within so many seconds."""
        self._touchable.pop(job.key, None)
        self.leaving[job.key] = Parting(job, seconds)

    def gone(self, job: Listed) -> None:
        """Note that a job holds nothing any more."""
        self._touchable.pop(job.key, None)

    def who_leaves(self) -> list[Candidate]:
        """Return who leaves whatever happens."""
        for key, parting in self.leaving.items():
            if key not in self._leavers:
                self._leavers[key] = candidate(parting.job, self._snapshot.now, leaving=True)
        return list(self._leavers.values())

    def who_may_go(self, job: Listed) -> list[Candidate]:
        """Return whom a job may send off. Equals may send off the same ones."""
        demand = job.state.demand
        key = level(job.state), demand.resource_class, demand.guarantee
        known = self._victims.get(key)
        if known is None:
            helpful = (other for other in self._touchable.values() if self._may_take(job, other))
            known = [candidate(other, self._snapshot.now, leaving=False) for other in helpful]
            self.looks += len(self._touchable)
        # nobody becomes a victim in the course of a round, but some cease to be
        self._victims[key] = sorted(
            (one for one in known if one.key in self._touchable), key=lambda one: one.cost
        )
        return self._victims[key]

    def _may_take(self, job: Listed, other: Listed) -> bool:
        if not may_evict(job.state, other.state):
            return False
        if shielded(other, job.state, self._policy, self._snapshot.now):
            return False
        spared = protected_until(other.state, self._policy)
        return spared is None or spared <= self._snapshot.now
