"""Who may take whose place, and the guards against going round in circles.

A job may send off one of a lower level (tier, then priority); a tenant that stays within its share
may send off those who borrow, whatever their priority, and nobody who borrows may send off those
who stay within theirs. Guaranteed jobs are never victims, idle ones never beneficiaries. The order
of the queue says the same (`rank`, `quota.Owners`), or rounds would undo each other's work.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from muster.domain.causes import EvictionCause
from muster.domain.demand import ResourceClass
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.quota import Ledger, Models, owns
from muster.scheduler.core.rank import IDLE_TIER, Level, level
from muster.scheduler.core.snapshot import Eviction, JobKey, Listed, Snapshot
from muster.scheduler.core.stayers import Stayer
from muster.scheduler.core.victims import Candidate

MINUTE = timedelta(minutes=1)
LIMITED = frozenset({EvictionCause.PRIORITY})
"""Causes that the limit of evictions counts: not what is owed, to a lender or to a cloud."""


def may_evict(own: Level, victim: Stayer) -> bool:
    """Tell whether a job of a level outranks another one enough to take its nodes. Equals never
    do, so idle jobs, which are of the lowest level, outrank nobody."""
    return not victim.guarantee and victim.level < own


def shielded(victim: Stayer, beneficiary: JobState, now: datetime) -> bool:
    """Tell whether a job that waited long keeps its place against a higher one of its tier."""
    found = victim.shield
    if found is None or now >= found[1] or beneficiary.demand.guarantee:
        return False
    tier, priority = level(beneficiary)
    return tier == victim.level[0] and priority < victim.level[1] + found[0]


@dataclass(frozen=True, slots=True)
class Bid:
    """How a job asks for room. models: the ones it may use (None = all).

    owner: its tenant stays within its share on each of these; it then takes back what is borrowed.
    """

    models: Models | None = None
    owner: bool = False


def guards_end(evictions: Iterable[Eviction], policy: Policy) -> Iterator[datetime]:
    """Yield the instants from which an eviction stands in nobody's way any more."""
    for one in evictions:
        if one.cause in LIMITED:
            yield one.at + MINUTE
        if not one.void:
            yield one.at + timedelta(seconds=policy.cycle_window_s)


class History:
    """Who was evicted for whom of late. Edges run from a beneficiary to its victims."""

    def __init__(self, evictions: Iterable[Eviction], now: datetime, policy: Policy) -> None:
        since = now - timedelta(seconds=policy.cycle_window_s)
        self._now = now
        recent = [one for one in evictions if one.at > since]
        self._last_minute = [one for one in recent if one.at > now - MINUTE]
        self._victims: dict[str, set[str]] = {}
        self._evicted: dict[tuple[str, JobKey], datetime] = {}
        for one in recent:
            self._evicted[one.by, one.victim] = one.at
            if one.void:
                continue
            self._victims.setdefault(one.by, set()).add(one.victim[1])
        self._fell = frozenset(one.victim[1] for one in recent)
        self._gained = frozenset(one.by for one in recent)
        self._below: dict[str, frozenset[str]] = {}

    def key(self, job: JobKey) -> Hashable:
        """Return what tells a job from its equals here: whether it has a past."""
        return job if job[1] in self._fell else None

    def concerns(self, job: JobKey) -> bool:
        """Tell whether a job was evicted of late, or others for it: else no circle can close."""
        return job[1] in self._fell or job[1] in self._gained

    def evicted(self, by: JobKey, victim: JobKey) -> datetime | None:
        """Return when one job was last evicted for another one."""
        return self._evicted.get((by[1], victim))

    def first_for(self, by: JobKey, since: datetime) -> datetime | None:
        """Return when somebody was evicted for a job, the first time since an instant."""
        found = (at for (job, _), at in self._evicted.items() if job == by[1] and at >= since)
        return min(found, default=None)

    def would_turn(self, by: JobKey, victim: JobKey) -> bool:
        """Tell whether the one that would benefit was itself evicted for this victim, or for one
        that was evicted for it, and so on."""
        if by[1] not in self._fell or victim[1] not in self._victims:
            return False
        if victim[1] not in self._below:
            self._below[victim[1]] = self._reached(victim[1])
        return by[1] in self._below[victim[1]]

    def _reached(self, job: str) -> frozenset[str]:
        reached: set[str] = set()
        ahead = [job]
        while ahead:
            new = self._victims.get(ahead.pop(), set()) - reached
            reached |= new
            ahead += new
        return frozenset(reached)

    def in_last_minute(self) -> int:
        """Return how many evictions of the last minute count towards the limit."""
        return sum(one.cause in LIMITED for one in self._last_minute)


