"""I24: spot capacity, as a round of the scheduler knew it: how much is offered, and to whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import ClassVar

from muster.domain.causes import EvictionCause
from muster.domain.demand import ResourceClass
from muster.domain.facts import Preempted, Scheduled, Unscheduled, Withdrawal
from muster.domain.phases import PARKED, TERMINAL, Phase
from muster.domain.state import JobState
from muster.domain.stock import StockChanged
from muster.domain.tenants import EVERYONE
from muster.testing.invariants.base import Invariant, JobChange, Known, goes
from muster.testing.world import World

_LEAVES = TERMINAL | PARKED | {Phase.EVICTING, Phase.STOPPING, Phase.INTERRUPTED}


class StockIsKept(Invariant):
    """Looked at once a round is whole, with the facts about stock, tenants and jobs it knew."""

    number: ClassVar[str] = "I24"
    text: ClassVar[str] = (
        "No placement takes more of an item of spot stock than is offered, or gives any to a tenant"
        " that may use none; when stock falls whole jobs leave, and no more than it takes."
    )

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._past: dict[str, list[tuple[int, JobState]]] = defaultdict(list)
        self._placed: list[JobChange] = []
        self._gone: list[JobChange] = []

    def on_job(self, change: JobChange) -> None:
        match change.fact:
            case Scheduled():
                self._placed.append(change)
            case Preempted() | Unscheduled():
                self._gone.append(change)
        self._past[change.after.job].append((change.seq, change.after))

    def on_step(self, world: World) -> None:
        placed, self._placed = self._placed, []
        going, self._gone = self._gone, []
        for change in placed:
            upto = self.known.rounds[change.after.pool][-1][1].upto
            self._may_use(change.after, upto)
            self._offered(change.after, upto)
        gone: set[str] = set()
        for change in going:
            self._needed(change, frozenset(gone))
            gone.add(change.after.job)

    # --- placements ------------------------------------------------------------------------------

    def _may_use(self, state: JobState, upto: int) -> None:
        kind = state.demand.resource_class
        shapes = [self.known.nodes[n].shape for n in state.held if n in self.known.nodes]
        on_spot = kind is ResourceClass.IDLE and any(shape.spot for shape in shapes)
        if kind is not ResourceClass.SPOT and not on_spot:
            return
        everyone = self.known.tenant_at(EVERYONE, upto).may_use_spot(state.pool)
        if not self.known.tenant_at(state.tenant, upto).may_use_spot(state.pool, everyone):
            raise self.broken(f"placed, and {state.tenant} may use no spot", state.job)

    def _offered(self, state: JobState, upto: int) -> None:
        holding = [job for job in self.known.jobs.values() if job.held and job.pool == state.pool]
        awaited = {(wait.job, wait.attempt) for job in holding for wait in job.waits_for}
        staying = [job for job in holding if (job.job, job.attempt) not in awaited]
        for offer in self._offers(state, upto):
            used = _used(staying, self.known, offer)
            if used > (offer.gpus or 0):
                raise self.broken(f"{used:g} of {_name(offer)} are held, {offer.gpus} are offered")

    def _offers(self, state: JobState, upto: int) -> list[StockChanged]:
        """Return the items under a job of which something was said."""
        known = self.known
        shapes = [known.nodes[node].shape for node in state.held if node in known.nodes]
        items = {(state.pool, s.zone, s.gpu_model) for s in shapes if s.spot and s.gpus}
        found = (known.stock_at(item, upto) for item in sorted(items))
        return [offer for offer in found if offer is not None]

    # --- what is given back ----------------------------------------------------------------------

    def _needed(self, change: JobChange, gone: frozenset[str]) -> None:
        fact, before = change.fact, change.before
        if before is None:
            return
        returned = isinstance(fact, Preempted) and fact.cause is EvictionCause.SPOT_RECLAIM
        withdrawn = isinstance(fact, Unscheduled) and fact.cause is Withdrawal.STOCK_GONE
        nodes = (self.known.node_in_round(node, before.pool) for node in before.held)
        if not (returned or withdrawn) or any(map(goes, nodes)):
            return
        upto = self.known.rounds[before.pool][-1][1].upto
        there = [job for job in self._staying(upto) if job.job not in gone]
        over = (_used(there, self.known, o) > (o.gpus or 0) for o in self._offers(before, upto))
        if not any(over):
            raise self.broken("told to give stock back of which enough is offered", before.job)

    def _staying(self, upto: int) -> Iterable[JobState]:
        for past in self._past.values():
            known = [state for seq, state in past if seq <= upto]
            if known and known[-1].held and known[-1].phase not in _LEAVES:
                yield known[-1]


def _used(jobs: Iterable[JobState], known: Known, offer: StockChanged) -> float:
    """Return the GPUs of an item that jobs hold."""
    milli = 0
    for job in jobs:
        for worker, node in job.placed_on.items():
            shape = known.nodes[node].shape if node in known.nodes else None
            if job.pool != offer.pool or shape is None or not shape.spot:
                continue
            if (shape.zone, shape.gpu_model) == (offer.zone, offer.gpu_model):
                role = job.demand.role_of(worker)
                milli += 1000 * role.gpus + role.gpu_milli
    return milli / 1000


def _name(offer: StockChanged) -> str:
    return f"{offer.gpu_model} in {offer.zone}"
