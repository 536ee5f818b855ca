"""Who may make room for a job in this round: who leaves anyway, and whom it may send off.

The one place where candidates for an eviction come from; by what right, `rights` says.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from muster.scheduler.core.holders import Holders
from muster.scheduler.core.jobs import JobKey, Listed
from muster.scheduler.core.leaving import Parting, seconds_left, worth_waiting
from muster.scheduler.core.rank import Level, level
from muster.scheduler.core.rights import Bid, Rights
from muster.scheduler.core.snapshot import Snapshot
from muster.scheduler.core.victims import Candidate, candidates, leaver


class Exits:
    """The jobs that hold something, by how they may go. looks: so many were looked at."""

    def __init__(self, snapshot: Snapshot, rights: Rights, holders: Holders) -> None:
        self._snapshot, self._rights, self._holders = snapshot, rights, holders
        now = snapshot.now
        self.leaving: dict[JobKey, Parting] = {
            key: Parting(job, seconds_left(job.state, now))
            for key, job in sorted(holders.leavers.items())
            if worth_waiting(job.state, now)
        }
        self._spoken_for: set[JobKey] = set(snapshot.set_aside)
        self._leavers: dict[JobKey, Candidate] = {}
        self._victims: dict[Hashable, list[Candidate]] = {}
        self.looks = 0

    def leaves(self, job: Listed, seconds: int) -> None:
        """Note that a job was told to leave, within so many seconds."""
        self._spoken_for.add(job.key)
        self.leaving[job.key] = Parting(job, seconds)

    def gone(self, job: Listed) -> None:
        """Note that a job holds nothing any more."""
        self._spoken_for.add(job.key)

    def reaches(self, job: Listed) -> Level:
        """Return up to which level a job might send off others, whatever else protects them."""
        return self._holders.top_below(self._rights.reach(job.state))

    def touchable(self) -> list[Listed]:
        """Return the jobs that may be told to go, and those that are on paper only."""
        stayers = self._holders.stayers
        return [one.job for key, one in stayers.items() if key not in self._spoken_for]

    def who_leaves(self) -> list[Candidate]:
        """Return who leaves whatever happens."""
        for key, parting in self.leaving.items():
            if key not in self._leavers:
                self._leavers[key] = leaver(parting.job)
        return list(self._leavers.values())

    def who_may_go(self, job: Listed, bid: Bid) -> list[Candidate]:
        """Return whom a job may send off. Equals may send off the same ones."""
        demand, rights = job.state.demand, self._rights
        own = rights.key(job.state, job.key)
        key = level(job.state), demand.resource_class, demand.guarantee, bid, own
        known = self._victims.get(key)
        if known is None or rights.change:
            stayers = self._holders.stayers.values()
            known = candidates(rights.whom(job, stayers, bid), self._snapshot.now)
            self.looks += len(stayers)
        # nobody becomes a victim in the course of a round, but some cease to be
        if self._spoken_for:
            known = [one for one in known if one.key not in self._spoken_for]
        self._victims[key] = known
        return known

    def when_gone(self, key: JobKey, job: Listed, bids: Iterable[Bid]) -> int | None:
        """Return within how many seconds a holder is gone if a job wants its room, or because it
        was told to leave in this round; None: it stays, or has been on its way out before."""
        if key in self._spoken_for:
            told = self.leaving.get(key) if key in self._holders.stayers else None
            return told.seconds if told else None
        other = self._holders.stayers.get(key)
        if other is None or not any(self._rights.whom(job, (other,), bid) for bid in bids):
            return None
        return other.job.state.demand.grace_s