class Rights:
    """The rights of one round."""

    def __init__(self, snapshot: Snapshot, policy: Policy, ledger: Ledger) -> None:
        self._now, self._policy, self._ledger = snapshot.now, policy, ledger
        self._history = History(snapshot.evictions, snapshot.now, policy)
        self._spent = self._history.in_last_minute()
        self._full = False

    @property
    def change(self) -> bool:
        """Tell whether rights change in the course of the round: who borrows does."""
        return self._ledger.active

    def has_past(self, job: JobKey) -> bool:
        """Tell whether a job has fewer rights than its equals, for what happened of late."""
        return self._history.key(job) is not None

    def evicted_since(self, by: JobKey, since: datetime) -> datetime | None:
        """Return when the first was evicted for a job since an instant, None if nobody was."""
        return self._history.first_for(by, since)

    def key(self, state: JobState, job: JobKey) -> Hashable:
        """Return everything but shape and level by which jobs have other rights."""
        return self._ledger.key(state), self._history.key(job)

    def bids(self, state: JobState) -> list[Bid]:
        """Return how a job may ask for room at the expense of others, the mildest first.

        As an owner if it is one; as everybody too, if it is one only with its workers on several
        models. Else first as everybody; then as the owner that it is once jobs of its own tenant
        have left.
        """
        if state.demand.resource_class is ResourceClass.IDLE:
            return []
        owned = self._ledger.owned_by(state)
        if owned and self._ledger.owns_whole(state):
            return [Bid(owned, owner=True)]
        mild = [Bid(owned, owner=True), Bid()] if owned else [Bid()]
        could = self._ledger.could_own(state)
        return [*mild, Bid(could, owner=True)] if could else mild

    def reach(self, state: JobState) -> Level | None:
        """Return the level under which all are whom a job might send off; None = of any level."""
        owner = self._ledger.active and owns(state)
        return None if owner or state.demand.guarantee else level(state)

    def whom(self, job: Listed, others: Iterable[Stayer], bid: Bid) -> list[Stayer]:
        """Return those whom a job may send off now."""
        now, past = self._now, self._history.concerns(job.key)
        return [
            one
            for one in self._outranked(job, others, bid)
            if (one.spared_until is None or one.spared_until <= now)
            and not (past and self._is_circle(job, one, bid))
        ]

    def _outranked(self, job: Listed, others: Iterable[Stayer], bid: Bid) -> Iterable[Stayer]:
        mine, own, now = job.state, level(job.state), self._now
        if bid.owner or self._ledger.active:
            return (one for one in others if self._outranks(mine, one, bid))
        # without shares the levels say it all
        lower = (one for one in others if may_evict(own, one))
        return (one for one in lower if one.shield is None or not shielded(one, mine, now))

    def _outranks(self, mine: JobState, other: Stayer, bid: Bid) -> bool:
        victim = other.job.state
        if self.takes_back(mine, victim, bid):
            return True
        if not may_evict(level(mine), other) or shielded(other, mine, self._now):
            return False
        return bid.owner or not self._is_owner(mine, victim)

    def takes_back(self, mine: JobState, victim: JobState, bid: Bid) -> bool:
        """Tell whether an owner takes back what the victim's tenant has borrowed.

        Its own tenant borrows too, where ordinary jobs stand in the way of guaranteed ones.
        """
        if not bid.owner or not owns(victim) or victim.demand.guarantee:
            return False
        if mine.tenant == victim.tenant:
            return mine.demand.guarantee
        return self._ledger.borrows(victim, bid.models)

    def _is_owner(self, mine: JobState, victim: JobState) -> bool:
        """Tell whether the victim stays within a share, and the one that would come borrows."""
        if mine.tenant == victim.tenant or mine.demand.tier != victim.demand.tier:
            return False
        return self._ledger.owns_what_it_has(victim)

    def _is_circle(self, job: Listed, other: Stayer, bid: Bid) -> bool:
        if bid.owner and job.state.demand.guarantee:
            return False
        if self._history.would_turn(job.key, other.key):
            return True
        if self._history.evicted(job.key, other.key) is None or not other.runs:
            return False
        # the same victim again only after it has run in between
        return other.job.state.phase is Phase.STARTING

    # --- the limit -------------------------------------------------------------------------------

    def may_evict_so_many(self, causes: Iterable[EvictionCause]) -> bool:
        """Tell whether so many more gangs may leave now.

        What is larger than the whole limit may happen when nothing else did within a minute. Once
        it is not granted to one, those behind it get nothing either: it would never be its turn.
        """
        wanted = sum(cause in LIMITED for cause in causes)
        if self._full:
            return not wanted
        left = self._policy.max_evictions_per_minute - self._spent
        self._full = bool(wanted) and wanted > left and self._spent > 0
        return not self._full

    def note(self, cause: EvictionCause) -> None:
        """Count an eviction of this round."""
        self._spent += cause in LIMITED

    def causes(self, mine: JobState, victims: Iterable[Candidate], bid: Bid) -> list[EvictionCause]:
        """Return why each leaves for another one.

        All are found before the first one goes: who leaves does not borrow any more.
        """
        return [self._cause(mine, one, bid) for one in victims]

    def _cause(self, mine: JobState, victim: Candidate, bid: Bid) -> EvictionCause:
        if victim.level[0] == IDLE_TIER:
            return EvictionCause.IDLE_RECLAIM
        back = bid.owner and self.takes_back(mine, victim.job.state, bid)
        return EvictionCause.QUOTA_RECLAIM if back else EvictionCause.PRIORITY
