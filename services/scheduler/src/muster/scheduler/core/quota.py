"""Who may use how much of which GPU model: shares, ceilings, lenders and borrowers.

Books the GPUs of each tenant by the model of the node on which they are held, in thousandths. A
tenant has limits only in pools of which a share of its is recorded. What it leaves idle of its
guaranteed share others borrow; whoever holds more than its share borrows, and so does a tenant
without one where others have shares. Idle jobs are not counted: they take what nobody uses.

Made by `Round` and changes with it; `Owners` orders the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import chain, combinations

from muster.domain.demand import ResourceClass, Role
from muster.domain.facts import Placement
from muster.domain.state import JobState
from muster.domain.tenants import Share
from muster.scheduler.core.amounts import CARD
from muster.scheduler.core.jobs import JobKey, Waiter, key_of
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rank import Rank, rank
from muster.scheduler.core.snapshot import Book, Snapshot

NOBODY: frozenset[JobKey] = frozenset()
EXACT_WAITERS = 5
"""With more jobs that wait for the same victims, all of these are simply added up."""

_OWNS = frozenset({ResourceClass.RESERVED, ResourceClass.ON_DEMAND})
"""Classes whose jobs have a part in a guaranteed share."""

Models = frozenset[str]

Headroom = Mapping[str, int]
"""GPU model -> thousandths of GPUs that may be had of it. One that is not named has no limit."""


@dataclass(frozen=True, slots=True)
class Short:
    """What a tenant has too little of for a job. Thousandths of GPUs; used: by its other jobs.

    guaranteed: of the guaranteed share, by guaranteed jobs; else of the ceiling, by all.
    """

    tenant: str
    gpu_model: str
    guaranteed: bool
    limit: int
    used: int
    asked: int


class Account:
    """What the jobs of one tenant hold, or will hold, of one model."""

    def __init__(self) -> None:
        self._claims: dict[JobKey, tuple[int, frozenset[JobKey]]] = {}
        self._worst: int | None = None

    def claim(self, job: JobKey, amount: int, waits: frozenset[JobKey]) -> None:
        """Enter what a job has from now on; waits: who must be gone before it comes."""
        self._claims[job] = amount, waits
        self._worst = None

    def drop(self, job: JobKey) -> None:
        """Take a job's claim away."""
        self._claims.pop(job, None)
        self._worst = None

    def of(self, job: JobKey) -> int:
        """Return what one job has."""
        return self._claims.get(job, (0, NOBODY))[0]

    def without(self, gone: frozenset[JobKey]) -> int:
        """Return what all have together but those."""
        return sum(amount for job, (amount, _) in self._claims.items() if job not in gone)

    def worst(self, gone: frozenset[JobKey] = NOBODY) -> int:
        """Return the most that can be in use at a time from when those are gone on."""
        if gone and not gone.isdisjoint(self._claims):
            return _worst({j: c for j, c in self._claims.items() if j not in gone})
        if self._worst is None:
            self._worst = _worst(self._claims)
        return self._worst


def _worst(claims: Mapping[JobKey, tuple[int, frozenset[JobKey]]]) -> int:
    """A claimant and the victims that it waits for are never there at the same time."""
    waiting = {job: waits & claims.keys() for job, (_, waits) in claims.items()}
    waiting = {job: waits for job, waits in waiting.items() if waits}
    concerned = {*waiting, *chain.from_iterable(waiting.values())}
    total = sum(amount for job, (amount, _) in claims.items() if job not in concerned)
    for group in _groups(waiting):
        total += _peak(group, claims)
    return total


def _groups(waiting: Mapping[JobKey, frozenset[JobKey]]) -> list[dict[JobKey, frozenset[JobKey]]]:
    """Part the waiting jobs into those that have to do with each other."""
    groups: list[dict[JobKey, frozenset[JobKey]]] = []
    for job, waits in waiting.items():
        mine, others = {job: waits}, []
        for group in groups:
            touched = {*group, *chain.from_iterable(group.values())}
            if touched.isdisjoint({job, *waits}):
                others.append(group)
            else:
                mine |= group
        groups = [*others, mine]
    return groups


def _peak(
    waiting: Mapping[JobKey, frozenset[JobKey]],
    claims: Mapping[JobKey, tuple[int, frozenset[JobKey]]],
) -> int:
    everyone = {*waiting, *chain.from_iterable(waiting.values())}
    if len(waiting) > EXACT_WAITERS:
        return sum(claims[job][0] for job in everyone)
    sizes = range(len(waiting) + 1)
    worst = 0
    for launched in chain.from_iterable(combinations(waiting, size) for size in sizes):
        gone = frozenset(chain.from_iterable(waiting[job] for job in launched))
        there = (everyone - waiting.keys() - gone) | (frozenset(launched) - gone)
        worst = max(worst, sum(claims[job][0] for job in there))
    return worst


