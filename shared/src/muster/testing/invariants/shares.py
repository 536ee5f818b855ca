"""I23: shares, ceilings and block lists, as a round of the scheduler knew them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import ClassVar

from muster.domain.causes import EvictionCause
from muster.domain.demand import ResourceClass
from muster.domain.facts import Preempted, Scheduled
from muster.domain.phases import PARKED, TERMINAL, Phase
from muster.domain.state import JobState
from muster.testing.invariants.base import Invariant, JobChange, Known
from muster.testing.world import World

_LEAVES = TERMINAL | PARKED | {Phase.EVICTING, Phase.STOPPING, Phase.INTERRUPTED}
_OWNS = {ResourceClass.RESERVED, ResourceClass.ON_DEMAND}


class SharesAreKept(Invariant):
    """Looked at once a round is whole, with the facts about tenants and jobs that it knew."""

    number: ClassVar[str] = "I23"
    text: ClassVar[str] = (
        "No placement brings a tenant above its ceiling, or its guaranteed jobs above its share;"
        " none is on a blocked node; only what is borrowed is taken back, only for an owner, and"
        " nobody who borrows evicts one who stays within its share."
    )

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._past: dict[str, list[tuple[int, JobState]]] = defaultdict(list)
        self._placed: list[JobChange] = []
        self._evicted: list[JobChange] = []

    def on_job(self, change: JobChange) -> None:
        if isinstance(change.fact, Scheduled):
            self._placed.append(change)
        if isinstance(change.fact, Preempted) and change.fact.by is not None:
            self._evicted.append(change)
        self._past[change.after.job].append((change.seq, change.after))

    def on_step(self, world: World) -> None:
        placed, self._placed = self._placed, []
        evicted, self._evicted = self._evicted, []
        for change in placed:
            upto = self._upto(change)
            self._within(change, upto)
            self._off_limits(change, upto)
        gone: set[str] = set()
        for change in evicted:
            self._by_right(change, self._upto(change), frozenset(gone))
            gone.add(change.after.job)

    def _upto(self, change: JobChange) -> int:
        return self.known.rounds[change.after.pool][-1][1].upto

    def _has_shares(self, pool: str, upto: int) -> bool:
        views = (self.known.tenant_at(name, upto) for name in self.known.tenants)
        return any(view.shares_of(pool) for view in views)

    # --- placements ------------------------------------------------------------------------------

    def _within(self, change: JobChange, upto: int) -> None:
        state = change.after
        shares = self.known.tenant_at(state.tenant, upto).shares_of(state.pool)
        if not shares or state.demand.resource_class is ResourceClass.IDLE:
            return
        for model in {self._model(node) for node in state.held}:
            share = shares.get(model)
            mine = [job for job in self.known.jobs.values() if job.tenant == state.tenant]
            if share and share.ceiling is not None and self._least(mine, model) > share.ceiling:
                raise self.broken(f"{state.tenant} is above its ceiling of {model}", state.job)
            sure = [job for job in mine if job.demand.guarantee]
            limit = share.guaranteed if share else 0
            if state.demand.guarantee and self._least(sure, model) > limit:
                raise self.broken(f"{state.tenant} is above its share of {model}", state.job)

    def _least(self, jobs: Iterable[JobState], model: str) -> float:
        """Return what jobs use at least, once those that others wait for have left."""
        listed = list(jobs)
        awaited = {(wait.job, wait.attempt) for job in listed if job.held for wait in job.waits_for}
        staying = (job for job in listed if (job.job, job.attempt) not in awaited)
        return sum(self._used(job, model) for job in staying)

    def _used(self, job: JobState, model: str) -> float:
        if job.demand.resource_class is ResourceClass.IDLE:
            return 0
        roles = (
            job.demand.role_of(worker)
            for worker, node in job.placed_on.items()
            if self._model(node) == model
        )
        return sum(1000 * role.gpus + role.gpu_milli for role in roles) / 1000

    def _model(self, node: str) -> str:
        known = self.known.nodes.get(node)
        return known.shape.gpu_model if known else ""

    def _off_limits(self, change: JobChange, upto: int) -> None:
        state = change.after
        blocked = self.known.tenant_at(state.tenant, upto).blocked(state.pool, state.user)
        if blocked & set(state.held):
            raise self.broken(f"placed on {sorted(blocked & set(state.held))}: blocked", state.job)

    # --- evictions -------------------------------------------------------------------------------

    def _by_right(self, change: JobChange, upto: int, gone: frozenset[str]) -> None:
        fact, victim = change.fact, change.after
        assert isinstance(fact, Preempted)
        other = self.known.jobs.get(fact.by or "")
        if other is None or not self._has_shares(victim.pool, upto):
            return
        models = {self._model(node) for node in victim.held}
        borrows = any(self._lent(victim, model, upto, gone) > 0 for model in models)
        owner = all(self._lent_after(other, model) <= 0 for model in self._models(other))
        if fact.cause is EvictionCause.QUOTA_RECLAIM:
            own = victim.tenant == other.tenant and other.demand.guarantee
            if not own and not borrows:
                raise self.broken("taken back, and its tenant borrows nothing", victim.job)
            if not owner:
                raise self.broken(f"taken back for {other.job}, which itself borrows", victim.job)
        if fact.cause is EvictionCause.PRIORITY and victim.tenant != other.tenant:
            owned = victim.demand.resource_class in _OWNS and not borrows
            has_share = bool(self.known.tenant_at(victim.tenant, upto).shares_of(victim.pool))
            same_tier = victim.demand.tier == other.demand.tier
            if owned and has_share and same_tier and not owner:
                raise self.broken(f"within its share, evicted for a borrower {other.job}")

    def _models(self, job: JobState) -> set[str]:
        return {self._model(node) for node in job.held}

    def _lent(self, victim: JobState, model: str, upto: int, gone: frozenset[str]) -> float:
        """Return what a tenant had above its share, as the round knew it."""
        shares = self.known.tenant_at(victim.tenant, upto).shares_of(victim.pool)
        share = shares.get(model)
        jobs = (self._at(job, upto) for job in self._past if job not in gone)
        used = sum(
            self._used(job, model)
            for job in jobs
            if job is not None and job.tenant == victim.tenant and job.phase not in _LEAVES
        )
        return used - (share.guaranteed if share else 0)

    def _lent_after(self, other: JobState, model: str) -> float:
        """Return what the beneficiary's tenant has above its share once the round is written."""
        upto = self.known.rounds[other.pool][-1][1].upto
        share = self.known.tenant_at(other.tenant, upto).shares_of(other.pool).get(model)
        used = sum(
            self._used(job, model)
            for job in self.known.jobs.values()
            if job.tenant == other.tenant and job.phase not in _LEAVES
        )
        return used - (share.guaranteed if share else 0)

    def _at(self, job: str, upto: int) -> JobState | None:
        known = [state for seq, state in self._past[job] if seq <= upto]
        return known[-1] if known else None
