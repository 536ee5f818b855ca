"""The room that a round keeps: for whom, on which nodes, and who may use it meanwhile.

One reservation a round at most, for the first in line that has a right to it (see `shadow`). While
the queue is gone through it stands on the board like a placement that waits for those who are
there; when the plan is made it is taken off again: nothing of it is ever written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from muster.domain.demand import Role
from muster.domain.state import JobState
from muster.scheduler.core.board import Taken, claim_on
from muster.scheduler.core.doors import has_model
from muster.scheduler.core.endings import Basis, Ending, ending, limit_if_placed
from muster.scheduler.core.jobs import JobKey, Listed
from muster.scheduler.core.placement import Placed, Shortfall
from muster.scheduler.core.policy import Order
from muster.scheduler.core.rooms import Kind, Sites
from muster.scheduler.core.runtimes import UNTAUGHT
from muster.scheduler.core.shadow import (
    Reservation,
    Shadow,
    due_at,
    find,
    may_reserve,
    reservation,
    spell,
)
from muster.scheduler.core.victims import Candidate

if TYPE_CHECKING:
    from muster.scheduler.core.round import Round

TRIES = 3
"""For so many jobs of one pass it is found out where they will fit."""


class Keeper:
    """See the module. change: when the same jobs on the same nodes would be treated differently."""

    def __init__(self, made: Round) -> None:
        self._round, self._policy, self._now = made, made.policy, made.snapshot.now
        self.reservation: Reservation | None = None
        self.change: datetime | None = None
        self._claim: Mapping[str, Taken] = {}
        self._waits: frozenset[JobKey] = frozenset()
        self._tries = 0

    def begin(self) -> None:
        """Begin a pass: nothing is kept yet."""
        self.lift()
        self.reservation, self.change, self._tries = None, None, 0

    def lift(self) -> None:
        """Take the reservation off the board, and remember it."""
        if self._claim and self.reservation is not None:
            self._round.ground.touch(self._claim)
            self._round.board.drop(self.reservation.job)
            self._claim = {}

    # --- those behind it -----------------------------------------------------------------------

    @property
    def kept(self) -> frozenset[JobKey]:
        """Return for whom room is kept."""
        return frozenset({self.reservation.job} if self.reservation else ())

    def spares(self, state: JobState) -> bool:
        """Tell whether a job may use room that is kept."""
        return self.reservation is not None and self.reservation.spares(state, self._now)

    def let_in(self, job: JobKey) -> None:
        """Note that a job was placed in room that is kept: it is one of those who will be gone."""
        if self.reservation is not None:
            self._waits |= {job}
            self._enter(self.reservation.job)

    def _enter(self, job: JobKey) -> None:
        self._round.board.claim_later(job, self._claim, self._waits)
        self._round.ground.touch(self._claim)

    # --- for whom ------------------------------------------------------------------------------

    def consider(self, job: Listed) -> None:
        """Keep room for a job that lacks it, if it is the first that has a right to that."""
        state = job.state
        if self._policy.order is not Order.DEFAULT:
            return
        if self.reservation or self._tries >= TRIES or not may_reserve(state):
            return
        now = spell(state, self._policy, self._now)
        if now is None:
            self._note(due_at(state, self._policy))
            return
        self._note(now.change)
        self._tries += 1
        found = self._find(job, now.begin)
        if found is None:
            return
        if found.basis is Basis.LIMITS:
            self._note(found.at - timedelta(seconds=self._policy.reserve_max_s))
        self.reservation = reservation(state, self._now, now, found, self._policy)
        if self.reservation is not None:
            self._hold(job, found)

    def keep(
        self, job: Listed, placement: Placed, waits: frozenset[JobKey], since: datetime
    ) -> bool:
        """Keep room for a job for which others are sent off; False if it is kept for another."""
        if self.reservation is None:
            found = Shadow(placement, waits, self._now, self._now, Basis.UNKNOWN)
            self.reservation = Reservation(job.key, since, found, alone=True)
            self._hold(job, found)
        return self.reservation.job == job.key

    def _hold(self, job: Listed, found: Shadow) -> None:
        cards = self._round.board.cards(found.placement.shares, found.waits)
        self._claim = claim_on(found.placement, job.state.demand, cards)
        self._waits = found.waits
        self._enter(job.key)

    def _note(self, at: datetime) -> None:
        if at > self._now and (self.change is None or at < self.change):
            self.change = at

    def _find(self, job: Listed, anchor: datetime) -> Shadow | None:
        sites = self._round.ground.open_to(job.state)
        kinds = _serving(job.state.demand.roles, sites)
        board = self._round.board

        def has(key: JobKey) -> Mapping[str, Taken]:
            nodes = (node for node in board.nodes_of(key) if node in kinds)
            return {node: board.claimants(node)[key].taken for node in nodes}

        def fits(gone: frozenset[JobKey]) -> Placed | Shortfall:
            return self._round.fit(job, sites, gone)

        free = {node: kind.free for node, kind in kinds.items()}
        return find(
            job.state.demand.roles, list(self._endings(job, kinds, anchor)), free, has, fits
        )

    def _may_go(self, job: Listed) -> Iterator[Candidate]:
        """Yield whom the gang may send off already now."""
        for bid in self._round.rights.bids(job.state):
            yield from self._round.exits.who_may_go(job, bid)

    def _endings(self, job: Listed, nodes: Iterable[str], anchor: datetime) -> Iterator[Ending]:
        """Yield when each is gone who has something on nodes that the gang may use."""
        board, known = self._round.board, self._round.snapshot.runtimes
        may_go = {one.key: one for one in self._may_go(job)}
        there = {key for node in nodes for key in board.claimants(node)}
        for key in sorted(there):
            if key in may_go:
                grace = timedelta(seconds=may_go[key].job.state.demand.grace_s)
                yield Ending(key, self._now + grace, Basis.LIMITS, self._now)
                continue
            holder = self._round.holder(key)
            if holder is not None:
                yield ending(holder, known, self._now, anchor)
                continue
            placed = self._round.placed[key]
            yield _ending_of_new(placed, key, self._now)


def _serving(roles: Iterable[Role], sites: Sites) -> Mapping[str, Kind]:
    """Return the nodes that have a GPU model for some worker: nobody else's end matters."""
    kinds = sites.every.kinds.items()
    return {n: kind for n, kind in kinds if any(has_model(kind.gpu_model, role) for role in roles)}


def _ending_of_new(state: JobState, key: JobKey, now: datetime) -> Ending:
    certain = limit_if_placed(state, now)
    if certain is not None:
        return Ending(key, certain, Basis.LIMITS, now)
    return ending(state, UNTAUGHT, now, now)
