"""Who may take whose place, and the guards against going round in circles.

A job may send off one of a lower level (tier, then priority); a tenant that stays within its share
may send off those who borrow, whatever their priority, and nobody who borrows may send off those
who stay within theirs. Guaranteed jobs are never victims, idle ones never beneficiaries. The order
of the queue says the same (`rank`, `quota.Owners`), or rounds would undo each other's work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from muster.domain.causes import EvictionCause
from muster.domain.demand import ResourceClass
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.quota import Ledger, Models, owns
from muster.scheduler.core.rank import Level, level, shielded
from muster.scheduler.core.snapshot import Eviction, JobKey, Listed, Snapshot, is_hold

MINUTE = timedelta(minutes=1)
LIMITED = frozenset({EvictionCause.PRIORITY})
"""Causes that the limit of evictions counts: not what is owed, to a lender or to a cloud."""

JITTER = 4
"""A cool-down is longer by up to a fourth of it, by lot: so that not all are fair game at once."""


def may_evict(beneficiary: JobState, victim: JobState) -> bool:
    """Tell whether one job outranks another enough to take its nodes. Equals never do."""
    if victim.demand.guarantee or beneficiary.demand.resource_class is ResourceClass.IDLE:
        return False
    return level(victim) < level(beneficiary)


def protected_until(victim: JobState, policy: Policy) -> datetime | None:
    """Return until when a running job is spared, None if it is not."""
    if victim.phase is not Phase.RUNNING or victim.started_at is None:
        return None
    if victim.demand.resource_class is ResourceClass.IDLE:
        return None
    seconds = float(policy.min_run_s)
    if victim.ledgers.requeues > 0:
        seconds = max(seconds, policy.cool_down_s + _jitter(victim, policy.cool_down_s))
    return victim.started_at + timedelta(seconds=seconds)


def _jitter(victim: JobState, seconds: int) -> float:
    digest = hashlib.blake2b(f"{victim.job}/{victim.attempt}".encode(), digest_size=2).digest()
    return seconds * int.from_bytes(digest) / (65536 * JITTER)


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
        self._below: dict[str, frozenset[str]] = {}

    def key(self, job: JobKey) -> Hashable:
        """Return what tells a job from its equals here: whether it has a past."""
        return job if job[1] in self._fell else None

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

    def may_take(self, job: Listed, other: Listed, bid: Bid) -> bool:
        """Tell whether a job may send off another one now."""
        if not self._outranks(job, other, bid):
            return False
        spared = protected_until(other.state, self._policy)
        if spared is not None and spared > self._now:
            return False
        return self._is_no_circle(job, other, bid)

    def _outranks(self, job: Listed, other: Listed, bid: Bid) -> bool:
        mine, victim = job.state, other.state
        if self.takes_back(mine, victim, bid):
            return True
        if not may_evict(mine, victim) or shielded(other, mine, self._policy, self._now):
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

    def _is_no_circle(self, job: Listed, other: Listed, bid: Bid) -> bool:
        if bid.owner and job.state.demand.guarantee:
            return True
        if self._history.would_turn(job.key, other.key):
            return False
        if self._history.evicted(job.key, other.key) is None or is_hold(other.state):
            return True
        # the same victim again only after it has run in between
        return other.state.phase is not Phase.STARTING

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

    def cause(self, mine: JobState, victim: JobState, bid: Bid) -> EvictionCause:
        """Return why a job leaves for another one."""
        if victim.demand.resource_class is ResourceClass.IDLE:
            return EvictionCause.IDLE_RECLAIM
        back = self.takes_back(mine, victim, bid)
        return EvictionCause.QUOTA_RECLAIM if back else EvictionCause.PRIORITY
