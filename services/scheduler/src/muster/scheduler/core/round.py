"""One round in the making: the board, the moves so far, and the means to place one more job.

Lives only while `plan` runs. Every job sees the effect of those that were decided before it.
Where a job may go, `ground` says; who may make room for it, `exits`; here is what is done about it,
and `_commit` is the one place where a placement becomes a decision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muster.domain.facts import (
    Fact,
    Preempted,
    Scheduled,
    Unscheduled,
    Withdrawal,
)
from muster.domain.nodes import NodeState
from muster.domain.state import JobState, Wait
from muster.scheduler.core.amounts import of_foreign, of_shape
from muster.scheduler.core.board import Board, claim_on, claimed_by
from muster.scheduler.core.doors import is_there
from muster.scheduler.core.exits import Exits
from muster.scheduler.core.ground import Ground
from muster.scheduler.core.jobs import JobKey, Listed
from muster.scheduler.core.market import market_of
from muster.scheduler.core.placement import UNCHANGED, How, Placed, Shortfall, how_for, place
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rank import cause_for
from muster.scheduler.core.rooms import Kind, Sites
from muster.scheduler.core.scoring import taste
from muster.scheduler.core.snapshot import Snapshot, is_hold
from muster.scheduler.core.upkeep import awaited_by, upkeep
from muster.scheduler.core.verdicts import Decision, Move
from muster.scheduler.core.victims import Candidate, Exit, Search, Way, find_way


class Round:
    """See the module. size: how many events the round has so far."""

    def __init__(self, snapshot: Snapshot, policy: Policy) -> None:
        self.snapshot, self.policy = snapshot, policy
        self.nodes: Mapping[str, NodeState] = {
            node.node: node
            for node in sorted(snapshot.nodes, key=lambda node: node.node)
            if is_there(node)
        }
        self.board = Board(
            {name: of_shape(node.shape) for name, node in self.nodes.items()},
            {name: of_foreign(node.foreign) for name, node in self.nodes.items() if node.foreign},
        )
        self.taste = taste(policy.placement, market_of(self.nodes.values(), snapshot.book.kinds()))
        self.ground = Ground(self.nodes, self.board, policy)
        self.exits = Exits(snapshot, policy)
        self.moves: list[Move] = []
        self.size = 0
        self._holding = {job.key: job for job in sorted(snapshot.holding, key=lambda j: j.key)}
        for job in self._holding.values():
            self._enter(job)

    def _enter(self, job: Listed) -> None:
        state = job.state
        awaited = awaited_by(state, self._holding) if is_hold(state) else []
        self.board.claim(job.key, claimed_by(state), frozenset(v.key for v in awaited))
        self.exits.enter(job)

    @property
    def looks(self) -> int:
        """Return how much the round has looked at so far: nodes, or groups of equal ones."""
        return self.ground.looks + self.exits.looks

    def decide(self, *decisions: Decision) -> None:
        """Add a move."""
        self.moves.append(Move(decisions))
        self.size += len(decisions)

    # --- upkeep --------------------------------------------------------------------------------

    def keep_up(self) -> None:
        """Do what is owed to jobs that hold something, as far as one round can."""
        every = {node.node: node for node in self.snapshot.nodes}
        for job in self._holding.values():
            if self.size >= self.policy.max_decisions:
                return
            if job.key in self.snapshot.set_aside:
                continue
            awaited = awaited_by(job.state, self._holding)
            fact = upkeep(job, every, awaited, self.snapshot.now)
            if fact is not None:
                self.decide(Decision(job.key, fact))
                self._apply(job, fact)

    def _apply(self, job: Listed, fact: Fact) -> None:
        match fact:
            case Unscheduled():
                self.ground.touch(self.board.nodes_of(job.key))
                self.board.drop(job.key)
                self.exits.gone(job)
            case Preempted():
                self.exits.leaves(job, fact.grace_s)
            case _:
                pass

    # --- placing -------------------------------------------------------------------------------

    def how(self, state: JobState) -> How:
        """Return how nodes are chosen for a job."""
        return how_for(state.demand, self.taste, self.policy.levels)

    def _place(
        self, job: Listed, sites: Sites, moved: Mapping[str, Kind] = UNCHANGED
    ) -> Placed | Shortfall:
        return place(job.state.demand.roles, sites, moved, self.how(job.state))

    def falls_short(self, job: Listed) -> Shortfall | None:
        """Return what is missing of free room for a job; None if it would fit."""
        found = self._place(job, self.ground.open_to(job.state))
        return found if isinstance(found, Shortfall) else None

    def place_free(self, job: Listed) -> Shortfall | None:
        """Place a job in free room; return what falls short instead."""
        found = self._place(job, self.ground.open_to(job.state))
        if isinstance(found, Shortfall):
            return found
        self._commit(job, found, ())
        return None

    def place_by_eviction(self, job: Listed) -> Search:
        """Place a job in room that others leave, if there is a way.

        Nobody is sent off for a job that has a place without: it then takes what it avoids.
        """
        sites = self.ground.open_to(job.state)
        way = self._way(job, sites, self.exits.who_leaves() + self.exits.who_may_go(job))
        if way is None:
            return Search.NO_WAY
        if way.has_victims and job.state.avoid:
            way = self._gentle_way(job) or way
        if self.size + len(way.candidates) >= self.policy.max_decisions:
            return Search.CUT
        self._commit(job, way.placement, way.candidates)
        return Search.PLACED

    def _gentle_way(self, job: Listed) -> Way | None:
        """Return a way on all the nodes that are open, avoided ones too, on which nobody leaves
        for this job."""
        sites = self.ground.open_to(job.state, avoiding=False)
        found = self._place(job, sites)
        if not isinstance(found, Shortfall):
            return Way(found, ())
        return self._way(job, sites, self.exits.who_leaves())

    def _way(self, job: Listed, sites: Sites, candidates: Sequence[Candidate]) -> Way | None:
        usable = sites.every.kinds.keys()

        def fits(gone: frozenset[JobKey]) -> Placed | Shortfall:
            return self._place(job, sites, self.ground.without(sites, gone))

        useful = [c for c in candidates if not usable.isdisjoint(self.board.nodes_of(c.key))]
        return find_way(useful, fits, self.board.nodes_of, self.policy.max_singles)

    def _commit(self, job: Listed, placement: Placed, gone: Sequence[Candidate]) -> None:
        decisions = [self._send_off(one, job) for one in gone if one.exit is not Exit.LEAVES_ANYWAY]
        leaving = self.exits.leaving
        partings = [leaving[one.job.key] for one in gone if one.exit is not Exit.HOLD_TAKEN]
        waits = tuple(_wait(parting.job) for parting in partings)
        keys = frozenset(parting.job.key for parting in partings)
        cards = self.board.cards(placement.shares, keys)
        scheduled = Scheduled(
            placement=placement,
            cards=cards,
            waits_for=waits,
            grace_s=max((parting.seconds for parting in partings), default=0),
        )
        self.decide(*decisions, Decision(job.key, scheduled))
        self.board.claim(job.key, claim_on(placement, job.state.demand, cards), keys)
        self.ground.touch(placement)

    def _send_off(self, one: Candidate, beneficiary: Listed) -> Decision:
        state, by = one.job.state, beneficiary.state.job
        fact: Fact
        if one.exit is Exit.HOLD_TAKEN:
            fact = Unscheduled(cause=Withdrawal.HOLD_TAKEN, by=by)
        else:
            fact = Preempted(cause=cause_for(state), by=by, grace_s=state.demand.grace_s)
        self._apply(one.job, fact)
        return Decision(one.job.key, fact)


def _wait(job: Listed) -> Wait:
    return Wait(tenant=job.state.tenant, job=job.state.job, attempt=job.state.attempt)
