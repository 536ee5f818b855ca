"""Who has a claim on which node, and what is left of each.

A claim lasts from the commit of a placement until the proof that nothing runs any more. A job that
waits for victims claims the room in which they still are: on each node counts the worst moment that
can come, whichever victims have left and whichever of their beneficiaries have started by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, combinations
from typing import NamedTuple

from muster.domain.demand import Demand
from muster.domain.facts import Placement
from muster.domain.state import JobState
from muster.scheduler.core.amounts import CARD, NOTHING, Amounts, Room, of_worker, room
from muster.scheduler.core.placement import Shares
from muster.scheduler.core.snapshot import JobKey

NOBODY: frozenset[JobKey] = frozenset()

EXACT_WAITERS = 5
"""With more waiting jobs on one node than this, victims and beneficiaries are simply added up."""


class Taken(NamedTuple):
    """What a job has on one node. slots: thousandths by the number of the card that is shared."""

    amounts: Amounts
    slots: Mapping[int, int] = {}

    @property
    def milli(self) -> int:
        """Return thousandths of all cards together."""
        return self.amounts.gpus * CARD + sum(self.slots.values())


@dataclass(frozen=True, slots=True)
class Claim:
    """waits: the victims that must be gone before the claimant's processes come."""

    taken: Taken
    waits: frozenset[JobKey] = NOBODY


def _claim(taken: Taken, waits: frozenset[JobKey]) -> Claim:
    """Return a claim. Of those who wait for nobody and share no card, equals have the same one."""
    return Claim(taken, waits) if waits or taken.slots else _plain(taken.amounts)


@lru_cache(maxsize=4096)
def _plain(amounts: Amounts) -> Claim:
    return Claim(Taken(amounts))


