"""Who has a claim on which node, and what is left of each.

A claim lasts from the commit of a placement until the proof that nothing runs any more. A job that
waits for victims claims the room in which they still are: on each node counts the worst moment that
can come, whichever victims have left and whichever of their beneficiaries have started by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, combinations

from muster.domain.demand import Demand
from muster.domain.facts import Placement
from muster.domain.state import JobState
from muster.scheduler.core.amounts import NOTHING, Amounts, of_worker
from muster.scheduler.core.snapshot import JobKey

NOBODY: frozenset[JobKey] = frozenset()

EXACT_WAITERS = 5
"""With more waiting jobs on one node than this, victims and beneficiaries are simply added up."""


@dataclass(frozen=True, slots=True)
class Claim:
    """waits: the victims that must be gone before the claimant's processes come."""

    amounts: Amounts
    waits: frozenset[JobKey] = NOBODY


def claimed_by(state: JobState) -> dict[str, Amounts]:
    """Return what a job holds, by node."""
    return claim_on(state.held, state.demand)


def claim_on(placement: Placement, demand: Demand) -> dict[str, Amounts]:
    """Return what a placement takes, by node."""
    return {
        node: _total(of_worker(demand, worker) for worker in workers)
        for node, workers in placement.items()
    }


def _total(amounts: Iterable[Amounts]) -> Amounts:
    total = NOTHING
    for amount in amounts:
        total += amount
    return total


class Board:
    """Claims on the nodes of a pool. Changes only while one plan is made."""

    def __init__(self, capacity: Mapping[str, Amounts]) -> None:
        self._capacity = capacity
        self._claims: dict[str, dict[JobKey, Claim]] = {node: {} for node in capacity}
        self._nodes: dict[JobKey, tuple[str, ...]] = {}
        self._free: dict[str, Amounts] = {}
        self._freed: dict[str, dict[frozenset[JobKey], Amounts]] = {}

    def claim(
        self, job: JobKey, amounts: Mapping[str, Amounts], waits: frozenset[JobKey] = NOBODY
    ) -> None:
        """Enter what a job has from now on. A node that the pool no longer has is remembered."""
        self._nodes[job] = tuple(sorted(amounts))
        for node in self._known(job):
            self._claims[node][job] = Claim(amounts[node], waits)
            self._forget(node)

    def drop(self, job: JobKey) -> None:
        """Take a job's claims away."""
        for node in self._known(job):
            del self._claims[node][job]
            self._forget(node)
        self._nodes.pop(job, None)

    def _forget(self, node: str) -> None:
        self._free.pop(node, None)
        self._freed.pop(node, None)

    def _known(self, job: JobKey) -> list[str]:
        return [node for node in self._nodes.get(job, ()) if node in self._claims]

    def nodes_of(self, job: JobKey) -> tuple[str, ...]:
        """Return the nodes on which a job has claims."""
        return self._nodes.get(job, ())

    def claimants(self, node: str) -> Mapping[JobKey, Claim]:
        """Return who has a claim on a node."""
        return self._claims[node]

    def capacity(self, node: str) -> Amounts:
        """Return what the node offers when it is empty."""
        return self._capacity[node]

    def free(self, node: str, without: frozenset[JobKey] = NOBODY) -> Amounts:
        """Return what may be given away on a node, once the jobs in `without` are gone."""
        claims = self._claims[node]
        if without and not without.isdisjoint(claims):
            return self._freed_on(node, without)
        if node not in self._free:
            self._free[node] = self._capacity[node] - _peak(claims, NOBODY)
        return self._free[node]

    def _freed_on(self, node: str, without: frozenset[JobKey]) -> Amounts:
        claims = self._claims[node]
        known = self._freed.setdefault(node, {})
        concerned = (job for key, claim in claims.items() for job in (key, *claim.waits))
        gone = frozenset(job for job in concerned if job in without)
        if gone not in known:
            known[gone] = self._capacity[node] - _peak(claims, gone)
        return known[gone]


def _peak(claims: Mapping[JobKey, Claim], without: frozenset[JobKey]) -> Amounts:
    staying = {job: claim for job, claim in claims.items() if job not in without}
    waiters = {job: c.waits - without for job, c in staying.items() if c.waits - without}
    awaited = frozenset(chain.from_iterable(waiters.values())) & staying.keys()
    sure = _total(c.amounts for j, c in staying.items() if j not in waiters and j not in awaited)
    if not waiters:
        return sure
    if len(waiters) > EXACT_WAITERS:
        return sure + _total(staying[job].amounts for job in chain(waiters, awaited))
    worst = NOTHING
    for launched in _subsets(waiters):
        gone = frozenset(chain.from_iterable(waiters[job] for job in launched))
        there = chain(launched, awaited - gone)
        worst = worst.upper(_total(staying[job].amounts for job in there))
    return sure + worst


def _subsets(jobs: Iterable[JobKey]) -> Iterable[tuple[JobKey, ...]]:
    all_jobs = tuple(jobs)
    return chain.from_iterable(combinations(all_jobs, size) for size in range(len(all_jobs) + 1))