# --- what a job asks for -----------------------------------------------------------------------


def milli(role: Role) -> int:
    """Return the thousandths of GPUs that one worker of a role takes."""
    return CARD * role.gpus + role.gpu_milli


def counts(state: JobState) -> bool:
    """Tell whether a job's GPUs are booked at all."""
    return state.demand.resource_class is not ResourceClass.IDLE


def owns(state: JobState) -> bool:
    """Tell whether a job may have a part in its tenant's guaranteed share."""
    return state.demand.resource_class in _OWNS


def asked(roles: Iterable[Role], model: str) -> int:
    """Return what a gang may come to take of one model, at most."""
    return sum(milli(role) * role.replicas for role in roles if takes(role, model))


def takes(role: Role, model: str) -> bool:
    """Tell whether workers of a role may have GPUs of a model."""
    return role.gpu_model is None or model in role.gpu_model.split("|")


def _one(state: JobState, model: str, left: int, *, wanted: bool = False) -> bool:
    """Tell whether so much of a model is enough for a worker of a job. wanted: one asks for it."""
    each = [milli(role) for role in state.demand.roles if milli(role) and takes(role, model)]
    return min(each) <= left if each else not wanted


def spread(
    roles: Iterable[Role], models: Iterable[str], headroom: Headroom
) -> dict[str, int] | None:
    """Return how much of each model the workers would have, the largest first; None if they would
    have too much of one. A role of which the pool has no model is left out.

    All of a role on one model if it can be.
    """
    left, taken = dict(headroom), dict[str, int]()
    for role in sorted(roles, key=lambda role: (-milli(role), role.name)):
        each, open_ = milli(role), [m for m in sorted(models) if takes(role, m)]
        if not each or not open_:
            continue
        holds = {m: max(0, left[m]) // each if m in left else role.replicas for m in open_}
        whole = [model for model in open_ if holds[model] >= role.replicas]
        workers = role.replicas
        for model in whole[:1] or open_:
            count = min(workers, holds[model])
            if count:
                taken[model] = taken.get(model, 0) + each * count
                if model in left:
                    left[model] -= each * count
                workers -= count
        if workers:
            return None
    return taken


def narrowed(roles: Sequence[Role], models: Models | None) -> tuple[Role, ...] | Role:
    """Return the roles on these models alone (None = all), or the first that has none left."""
    if models is None:
        return tuple(roles)
    found = []
    for role in roles:
        if not milli(role):
            found.append(role)
            continue
        own = models if role.gpu_model is None else models & {*role.gpu_model.split("|")}
        if not own:
            return role
        found.append(role.model_copy(update={"gpu_model": "|".join(sorted(own))}))
    return tuple(found)


# --- the books of a pool -----------------------------------------------------------------------


class Ledger:
    """The books of a pool. Without any share recorded for it they are empty, and allow all."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._pool = snapshot.pool
        self._shares = {
            name: shares
            for name, view in snapshot.tenants.items()
            if (shares := view.shares_of(snapshot.pool))
        }
        self.active = bool(self._shares)
        nodes = snapshot.nodes if self.active else ()
        self._model = {node.node: node.shape.gpu_model for node in nodes}
        self.models = frozenset(n.shape.gpu_model for n in nodes if n.shape.gpus)
        self._all: dict[tuple[str, str], Account] = {}
        self._guaranteed: dict[tuple[str, str], Account] = {}
        self._where: dict[JobKey, dict[str, int]] = {}
        self._leaving: set[JobKey] = set()

    # --- bookings --------------------------------------------------------------------------------

    def claim(
        self, state: JobState, placement: Placement, waits: frozenset[JobKey] = NOBODY
    ) -> None:
        """Book what a job holds, or is given."""
        if not self.active or not counts(state):
            return
        self.drop(key_of(state))
        amounts = self._amounts(state, placement)
        self._where[key_of(state)] = amounts
        for model, amount in amounts.items():
            for accounts in self._accounts(state):
                accounts.setdefault((state.tenant, model), Account()).claim(
                    key_of(state), amount, waits
                )

    def _accounts(self, state: JobState) -> Iterator[dict[tuple[str, str], Account]]:
        yield self._all
        if state.demand.guarantee:
            yield self._guaranteed

    def _amounts(self, state: JobState, placement: Placement) -> dict[str, int]:
        amounts: dict[str, int] = {}
        for node, workers in placement.items():
            model = self._model.get(node, "")
            taken = sum(milli_of(state, worker) for worker in workers)
            if taken:
                amounts[model] = amounts.get(model, 0) + taken
        return amounts

    def drop(self, job: JobKey) -> None:
        """Take a job out of the books."""
        for model in self._where.pop(job, {}):
            for accounts in (self._all, self._guaranteed):
                if (job[0], model) in accounts:
                    accounts[job[0], model].drop(job)
        self._leaving.discard(job)

    def is_booked(self, job: JobKey) -> bool:
        """Tell whether a job has something in the books."""
        return job in self._where

    def leave(self, job: JobKey) -> None:
        """Note that a job is about to give back what it has."""
        if job in self._where:
            self._leaving.add(job)

    # --- limits ----------------------------------------------------------------------------------

    def key(self, state: JobState) -> Hashable:
        """Return everything by which two equal gangs are told apart here."""
        return (state.tenant, state.demand.guarantee) if self.active else None

    def _share(self, tenant: str, model: str) -> Share | None:
        """Return the share of a tenant that has limits here; None if it has none."""
        shares = self._shares.get(tenant)
        if shares is None:
            return None
        return shares.get(model) or Share(pool=self._pool, gpu_model=model)

    def _used(self, of: Mapping[tuple[str, str], Account], name: tuple[str, str]) -> Account:
        return of.get(name) or Account()

    def headroom(
        self, state: JobState, gone: frozenset[JobKey] = NOBODY, *, owner: bool = False
    ) -> Headroom:
        """Return how much a job may have once those are gone, of the models of which it could come
        to ask for more than that.

        owner: so much that its tenant stays within its share.
        """
        if state.tenant not in self._shares or not counts(state):
            return {}
        found = {}
        for model in sorted(self.models):
            wanted = asked(state.demand.roles, model)
            left = self._left(state, model, gone, owner=owner)
            if left is not None and left < wanted:
                found[model] = max(0, left)
        return found

    def _left(
        self, state: JobState, model: str, gone: frozenset[JobKey], *, owner: bool
    ) -> int | None:
        share, name = self._share(state.tenant, model), (state.tenant, model)
        if share is None:
            return None
        lefts = []
        if state.demand.guarantee:
            sure = self._used(self._guaranteed, name).worst(gone)
            lefts.append(CARD * share.guaranteed - sure)
        if share.ceiling is not None:
            lefts.append(CARD * share.ceiling - self._used(self._all, name).worst(gone))
        if owner:
            lefts.append(-self.lent(*name, gone))
        return min(lefts, default=None)

    def open_to(self, state: JobState, headroom: Headroom) -> Models | None:
        """Return the models of which a worker of a job may have what it asks for. None = all."""
        found = frozenset(
            m for m in self.models if m not in headroom or _one(state, m, headroom[m])
        )
        return None if found == self.models else found

    def holds(self, state: JobState, headroom: Headroom) -> bool:
        """Tell whether all workers of a job together keep to this, were there nodes for them."""
        return spread(state.demand.roles, self.models, headroom) is not None

    def short(self, state: JobState) -> Short | None:
        """Return what a job's tenant has too little of, on the model where least is missing."""
        shorts = [self._short(state, model, NOBODY) for model in sorted(self.models)]
        found = [each for each in shorts if each and each.asked]
        return min(found, key=lambda each: each.used + each.asked - each.limit, default=None)

    def _short(self, state: JobState, model: str, gone: frozenset[JobKey]) -> Short | None:
        share, wanted = self._share(state.tenant, model), asked(state.demand.roles, model)
        if share is None or not wanted:
            return None
        name = state.tenant, model
        if state.demand.guarantee:
            limit, used = CARD * share.guaranteed, self._used(self._guaranteed, name).worst(gone)
            if used + wanted > limit:
                return Short(state.tenant, model, True, limit, used, wanted)
        if share.ceiling is not None:
            limit, used = CARD * share.ceiling, self._used(self._all, name).worst(gone)
            if used + wanted > limit:
                return Short(state.tenant, model, False, limit, used, wanted)
        return None

    # --- lenders and borrowers -------------------------------------------------------------------

    def owned_by(self, state: JobState, gone: frozenset[JobKey] = NOBODY) -> Models:
        """Return the models of which the tenant stays within its share with this job, or with
        some of its workers where the others have their part of another model.

        What leaves, and those in `gone`, count no more.
        """

        def left(model: str) -> int:
            return -self.lent(state.tenant, model, gone)

        return self._owned(state, left)

    def could_own(self, state: JobState) -> Models:
        """Return the models of which its tenant would stay within its share with this job, were
        none of its ordinary jobs there."""

        def left(model: str) -> int:
            share = self._share(state.tenant, model)
            fixed = self._used(self._guaranteed, (state.tenant, model)).without(NOBODY)
            return (CARD * share.guaranteed if share else 0) - fixed

        return self._owned(state, left)

    def _owned(self, state: JobState, left: Callable[[str], int]) -> Models:
        if state.tenant not in self._shares or not owns(state):
            return frozenset()
        lefts = {model: left(model) for model in self.models}
        if spread(state.demand.roles, self.models, lefts) is None:
            return frozenset()
        return frozenset(m for m in self.models if _one(state, m, lefts[m], wanted=True))

    def owns_whole(self, state: JobState) -> bool:
        """Tell whether there is a model of which the tenant stays within its share with all of a
        job."""
        roles, tenant = state.demand.roles, state.tenant
        wanted = {model: asked(roles, model) for model in self.models}
        return any(each and self.lent(tenant, m) + each <= 0 for m, each in wanted.items())

    def stays(self, tenant: str, model: str, gone: frozenset[JobKey] = NOBODY) -> int:
        """Return what a tenant has of a model and does not give back."""
        return self._used(self._all, (tenant, model)).without(gone | self._leaving)

    def lent(self, tenant: str, model: str, gone: frozenset[JobKey] = NOBODY) -> int:
        """Return how much more than its guaranteed share a tenant has; negative = less."""
        share = self._share(tenant, model)
        return self.stays(tenant, model, gone) - (CARD * share.guaranteed if share else 0)

    def borrows(self, victim: JobState, models: Models | None) -> bool:
        """Tell whether a job's tenant borrows of a model that the job has, and that is wanted."""
        return any(
            self.lent(victim.tenant, model) > 0
            for model in self._where.get(key_of(victim), {})
            if models is None or model in models
        )

    def wants(self, state: JobState) -> bool:
        """Tell whether a job asks for GPUs, of a class of which there are shares."""
        return owns(state) and any(milli(role) for role in state.demand.roles)

    def owns_of(self, state: JobState) -> bool:
        """Tell whether the tenant of a job has a guaranteed share here at all."""
        return any(share.guaranteed for share in self._shares.get(state.tenant, {}).values())

    def owns_what_it_has(self, victim: JobState) -> bool:
        """Tell whether a job's tenant stays within its share of all that the job has."""
        if victim.tenant not in self._shares or not owns(victim):
            return False
        has = self._where.get(key_of(victim), {})
        return bool(has) and all(self.lent(victim.tenant, model) <= 0 for model in has)

    def too_deep(self, victims: Sequence[JobState]) -> list[JobKey]:
        """Return those of the victims whose tenants have nothing borrowed by the time they come.

        In the order given. The last one of a tenant may take it below its share: gangs are whole.
        """
        gone: set[JobKey] = set()
        deep = []
        for state in victims:
            has = self._where.get(key_of(state), {})
            taken = frozenset(gone)
            if has and all(self.lent(state.tenant, model, taken) <= 0 for model in has):
                deep.append(key_of(state))
            else:
                gone.add(key_of(state))
        return deep


def milli_of(state: JobState, worker: str) -> int:
    """Return the same for a worker by its name; of an unknown one, the most that any takes."""
    try:
        return milli(state.demand.role_of(worker))
    except KeyError:
        return max((milli(role) for role in state.demand.roles), default=0)


# --- the order of the queue --------------------------------------------------------------------


class Owners:
    """Who of a queue stays within a share: these come before those who would borrow.

    Found once for a plan, first in line first: as many of an owner's jobs as its share still holds.
    A start that borrows while an owner waits would be followed by an eviction.
    """

    def __init__(self, ledger: Ledger, book: Book, policy: Policy) -> None:
        self._active = ledger.active
        self._owners: set[JobKey] = set()
        self._planned: dict[tuple[str, str], int] = {}
        if self._active:
            self._find(ledger, book, policy)

    def borrows(self, waiter: Waiter) -> bool:
        """Tell whether a job would borrow."""
        return self._active and waiter.key not in self._owners

    def _find(self, ledger: Ledger, book: Book, policy: Policy) -> None:
        heads: list[tuple[Rank, int, Sequence[Waiter], int]] = []
        for number, line in enumerate(book.lines.values()):
            state = line.waiters[0].read().state
            if not ledger.wants(state):
                self._owners.update(waiter.key for waiter in line.waiters)
            elif ledger.owns_of(state):
                heads.append((rank(state, policy), number, line.waiters, 0))
        heapify(heads)
        while heads:
            _, number, waiters, index = heappop(heads)
            state = waiters[index].read().state
            if self._take(state, ledger):  # if not, the others of its line ask for as much
                self._owners.add(waiters[index].key)
                if index + 1 < len(waiters):
                    after = waiters[index + 1].read().state
                    heappush(heads, (rank(after, policy), number, waiters, index + 1))

    def _take(self, state: JobState, ledger: Ledger) -> bool:
        names = {model: (state.tenant, model) for model in sorted(ledger.models)}
        left = {m: -ledger.lent(*name) - self._planned.get(name, 0) for m, name in names.items()}
        taken = spread(state.demand.roles, ledger.models, left)
        for model, amount in (taken or {}).items():
            self._planned[names[model]] = self._planned.get(names[model], 0) + amount
        return bool(taken)