Claims = Mapping[JobKey, Claim]
"""Of one node, by claimant."""


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a node. slots: of each card that may be shared further, by its number."""

    room: Room
    slots: Mapping[int, int]


def claimed_by(state: JobState) -> dict[str, Taken]:
    """Return what a job holds, by node."""
    return claim_on(state.held, state.demand, state.cards)


def claim_on(
    placement: Placement, demand: Demand, cards: Mapping[str, int] | None = None
) -> dict[str, Taken]:
    """Return what a placement takes, by node. A worker without a card to share has a whole one."""
    return {node: _taken(demand, workers, cards or {}) for node, workers in placement.items()}


def _taken(demand: Demand, workers: Iterable[str], cards: Mapping[str, int]) -> Taken:
    amounts, slots = NOTHING, dict[int, int]()
    for worker in workers:
        need = of_worker(demand, worker)
        gpus, slot = need.gpus, cards.get(worker)
        if need.milli and slot is None:
            gpus = 1
        elif need.milli and slot is not None:
            slots[slot] = slots.get(slot, 0) + need.milli
        amounts += Amounts(gpus, need.cpus, need.memory, need.extended)
    return Taken(amounts, slots)


class Board:
    """Claims on the nodes of a pool. Changes only while one plan is made.

    foreign: what others than Muster take of the capacity.
    """

    def __init__(
        self, capacity: Mapping[str, Amounts], foreign: Mapping[str, Amounts] | None = None
    ) -> None:
        self._capacity, self._foreign = capacity, foreign or {}
        self._claims: dict[str, dict[JobKey, Claim]] = {node: {} for node in capacity}
        self._nodes: dict[JobKey, tuple[str, ...]] = {}
        self._waited_on: set[str] = set()
        self._free: dict[str, Left] = {}
        self._freed: dict[str, dict[frozenset[JobKey], Left]] = {}

    def fork(self) -> Board:
        """Return a board that starts as this one stands. Cheap: they share what does not change."""
        made = Board({})
        made._capacity, made._foreign = self._capacity, self._foreign
        made._claims, made._nodes = self._claims.copy(), self._nodes.copy()
        made._free, made._waited_on = self._free.copy(), self._waited_on.copy()
        return made

    def refit(
        self, capacity: Mapping[str, Amounts], foreign: Mapping[str, Amounts], gone: Iterable[str]
    ) -> None:
        """Take in nodes that came or changed, and those that are gone. The claims on nodes that
        came must be made again."""
        left = set(gone)
        kept = {node: amounts for node, amounts in self._capacity.items() if node not in left}
        others = {node: amounts for node, amounts in self._foreign.items() if node in kept}
        self._capacity = {**kept, **capacity}
        self._foreign = {n: a for n, a in others.items() if n not in capacity} | dict(foreign)
        for node in left:
            self._claims.pop(node, None)
            self._waited_on.discard(node)
        for node in capacity:
            self._claims.setdefault(node, {})
        for node in (*left, *capacity):
            self._forget(node)

    def claim(
        self, job: JobKey, taken: Mapping[str, Taken], waits: frozenset[JobKey] = NOBODY
    ) -> None:
        """Enter what a job has from now on. A node that the pool no longer has is remembered."""
        self._nodes[job] = tuple(sorted(taken))
        for node in self._known(job):
            # replaced, never changed: forks share what they have not replaced
            self._put(node, {**self._claims[node], job: _claim(taken[node], waits)})

    def claim_later(
        self, job: JobKey, amounts: Mapping[str, Taken], waits: frozenset[JobKey]
    ) -> None:
        """Enter what a job will have when all of many others are gone.

        The same as `claim` once these have their claims. On each node only those are looked at who
        are there: whether the others are gone makes no difference to it.
        """
        self._nodes[job] = tuple(sorted(amounts))
        for node in self._known(job):
            here = waits.intersection(self._claims[node])
            self._put(node, {**self._claims[node], job: _claim(amounts[node], here)})

    def drop(self, job: JobKey) -> None:
        """Take a job's claims away."""
        for node in self._known(job):
            self._put(node, {k: c for k, c in self._claims[node].items() if k != job})
        self._nodes.pop(job, None)

    def _put(self, node: str, claims: dict[JobKey, Claim]) -> None:
        self._claims[node] = claims
        self._forget(node)
        if any(claim.waits for claim in claims.values()):
            self._waited_on.add(node)
        else:
            self._waited_on.discard(node)

    def _forget(self, node: str) -> None:
        self._free.pop(node, None)
        self._freed.pop(node, None)

    def _known(self, job: JobKey) -> list[str]:
        return [node for node in self._nodes.get(job, ()) if node in self._claims]

    def nodes_of(self, job: JobKey) -> tuple[str, ...]:
        """Return the nodes on which a job has claims."""
        return self._nodes.get(job, ())

    def claimants(self, node: str) -> Claims:
        """Return who has a claim on a node."""
        return self._claims[node]

    def apart(self, node: str) -> Claims | None:
        """Return the claims on a node if each adds just its amounts to what is free there once it
        is gone; None if some of them wait for others, or share cards."""
        claims = self._claims[node]
        if any(claim.waits or claim.taken.slots for claim in claims.values()):
            return None
        return claims

    def awaited_from(self) -> dict[JobKey, list[str]]:
        """Return on which nodes somebody has a claim who waits for a job, wherever that is."""
        found: dict[JobKey, list[str]] = {}
        for node in sorted(self._waited_on):
            waits = {job for claim in self._claims[node].values() for job in claim.waits}
            for job in waits:
                found.setdefault(job, []).append(node)
        return found

    def capacity(self, node: str) -> Amounts:
        """Return what the node offers when it is empty."""
        return self._capacity[node]

    def free(self, node: str, without: frozenset[JobKey] = NOBODY) -> Room:
        """Return what may be given away on a node, once the jobs in `without` are gone."""
        return self._left(node, without).room

    def _left(self, node: str, without: frozenset[JobKey]) -> Left:
        claims = self._claims[node]
        # asks for the few that are here, not for all others
        here = without.intersection(claims) if without else NOBODY
        if here:
            return self._freed_on(node, here, without)
        if node not in self._free:
            self._free[node] = self._after(node, claims, NOBODY)
        return self._free[node]

    def _freed_on(self, node: str, gone: frozenset[JobKey], without: frozenset[JobKey]) -> Left:
        claims = self._claims[node]
        known = self._freed.setdefault(node, {})
        if node in self._waited_on:
            awaited = (claim.waits for claim in claims.values() if claim.waits)
            gone = gone.union(*(waits & without for waits in awaited))
        if gone not in known:
            known[gone] = self._after(node, claims, gone)
        return known[gone]

    def _after(self, node: str, claims: Claims, gone: frozenset[JobKey]) -> Left:
        use = _peak(claims, gone)
        free = self._capacity[node] - use.amounts
        if node in self._foreign:
            free -= self._foreign[node]
        slots = {slot: CARD - milli for slot, milli in use.slots.items() if milli < CARD}
        return Left(room(free, tuple(sorted(slots.values()))), slots)

    def cards(self, shares: Shares, without: frozenset[JobKey] = NOBODY) -> dict[str, int]:
        """Return the number of the shared card that each worker of a placement gets.

        A card that is shared for the first time gets the smallest number that nobody has there,
        not even who is about to leave.
        """
        found: dict[str, int] = {}
        for node, shared in shares.items():
            lefts = dict(self._left(node, without).slots)
            used = {slot for claim in self._claims[node].values() for slot in claim.taken.slots}
            for worker, milli, left in shared:
                slot = _slot(lefts, used, left)
                lefts[slot] = left - milli
                used.add(slot)
                found[worker] = slot
        return found


