"""Who may make room for a job in this round: who leaves anyway, and whom it may send off.

The one place where candidates for an eviction come from; by what right, `rights` says.
"""

from __future__ import annotations

from collections.abc import Hashable

from muster.scheduler.core.jobs import JobKey, Listed
from muster.scheduler.core.leaving import Parting, seconds_left, worth_waiting
from muster.scheduler.core.rank import level
from muster.scheduler.core.rights import Bid, Rights
from muster.scheduler.core.snapshot import Snapshot, is_hold
from muster.scheduler.core.upkeep import may_be_told_to_leave
from muster.scheduler.core.victims import Candidate, candidate


class Exits:
    """The jobs that hold something, by how they may go. looks: so many were looked at."""

    def __init__(self, snapshot: Snapshot, rights: Rights) -> None:
        self._snapshot, self._rights = snapshot, rights
        self.leaving: dict[JobKey, Parting] = {}
        self._touchable: dict[JobKey, Listed] = {}
        self._leavers: dict[JobKey, Candidate] = {}
        self._victims: dict[Hashable, list[Candidate]] = {}
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

    def who_may_go(self, job: Listed, bid: Bid) -> list[Candidate]:
        """Return whom a job may send off. Equals may send off the same ones."""
        demand, rights = job.state.demand, self._rights
        own = rights.key(job.state, job.key)
        key = level(job.state), demand.resource_class, demand.guarantee, bid, own
        known = self._victims.get(key)
        if known is None or rights.change:
            helpful = (c for c in self._touchable.values() if rights.may_take(job, c, bid))
            known = [candidate(other, self._snapshot.now, leaving=False) for other in helpful]
            self.looks += len(self._touchable)
        # nobody becomes a victim in the course of a round, but some cease to be
        self._victims[key] = sorted(
            (one for one in known if one.key in self._touchable), key=lambda one: one.cost
        )
        return self._victims[key]
