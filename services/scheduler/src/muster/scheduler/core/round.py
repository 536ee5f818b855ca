"""One round in the making: the board, the moves so far, and the means to place one more job.

Lives only while `plan` runs. Every job sees the effect of those that were decided before it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from muster.domain.demand import ResourceClass
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
from muster.scheduler.core.doors import is_there, second_choice, shut
from muster.scheduler.core.fitting import KNOWN_DOORS, Fitting, doors_of, reachable
from muster.scheduler.core.leaving import Parting, seconds_left, worth_waiting
from muster.scheduler.core.market import market_of
from muster.scheduler.core.placement import How, Placed, Shortfall, how_for, place
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rank import Level, cause_for, level, may_evict, protected_until, shielded
from muster.scheduler.core.rooms import Kind, Known, Moved, Site, Sites, gathered
from muster.scheduler.core.scoring import taste
from muster.scheduler.core.snapshot import JobKey, Listed, Snapshot, is_hold
from muster.scheduler.core.upkeep import awaited_by, may_be_told_to_leave, upkeep
from muster.scheduler.core.verdicts import Decision, Move
from muster.scheduler.core.victims import Candidate, Exit, Search, Way, candidate, find_way


class Round:
    """See the module."""

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
        market = market_of(self.nodes.values(), (job.state for job in snapshot.jobs))
        self.taste = taste(policy.placement, market)
        self.moves: list[Move] = []
        self._holding = {job.key: job for job in sorted(snapshot.holding, key=lambda j: j.key)}
        self._leaving: dict[JobKey, Parting] = {}
        self._touchable: dict[JobKey, Listed] = {}
        self._leavers: dict[JobKey, Candidate] = {}
        self._victims: dict[tuple[Level, ResourceClass, bool], list[Candidate]] = {}
        self.fitting = Fitting(self.nodes, policy)
        self._looks = 0
        self._sites: dict[Hashable, Known] = {}
        self._touched: list[str] = []
        for job in self._holding.values():
            self._enter(job)

    def _enter(self, job: Listed) -> None:
        state, now = job.state, self.snapshot.now
        awaited = awaited_by(state, self._holding) if is_hold(state) else []
        self.board.claim(job.key, claimed_by(state), frozenset(v.key for v in awaited))
        if worth_waiting(state, now):
            self._leaving[job.key] = Parting(job, seconds_left(state, now))
        elif job.key in self.snapshot.set_aside:
            return
        elif is_hold(state) or may_be_told_to_leave(state):
            self._touchable[job.key] = job

    @property
    def size(self) -> int:
        """Return how many events the round has so far."""
        return sum(len(move.decisions) for move in self.moves)

    @property
    def looks(self) -> int:
        """Return how many nodes, or groups of equal ones, the round has looked at so far."""
        return self._looks + self.fitting.looks

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
                self.moves.append(Move((Decision(job.key, fact),)))
                self._apply(job, fact)

    def _apply(self, job: Listed, fact: Fact) -> None:
        match fact:
            case Unscheduled():
                self._touched += self.board.nodes_of(job.key)
                self.board.drop(job.key)
                self._touchable.pop(job.key, None)
            case Preempted():
                self._touchable.pop(job.key, None)
                self._leaving[job.key] = Parting(job, fact.grace_s)
            case _:
                pass

    # --- placing -------------------------------------------------------------------------------

    def sites(self, state: JobState) -> Sites:
        """Return the nodes that a job may use now."""
        return self._open_to(state, self.fitting.avoided_by(state))

    def _open_to(self, state: JobState, avoided: frozenset[str]) -> Sites:
        doors = doors_of(state.demand, self.policy)
        key = (doors, avoided, frozenset(state.avoid), state.demand.tier < 2)
        if key not in self._sites:
            if len(self._sites) >= KNOWN_DOORS:
                self._sites.clear()
            self._sites[key] = Known(self._gather(state, avoided), len(self._touched))
        known = self._sites[key]
        for node in dict.fromkeys(self._touched[known.upto :]):
            if node in self.nodes:
                known.sites.enter(node, self.board.free(node))
        known.upto = len(self._touched)
        self._looks += len(known.sites.every.names)
        return known.sites

    def _gather(self, state: JobState, avoided: frozenset[str]) -> Sites:
        listed = list(reachable(self.nodes, state.demand))
        self._looks += len(listed)
        return gathered(
            Site(name, node.shape, self.board.free(name), second_choice(node, state))
            for name, node in listed
            if shut(node, state, self.policy, avoided) is None
        )

    def _without(self, sites: Sites, gone: frozenset[JobKey]) -> Moved:
        """Return the nodes that would have another room if some jobs were gone."""
        touched = {node for job in gone for node in self.board.nodes_of(job)}
        self._looks += len(touched) + len(sites.every.names)
        kinds = sites.every.kinds
        return {
            node: Kind(self.board.free(node, gone), kinds[node].gpu_model)
            for node in touched
            if node in kinds
        }

    def how(self, state: JobState) -> How:
        """Return how nodes are chosen for a job."""
        return how_for(state.demand, self.taste, self.policy.levels)

    def _place(self, job: Listed, sites: Sites, moved: Moved) -> Placed | Shortfall:
        return place(job.state.demand.roles, sites, moved, self.how(job.state))

    def falls_short(self, job: Listed) -> Shortfall | None:
        """Return what is missing of free room for a job; None if it would fit."""
        found = self._place(job, self.sites(job.state), {})
        return found if isinstance(found, Shortfall) else None

    def place_free(self, job: Listed) -> Shortfall | None:
        """Place a job in free room; return what falls short instead."""
        found = self._place(job, self.sites(job.state), {})
        if isinstance(found, Shortfall):
            return found
        self._commit(job, found, ())
        return None

    def place_by_eviction(self, job: Listed) -> Search:
        """Place a job in room that others leave, if there is a way.

        Nobody is sent off for a job that has a place without: it then takes what it avoids.
        """
        sites = self.sites(job.state)
        way = self._way(job, sites, self._who_leaves() + self._who_may_go(job))
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
        sites = self._open_to(job.state, frozenset())
        found = self._place(job, sites, {})
        if not isinstance(found, Shortfall):
            return Way(found, ())
        return self._way(job, sites, self._who_leaves())

    def _way(self, job: Listed, sites: Sites, candidates: Sequence[Candidate]) -> Way | None:
        usable = sites.every.kinds.keys()

        def fits(gone: frozenset[JobKey]) -> Placed | Shortfall:
            return self._place(job, sites, self._without(sites, gone))

        useful = [c for c in candidates if not usable.isdisjoint(self.board.nodes_of(c.key))]
        return find_way(useful, fits, self.board.nodes_of, self.policy.max_singles)

    def _who_leaves(self) -> list[Candidate]:
        now = self.snapshot.now
        for key, parting in self._leaving.items():
            if key not in self._leavers:
                self._leavers[key] = candidate(parting.job, now, leaving=True)
        return list(self._leavers.values())

    def _who_may_go(self, job: Listed) -> list[Candidate]:
        """Return whom a job may send off. Equals may send off the same ones."""
        demand = job.state.demand
        key = level(job.state), demand.resource_class, demand.guarantee
        known = self._victims.get(key)
        if known is None:
            helpful = (c for c in self._touchable.values() if self._may_take(job, c))
            known = [candidate(other, self.snapshot.now, leaving=False) for other in helpful]
            self._looks += len(self._touchable)
        # nobody becomes a victim in the course of a round, but some cease to be
        self._victims[key] = sorted(
            (one for one in known if one.key in self._touchable), key=lambda one: one.cost
        )
        return self._victims[key]

    def _may_take(self, job: Listed, other: Listed) -> bool:
        if not may_evict(job.state, other.state):
            return False
        if shielded(other, job.state, self.policy, self.snapshot.now):
            return False
        spared = protected_until(other.state, self.policy)
        return spared is None or spared <= self.snapshot.now

    def _commit(self, job: Listed, placement: Placed, gone: Sequence[Candidate]) -> None:
        decisions = [self._send_off(one, job) for one in gone if one.exit is not Exit.LEAVES_ANYWAY]
        partings = [self._leaving[one.job.key] for one in gone if one.exit is not Exit.HOLD_TAKEN]
        waits = tuple(_wait(parting.job) for parting in partings)
        keys = frozenset(parting.job.key for parting in partings)
        cards = self.board.cards(placement.shares, keys)
        scheduled = Scheduled(
            placement=placement,
            cards=cards,
            waits_for=waits,
            grace_s=max((parting.seconds for parting in partings), default=0),
        )
        self.moves.append(Move((*decisions, Decision(job.key, scheduled))))
        self.board.claim(job.key, claim_on(placement, job.state.demand, cards), keys)
        self._touched += placement

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
