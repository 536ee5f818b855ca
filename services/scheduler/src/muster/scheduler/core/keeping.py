"""The room that a round keeps: for whom, on which nodes, and who may use it meanwhile.

One reservation a round at most, for the first in line that has a right to it (see `shadow`). While
the queue is gone through it stands on the board like a placement that waits for those who are
there; when the plan is made it is taken off again: nothing of it is ever written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from muster.domain.state import JobState
from muster.scheduler.core.amounts import of_role, room
from muster.scheduler.core.board import Taken, claim_on
from muster.scheduler.core.endings import Basis, Ending, ending, limit_if_placed
from muster.scheduler.core.jobs import JobKey, Listed
from muster.scheduler.core.placement import Asked, Placed, Shortfall
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

    def end(self) -> None:
        """Lift it for good, and let go of the round: two that hold each other stay in memory, with
        all that the round has gathered, until a collector comes by."""
        self.lift()
        del self._round

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
        if self._round.rights.has_past(job.key):
            return  # equal ones behind it may have rights that it lacks for a while
        now = spell(state, self._policy, self._now)
        if now is None:
            self._note(due_at(state, self._policy))
            return
        self._note(now.change)
        self._tries += 1
        found = self._find(job, now.begin)
        if found is None:
            return
        self.reservation = reservation(state, self._now, now, found)
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
        useful = self._useful(job, sites)
        board = self._round.board
        known: dict[JobKey, Mapping[str, Taken]] = {}

        def has(key: JobKey) -> Mapping[str, Taken]:
            if key not in known:
                nodes = (node for node in board.nodes_of(key) if node in useful)
                known[key] = {node: board.claimants(node)[key].taken for node in nodes}
            return known[key]

        def fits(gone: frozenset[JobKey]) -> Placed | Shortfall:
            return self._round.fit(job, sites, gone)

        endings = list(self._endings(job, useful, anchor))
        return find(job.state.demand.roles, endings, useful, has, fits)

    def _useful(self, job: Listed, sites: Sites) -> dict[str, Kind]:
        """Return the nodes on which a worker would fit if they were empty.

        What others have elsewhere is not worth waiting for; a pool may have many other nodes.
        """
        asked = [Asked(role, of_role(role)) for role in job.state.demand.roles if role.replicas]
        board, known = self._round.board, dict[Kind, bool]()

        def holds_any(empty: Kind) -> bool:
            if empty not in known:
                known[empty] = any(each.count(empty) for each in asked)
            return known[empty]

        return {
            node: kind
            for node, kind in sites.every.kinds.items()
            if holds_any(Kind(room(board.capacity(node)), kind.gpu_model))
        }

    def _endings(self, job: Listed, nodes: Iterable[str], anchor: datetime) -> Iterator[Ending]:
        """Yield when each is gone who has something on these nodes."""
        board, known, made = self._round.board, self._round.snapshot.runtimes, self._round
        bids = list(made.rights.bids(job.state))
        there = {key for node in nodes for key in board.claimants(node)}
        for key in sorted(there):
            seconds = made.exits.when_gone(key, job, bids)
            if seconds is not None:
                at = self._now + timedelta(seconds=seconds)
                yield Ending(key, at, Basis.LIMITS, self._now)
                continue
            holder = made.holder(key)
            if holder is not None:
                yield ending(holder, known, self._now, anchor)
                continue
            yield _ending_of_new(made.placed[key], key, self._now)


def _ending_of_new(state: JobState, key: JobKey, now: datetime) -> Ending:
    certain = limit_if_placed(state, now)
    if certain is not None:
        return Ending(key, certain, Basis.LIMITS, now)
    return ending(state, UNTAUGHT, now, now)