def _slot(lefts: Mapping[int, int], used: set[int], left: int) -> int:
    if left < CARD:
        return min(slot for slot, amount in lefts.items() if amount == left)
    return next(slot for slot in range(len(used) + 1) if slot not in used)


@dataclass(frozen=True, slots=True)
class _Use:
    """amounts: cards that are shared count as whole. slots: those that are shared in any case."""

    amounts: Amounts
    slots: dict[int, int] = field(default_factory=dict)

    def upper(self, other: _Use) -> _Use:
        both = self.slots.keys() & other.slots.keys()
        slots = {slot: max(self.slots[slot], other.slots[slot]) for slot in sorted(both)}
        return _Use(self.amounts.upper(other.amounts), slots)


def _use(claims: Iterable[Claim]) -> _Use:
    # number by number: this is asked more often than anything else
    gpus = cpus = memory = 0
    extended, slots = NOTHING, dict[int, int]()
    for taken in (claim.taken for claim in claims):
        amounts = taken.amounts
        gpus += amounts.gpus
        cpus += amounts.cpus
        memory += amounts.memory
        if amounts.extended:
            extended += Amounts(extended=amounts.extended)
        for slot, milli in taken.slots.items():
            slots[slot] = slots.get(slot, 0) + milli
    return _Use(Amounts(gpus + len(slots), cpus, memory, extended.extended), slots)


def _peak(claims: Claims, without: frozenset[JobKey]) -> _Use:
    if without.issuperset(claims):
        return _Use(NOTHING)
    staying = {job: claim for job, claim in claims.items() if job not in without}
    if not any(claim.waits for claim in staying.values()):
        return _use(staying.values())
    waiters = {job: c.waits - without for job, c in staying.items() if c.waits - without}
    if not waiters or len(waiters) > EXACT_WAITERS:
        return _use(staying.values())
    awaited = frozenset(chain.from_iterable(waiters.values())) & staying.keys()
    sure = [c for j, c in staying.items() if j not in waiters and j not in awaited]
    worst: _Use | None = None
    for launched in _subsets(waiters):
        gone = frozenset(chain.from_iterable(waiters[job] for job in launched))
        there = {*launched, *(awaited - gone)}
        use = _use([*sure, *(staying[job] for job in sorted(there))])
        worst = use if worst is None else worst.upper(use)
    assert worst is not None
    return worst


def _subsets(jobs: Iterable[JobKey]) -> Iterable[tuple[JobKey, ...]]:
    all_jobs = tuple(jobs)
    return chain.from_iterable(combinations(all_jobs, size) for size in range(len(all_jobs) + 1))
