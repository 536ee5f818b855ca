"""One round in the making: the board, the moves so far, and the means to place one more job.

Lives only while `plan` runs. Every job sees the effect of those that were decided before it.
Where a job may go, `ground` says; who may make room for it, `exits`; here is what is done about it,
and `_commit` is the one place where a placement becomes a decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from muster.domain.causes import EvictionCause
from muster.domain.demand import LocalityMode, Role
from muster.domain.facts import (
    Fact,
    Preempted,
    Scheduled,
    Unscheduled,
    Withdrawal,
)
from muster.domain.model import assembled
from muster.domain.nodes import NodeState
from muster.domain.state import JobState, Wait
from muster.scheduler.core import waves
from muster.scheduler.core.amounts import of_role
from muster.scheduler.core.board import NOBODY, claim_on
from muster.scheduler.core.exits import Exits
from muster.scheduler.core.ground import Ground
from muster.scheduler.core.jobs import JobKey, Listed
from muster.scheduler.core.keeping import Keeper
from muster.scheduler.core.memory import Memory
from muster.scheduler.core.placement import (
    UNCHANGED,
    Asked,
    How,
    Placed,
    Shortfall,
    chain_to,
    could_hold,
    domain_in,
    how_for,
    place,
)
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.quota import Ledger, Models, Short, narrowed, owns
from muster.scheduler.core.rank import level
from muster.scheduler.core.rights import Bid, Rights
from muster.scheduler.core.rooms import Levels, Sites, domain_of
from muster.scheduler.core.snapshot import Snapshot
from muster.scheduler.core.spot_room import SpotRoom
from muster.scheduler.core.stock import Holdings, Scarce, Stock
from muster.scheduler.core.tally import Tally
from muster.scheduler.core.upkeep import awaited_by, grace_ends, hurries, returns, upkeep
from muster.scheduler.core.verdicts import Decision, Move
from muster.scheduler.core.victims import Candidate, Exit, Search, Way, find_way

EVERYBODY = Bid()
LAWFUL_TRIES = 8
"""So often victims are looked for anew, when some of them were not borrowed."""


class Round:
    """See the module. size: how many events the round has so far."""

    def __init__(self, snapshot: Snapshot, policy: Policy) -> None:
        self.snapshot, self.policy = snapshot, policy
        memory = self._memory = snapshot.memory or Memory()
        memory.recall(snapshot, policy)
        self.nodes: Mapping[str, NodeState] = memory.nodes
        self.board, self.taste = memory.board.fork(), memory.taste
        self.ground = Ground(memory, self.board, policy, snapshot)
        self.ledger = Ledger(snapshot)
        self.rights = Rights(snapshot, policy, self.ledger)
        self.exits = Exits(snapshot, self.rights, memory.holders)
        self.next_instant = memory.holders.next_instant(snapshot.now)
        self.stock = Stock(snapshot)
        self.spot = SpotRoom(snapshot, policy)
        self.moves: list[Move] = []
        self.placed: dict[JobKey, JobState] = {}
        self.size = 0
        self.keeper = Keeper(self)
        if self.ledger.active or self.stock.active or self.spot.active:
            self._open_books()

    def holder(self, key: JobKey) -> JobState | None:
        """Return a job that held something when the round began."""
        job = self._memory.holders.all.get(key)
        return job.state if job else None

    def _open_books(self) -> None:
        for key, job in self.snapshot.book.holding.items():
            waits = self._memory.waits(job)
            self.ledger.claim(job.state, job.state.held, waits)
            self.stock.claim(job.state, job.state.held, waits)
            self.spot.claim(job.state, job.state.held, waits)
            if key in self.exits.leaving:
                self.ledger.leave(key)

    @property
    def looks(self) -> int:
        """Return how much the round has looked at so far: nodes, or groups of equal ones."""
        return self.ground.looks + self.exits.looks

    def decide(self, *decisions: Decision) -> None:
        """Add a move."""
        self.moves.append(Move(decisions))
        self.size += len(decisions)

    def change_at(self, at: datetime) -> None:
        """Note that the same log gives another plan from an instant on."""
        self.next_instant = min(self.next_instant or at, at)

    # --- upkeep --------------------------------------------------------------------------------

    def keep_up(self) -> None:
        """Do what is owed to jobs that hold something, as far as one round can."""
        holders, every = self._memory.holders, self._memory.every
        concerned = {*holders.holds, *holders.on(self._memory.troubled)}
        for key in sorted(concerned - self.snapshot.set_aside):
            if self.size >= self.policy.max_decisions:
                return
            job = holders.all[key]
            awaited = awaited_by(job.state, holders.all)
            fact = upkeep(job, every, awaited, self.snapshot.now)
            if fact is not None:
                self.decide(Decision(job.key, fact))
                self._apply(job, fact)
        if self.stock.active:
            self._give_back()

    def _give_back(self) -> None:
        """Send off who holds more of spot stock than is offered any more, in time.

        Who was told to leave is on the way out, however long that takes by now.
        """
        told = {one.job for move in self.moves for one in move.decisions}
        leavers = self._memory.holders.leavers
        for owed in self.stock.owed(frozenset({*self.exits.leaving, *leavers})):
            free = [job for job in self.exits.touchable() if job.key not in told]
            if not self._decide_all(returns(owed, free, self.stock, self.snapshot.now), told):
                return
        ends = grace_ends(leavers.values())
        for owed in self.stock.owed_late(frozenset({*self.exits.leaving, *leavers}), ends):
            late = [job for job in leavers.values() if job.key not in told]
            if not self._decide_all(hurries(owed, late, self.stock, self.snapshot.now), told):
                return

    def _decide_all(self, found: Iterable[tuple[Listed, Fact]], told: set[JobKey]) -> bool:
        """Decide as much as one round may; tell whether that was all."""
        for job, fact in found:
            if self.size >= self.policy.max_decisions:
                return False
            self.decide(Decision(job.key, fact))
            self._apply(job, fact)
            told.add(job.key)
        return True

    def _apply(self, job: Listed, fact: Fact) -> None:
        if isinstance(fact, Unscheduled | Preempted):
            self.ground.touch(self.board.nodes_of(job.key))
            self._enter(job, fact)

    def _enter(self, job: Listed, fact: Unscheduled | Preempted) -> None:
        match fact:
            case Unscheduled():
                self.board.drop(job.key)
                self.ledger.drop(job.key)
                self.stock.drop(job.key)
                self.spot.drop(job.key)
                self.exits.gone(job)
            case Preempted():
                self.exits.leaves(job, fact.grace_s)
                self.ledger.leave(job.key)

    # --- placing -------------------------------------------------------------------------------

    def how(self, state: JobState) -> How:
        """Return how nodes are chosen for a job."""
        return how_for(state.demand, self.taste, self.policy.levels)

    def _fit(
        self,
        job: Listed,
        sites: Sites,
        gone: frozenset[JobKey] = NOBODY,
        bid: Bid = EVERYBODY,
        touched: set[str] | None = None,
    ) -> Placed | Shortfall:
        """Place a gang on the models that its tenant may use, and on no more of each than that, as
        if some jobs were gone."""
        state, how = job.state, self.how(job.state)
        headroom = self.ledger.headroom(state, gone, owner=bid.owner)
        if headroom:
            how = replace(how, limits=headroom)
        models = self.ledger.open_to(state, headroom)
        if bid.owner:
            models = _both(models, _both(bid.models, self.ledger.owned_by(state, gone)))
        roles = narrowed(state.demand.roles, models)
        if isinstance(roles, Role):
            return Shortfall(roles, 0, roles.replicas)
        moved = self.ground.without(sites, gone, touched) if gone else UNCHANGED
        found = place(roles, sites, moved, how)
        while not isinstance(found, Shortfall) and (shut := self._shut_by(state, found, gone)):
            moved = {**moved, **self.ground.emptied(sites, shut)}
            found = place(roles, sites, moved, how)
        return found

    def _shut_by(self, state: JobState, placed: Placed, gone: frozenset[JobKey]) -> set[str]:
        """Return the nodes of what a placement would take too much of."""
        books = self.stock, self.spot
        return {name for book in books for name in book.nodes_of(book.over(state, placed, gone))}

    def falls_short(self, job: Listed) -> Shortfall | None:
        """Return what is missing of free room for a job; None if it would fit."""
        found = self._fit(job, self.ground.open_to(job.state))
        return found if isinstance(found, Shortfall) else None

    def place_free(self, job: Listed) -> Shortfall | None:
        """Place a job in free room; return what falls short instead."""
        found = self._fit(job, self.ground.open_to(job.state))
        if isinstance(found, Shortfall):
            return None if self._place_in_kept(job) else found
        way = self._nearer_way(job, found)
        if way is None or self._go(job, way, EVERYBODY) is not Search.PLACED:
            self._commit(job, found, (), EVERYBODY)
        return None

    def _nearer_way(self, job: Listed, found: Placed | None) -> Way | None:
        """Return a way on which a gang comes as near together as if there were no idle jobs.

        Only if free room is worse; found = None: there is none. The idle jobs that go are those
        whose room it takes.
        """
        state = job.state
        if state.demand.tier == 0 or (len(found) if found else len(state.demand.workers)) == 1:
            return None
        distance = self._distance(state, found) if found is not None else None
        if not (self._wishes(state) if distance is None else any(distance)):
            return None
        idle = [one for one in self.exits.who_may_go(job, EVERYBODY) if one.level[0] == 0]
        if not idle:
            return None
        sites = self.ground.open_to(state)
        ideal = self._fit(job, sites, frozenset(one.key for one in idle))
        if isinstance(ideal, Shortfall):
            return None
        best = self._distance(state, ideal)
        if distance is not None and best >= distance:
            return None

        def fits(gone: frozenset[JobKey], touched: set[str]) -> Placed | Shortfall:
            placed = self._fit(job, sites, gone, EVERYBODY, touched)
            if isinstance(placed, Shortfall) or self._distance(state, placed) <= best:
                return placed
            role = state.demand.roles[0]
            return Shortfall(role, 0, role.replicas)

        leaving = self.exits.who_leaves() if found is None else []
        useful = self._useful(job, leaving + idle, sites)
        policy, counted = self.policy, self._counting(job, sites, exact=False)
        return find_way(useful, fits, policy.max_singles, None, policy.max_placements, counted)

    def _wishes(self, state: JobState) -> bool:
        """Tell whether a gang is kept together as far as it can be, and not in any case."""
        locality = state.demand.locality
        if locality is None:
            return bool(self.policy.levels)
        return locality.mode is LocalityMode.PREFERRED

    def _distance(self, state: JobState, placed: Placed) -> tuple[int, ...]:
        """Return how far apart a gang is, nothing but zeros if it is together: over how many more
        domains than one of the level that it names; else at which levels of the pool, coarse to
        fine, it is in more than one."""
        levels, locality = self.policy.levels, state.demand.locality
        if locality is not None:
            return (self._domains(placed, chain_to(locality.level, levels)) - 1,)
        chains = [levels[:depth] for depth in range(1, len(levels) + 1)]
        return tuple(int(self._domains(placed, chain) > 1) for chain in chains)

    def _domains(self, placed: Placed, chain: Levels | None) -> int:
        """Return over how many domains a gang is spread. chain: None = nodes."""
        if chain is None:
            return len(placed)
        return len({domain_of(node, self.nodes[node].shape, chain) for node in placed})

    def _place_in_kept(self, job: Listed) -> bool:
        """Place a job that may use room that is kept, if it has some there."""
        if not self.keeper.spares(job.state):
            return False
        found = self._fit(job, self._regardless(job.state))
        if isinstance(found, Shortfall):
            return False
        self._commit(job, found, (), EVERYBODY, self.keeper.kept)
        self.keeper.let_in(job.key)
        return True

    def is_kept_out(self, job: Listed) -> bool:
        """Tell whether a job that has no room would have some if none were kept."""
        if not self.keeper.kept or self.keeper.spares(job.state):
            return False
        return not isinstance(self._fit(job, self._regardless(job.state)), Shortfall)

    def _regardless(self, state: JobState) -> Sites:
        """Return the nodes that a job could use if no room were kept."""
        return self.ground.open_to(state, but_for=self.keeper.kept)

    def fit(self, job: Listed, sites: Sites, gone: frozenset[JobKey]) -> Placed | Shortfall:
        """Place a gang as if some jobs were gone; nothing is decided."""
        return self._fit(job, sites, gone)

    def short_of_quota(self, job: Listed) -> Short | None:
        """Return what the tenant has too little of, if that alone keeps a job out, room or not."""
        state = job.state
        headroom = self.ledger.headroom(state)
        if not headroom:
            return None
        if not self.ledger.holds(state, headroom):
            return self.ledger.short(state)
        found = place(state.demand.roles, self.ground.open_to(state), how=self.how(state))
        return None if isinstance(found, Shortfall) else self.ledger.short(state)

    def short_of(self, job: Listed, book: Holdings) -> Scarce | None:
        """Return the item of which too little may be had, if that alone keeps a job out."""
        if not book.active:
            return None
        state = job.state
        found = place(state.demand.roles, self.ground.open_to(state), how=self.how(state))
        over = [] if isinstance(found, Shortfall) else book.over(state, found)
        return min(over, key=lambda one: one.used + one.asked - one.offered, default=None)

    def place_by_eviction(self, job: Listed) -> Search:
        """Place a job in room that others leave, if there is a way.

        Nobody is sent off for a job that has a place without: it then takes what it avoids.
        """
        if self._is_hopeless(job):
            return Search.NO_WAY
        near = self._nearer_way(job, None)
        if near is not None and (gone := self._go(job, near, EVERYBODY)) is not Search.LIMITED:
            return gone
        sites = self.ground.open_to(job.state)
        for bid in self.rights.bids(job.state):
            candidates = self.exits.who_leaves() + self.exits.who_may_go(job, bid)
            way = self._way(job, sites, candidates, bid)
            if way is not None:
                return self._go(job, way, bid)
        return Search.NO_WAY

    def _is_hopeless(self, job: Listed) -> bool:
        """Tell whether there is too little room even if all were gone who might ever go."""
        exits = self.exits
        best = self.ground.at_best(job.state, exits.reaches(job), exits.leaving)
        return not could_hold(job.state.demand.roles, best.every)

    def _go(self, job: Listed, way: Way, bid: Bid) -> Search:
        if way.has_victims and job.state.avoid:
            way = self._gentle_way(job) or way
        evicted = [one for one in way.candidates if one.exit is Exit.EVICTED]
        causes = self.rights.causes(job.state, evicted, bid)
        if waves.is_long(self, way):
            return waves.go(self, job, way, bid)
        if not self.rights.may_evict_so_many(causes):
            waves.keep(self, job, way)
            return Search.LIMITED
        if self.size + len(way.candidates) >= self.policy.max_decisions:
            waves.keep(self, job, way)
            return Search.CUT
        self._commit(job, way.placement, way.candidates, bid)
        return Search.PLACED

    def _gentle_way(self, job: Listed) -> Way | None:
        """Return a way on all the nodes that are open, avoided ones too, on which nobody leaves
        for this job."""
        sites = self.ground.open_to(job.state, avoiding=False)
        found = self._fit(job, sites)
        if not isinstance(found, Shortfall):
            return Way(found, ())
        return self._way(job, sites, self.exits.who_leaves(), EVERYBODY)

    def _way(
        self, job: Listed, sites: Sites, candidates: Sequence[Candidate], bid: Bid
    ) -> Way | None:
        """Return the cheapest lawful way that is found.

        A tenant gives back what it has borrowed and no more. Which of its jobs it is taken from,
        the search finds out; a set that goes too deep is given up, and looked for without its
        dearest ones.
        """

        def fits(gone: frozenset[JobKey], touched: set[str]) -> Placed | Shortfall:
            return self._fit(job, sites, gone, bid, touched)

        def lawful(gone: Sequence[Candidate]) -> bool:
            return not self._too_deep(job, gone, bid)

        useful = self._useful(job, candidates, sites)
        policy, counted = self.policy, self._counting(job, sites)
        for _ in range(LAWFUL_TRIES):
            way = find_way(useful, fits, policy.max_singles, lawful, policy.max_placements, counted)
            deep = self._too_deep(job, way.candidates, bid) if way else ()
            if not deep:
                return way
            useful = [one for one in useful if one.key not in deep]
        return None

    def _counting(
        self, job: Listed, sites: Sites, *, exact: bool = True
    ) -> Callable[[], Tally] | None:
        """Return how to count the workers of a gang that have a place. not exact: it is not all."""
        how, rooms = self.how(job.state), sites.every
        part = domain_in(rooms, how)
        asked = [Asked(role, of_role(role)) for role in job.state.demand.roles if role.replicas]
        exact = exact and not (self.ledger.active or self.stock.active or self.spot.active)
        board = self.board
        return lambda: Tally(asked, rooms, board, part, exact=exact)

    def _useful(
        self, job: Listed, candidates: Iterable[Candidate], sites: Sites
    ) -> list[Candidate]:
        """Return those whose going gives room on a node, or in the tenant's share."""
        open_nodes = sites.every.kinds.keys()
        return [
            one
            for one in candidates
            if not open_nodes.isdisjoint(one.nodes)
            or (one.key[0] == job.key[0] and self.ledger.is_booked(one.key))
        ]

    def _too_deep(self, job: Listed, gone: Sequence[Candidate], bid: Bid) -> Sequence[JobKey]:
        if not self.ledger.active:
            return ()
        mine = job.state
        lent = [
            one.job.state
            for one in gone
            if one.exit is not Exit.LEAVES_ANYWAY
            and one.key[0] != job.key[0]
            and owns(one.job.state)
            and not (bid.owner and one.level < level(mine))
        ]
        return self.ledger.too_deep(lent)

    def _commit(
        self,
        job: Listed,
        placement: Placed,
        gone: Sequence[Candidate],
        bid: Bid,
        lenders: frozenset[JobKey] = NOBODY,
    ) -> None:
        """Make a placement a decision. lenders: jobs whose kept room it may use meanwhile."""
        victims = [one for one in gone if one.exit is not Exit.LEAVES_ANYWAY]
        causes = self.rights.causes(job.state, victims, bid)
        decisions = self.send_off(victims, job, causes)
        leaving = self.exits.leaving
        partings = [leaving[one.key] for one in gone if one.exit is not Exit.HOLD_TAKEN]
        waits = tuple(_wait(parting.job) for parting in partings)
        keys = frozenset(parting.job.key for parting in partings)
        cards = self.board.cards(placement.shares, keys | lenders)
        scheduled = Scheduled(
            placement=placement,
            cards=cards,
            waits_for=waits,
            grace_s=max((parting.seconds for parting in partings), default=0),
            outlook=self.ground.outlook(job.state, placement),
        )
        self.decide(*decisions, Decision(job.key, scheduled))
        self.board.claim(job.key, claim_on(placement, job.state.demand, cards), keys)
        self.ledger.claim(job.state, placement, keys)
        self.stock.claim(job.state, placement, keys)
        self.spot.claim(job.state, placement, keys)
        self.ground.touch(placement)
        self.placed[job.key] = job.state

    def send_off(
        self, victims: Sequence[Candidate], beneficiary: Listed, causes: Sequence[EvictionCause]
    ) -> list[Decision]:
        """Let victims leave, on the board and in the books; return what tells them to."""
        self.ground.touch(dict.fromkeys(node for one in victims for node in one.nodes))
        by, told = beneficiary.state.job, list[Decision]()
        for one, cause in zip(victims, causes, strict=True):
            fact: Unscheduled | Preempted
            if one.exit is Exit.HOLD_TAKEN:
                fact = Unscheduled(cause=Withdrawal.HOLD_TAKEN, by=by)
            else:
                fact = _preempted(cause, by, one.job.state.demand.grace_s)
                self.rights.note(cause)
            self._enter(one.job, fact)
            told.append(Decision(one.key, fact))
        return told


def _both(one: Models | None, other: Models | None) -> Models | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


@lru_cache(maxsize=256)
def _preempted(cause: EvictionCause, by: str, grace_s: int) -> Preempted:
    """Return the order to leave: thousands may get the same."""
    return Preempted(cause=cause, by=by, grace_s=grace_s)


def _wait(job: Listed) -> Wait:
    tenant, name = job.key
    return assembled(Wait, {"tenant": tenant, "job": name, "attempt": job.state.attempt})
