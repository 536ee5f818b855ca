"""The queue of one round, line by line: what failed for the head of a line is not tried for those
behind it, so that thousands that do not fit hide nobody who does.

Asks the round; decides only who is asked next, and when the round has done enough.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heapify, heappop, heappush

from muster.domain.demand import ResourceClass
from muster.domain.facts import Declined
from muster.domain.reasons import ReasonCode, reason
from muster.domain.state import JobState
from muster.scheduler.core.budget import Budget
from muster.scheduler.core.fitting import Shape, shape_of
from muster.scheduler.core.jobs import JobKey, LineKey, Listed
from muster.scheduler.core.placement import Shortfall
from muster.scheduler.core.policy import Order
from muster.scheduler.core.quota import Owners
from muster.scheduler.core.rank import Level, Rank, level
from muster.scheduler.core.round import Round
from muster.scheduler.core.spot_room import is_spot
from muster.scheduler.core.standing import Standing, Verdicts
from muster.scheduler.core.texts import insufficient_capacity
from muster.scheduler.core.verdicts import Decision, Verdict, Waiting
from muster.scheduler.core.victims import Search

Turn = tuple[Rank, int, Standing]
"""The number only keeps standings from being compared."""

Wish = tuple[Shape, str]
"""A shape, and the tenant where its own rights matter: those of a guaranteed job, which are never
less than those of another job of this level."""


def wish_of(state: JobState, shape: Shape) -> Wish:
    """Return by what a search for victims may differ, but for the level of the job."""
    return shape, state.tenant if state.demand.guarantee else ""


class Queue:
    """See the module. cursor: the first that was left to the next round for want of work left."""

    def __init__(self, made: Round) -> None:
        self.round = made
        snapshot, self._policy = made.snapshot, made.policy
        self._book, self._sweep = snapshot.book, snapshot.cursor
        owners = Owners(made.ledger, self._book, made.policy)
        self.verdicts = Verdicts(self._book, snapshot.now, made.policy, snapshot.set_aside, owners)
        self.cursor: JobKey | None = None
        self._budget = Budget(made)
        self._shapes: dict[LineKey, Shape] = {}
        self._never: dict[Shape, Verdict | None] = {}
        self._no_room: dict[tuple[Shape, bool], Verdict] = {}
        self._no_way: dict[Wish, Level] = {}
        self._spot_stops = False

    # --- whose turn it is ----------------------------------------------------------------------

    def go_through(self) -> bool:
        """Place whom it can, first in line first; tell whether to go through them again."""
        self._no_room.clear()
        self._no_way.clear()
        self._spot_stops = False
        self.round.keeper.begin()
        before = len(self.round.moves)
        resume = self._resume_at()
        self._budget.begin(sweeping=resume is not None)
        turns = self._heads()
        while turns:
            order, number, standing = heappop(turns)
            if resume is not None and order >= resume:
                resume = None
                self._budget.resume()
            assert standing.waiter is not None
            job = standing.waiter.read()
            verdict = self._verdict(job, standing.line.key)
            if verdict is not None:
                verdict = self._keep_room(job, verdict)
            if verdict is None:
                self.verdicts.placed.add(job.key)
            elif self.round.rights.has_past(job.key):
                self.verdicts.judge_alone(job.key, verdict)
            else:
                standing.judge(verdict)
            self._spot_stops |= verdict is not None and self._stops_spot(job.state, verdict)
            if verdict is not None and self._stops_all(verdict):
                self._stop_behind(standing, turns)
                break
            if verdict is None or self.round.rights.has_past(job.key):
                self._next(turns, number, standing)
        made_room = any(len(move.decisions) > 1 for move in self.round.moves[before:])
        return made_room and self.cursor is None and self._sweep is None

    def _stops_all(self, verdict: Verdict) -> bool:
        return self._policy.order is Order.FIFO and verdict.why in _FOR_ROOM

    def _stops_spot(self, state: JobState, verdict: Verdict) -> bool:
        in_order = self._policy.order is Order.FIFO_SPOT and is_spot(state)
        return in_order and verdict.why in _FOR_ROOM

    def _stop_behind(self, standing: Standing, turns: list[Turn]) -> None:
        """Let nobody pass a job that waits for room."""
        standing.turn += 1
        for each in (standing, *(other for _, _, other in turns)):
            each.judge(Verdict(Waiting.BEHIND))

    def _resume_at(self) -> Rank | None:
        waiter = self._book.find(self._sweep) if self._sweep else None
        if waiter is None or waiter.key in self.verdicts.placed:
            return None
        return self.verdicts.rank(waiter)

    def _heads(self) -> list[Turn]:
        turns: list[Turn] = []
        self.verdicts.begin()
        for number, standing in enumerate(self.verdicts.standings.values()):
            standing.begin()
            self._enter(turns, number, standing)
        heapify(turns)
        return turns

    def _next(self, turns: list[Turn], number: int, standing: Standing) -> None:
        standing.turn += 1
        self._enter(turns, number, standing)

    def _enter(self, turns: list[Turn], number: int, standing: Standing) -> None:
        while (waiter := standing.waiter) is not None:
            if not self.verdicts.skips(waiter):
                heappush(turns, (self.verdicts.rank(waiter), number, standing))
                return
            standing.turn += 1

    def _keep_room(self, job: Listed, verdict: Verdict) -> Verdict:
        """Let room be kept for a job that lacks nothing else."""
        if verdict.short is None or verdict.why not in _LACK_ROOM:
            return verdict
        keeper = self.round.keeper
        keeper.consider(job)
        mine = job.key in keeper.kept
        return replace(verdict, kept=keeper.reservation) if mine else verdict

    # --- the verdict ---------------------------------------------------------------------------

    def _verdict(self, job: Listed, line: LineKey) -> Verdict | None:
        """Place a job, or say why it waits: what is said goes for all behind it in its line."""
        if (outside := self._outside(job.state)) is not None:
            return outside
        if line not in self._shapes:
            self._shapes[line] = self._shape(job.state)
        shape = self._shapes[line]
        if (never := self._never.get(shape)) is not None:
            return never
        room = shape, self.round.keeper.spares(job.state)
        known = self._no_room.get(room)
        if known is not None and self._is_final(job, shape):
            return known
        if self.round.size >= self._policy.max_decisions:
            return Verdict(Waiting.NOT_REACHED, known.short if known else None)
        if known is None:
            if not self._budget.may_attempt(job.key):
                return self._cut(job)
            if (never := self._ever(job, shape)) is not None:
                return never
            self._budget.attempts += 1
            short = self.round.place_free(job)
            if short is None:
                return None
            known = self._no_room[room] = self._what_is_missing(job, short)
        return self._by_eviction(job, shape, known)

    def _outside(self, state: JobState) -> Verdict | None:
        """Return what keeps a job from being looked at, however much room there is."""
        if not self.round.nodes:
            return Verdict(Waiting.NO_NODES)
        if self.round.snapshot.denied_spot(state):
            return Verdict(Waiting.SPOT_DISABLED)
        behind = self._spot_stops and is_spot(state)
        return Verdict(Waiting.BEHIND) if behind else None

    def _shape(self, state: JobState) -> Shape:
        """Return everything of a job that decides about it, but not its level."""
        made = self.round
        own = made.ledger.key(state), made.snapshot.blocked(state), made.spot.limits(state)
        return *shape_of(state, self._policy), *own

    def _cut(self, job: Listed, short: Shortfall | None = None) -> Verdict:
        """Leave a line to the next round, which goes on from the first that was left."""
        if not self._budget.sweeping:
            self.cursor = self.cursor or job.key
        return Verdict(Waiting.NOT_REACHED, short)

    def _ever(self, job: Listed, shape: Shape) -> Verdict | None:
        if shape not in self._never:
            self._never[shape] = self.round.ground.fitting.never_fits(job.state)
        return self._never[shape]

    def _what_is_missing(self, job: Listed, short: Shortfall) -> Verdict:
        if self.round.is_kept_out(job):
            return Verdict(Waiting.RESERVED, short, kept=self.round.keeper.reservation)
        quota = self.round.short_of_quota(job)
        if quota is not None:
            return Verdict(Waiting.QUOTA, short, quota=quota)
        if short.level is not None:
            return Verdict(Waiting.NO_DOMAIN, short)
        stock = self.round.short_of(job, self.round.stock)
        if stock is not None:
            return Verdict(Waiting.STOCK, short, stock=stock)
        spot = self.round.short_of(job, self.round.spot)
        if spot is not None:
            return Verdict(Waiting.SPOT_QUOTA, short, stock=spot)
        fitting = self.round.ground.fitting
        closed = fitting.shut_out(job.state, fitting.avoided_by(job.state))
        return Verdict(Waiting.NODES_SHUT if closed else Waiting.NO_ROOM, short)

    def _is_final(self, job: Listed, shape: Shape) -> bool:
        """Tell whether nobody could leave for a job of this shape and level either."""
        if job.state.demand.resource_class is ResourceClass.IDLE:
            return True
        failed = self._no_way.get(wish_of(job.state, shape))
        return failed is not None and level(job.state) <= failed

    def _by_eviction(self, job: Listed, shape: Shape, no_room: Verdict) -> Verdict | None:
        if no_room.why is Waiting.SPOT_QUOTA:
            self.round.change_at(self.round.spot.spares_at(job.state))
            return no_room
        if self._is_final(job, shape):
            return no_room
        if not self._budget.may_search(job.key):
            return self._cut(job, no_room.short)
        self._budget.searches += 1
        match self.round.place_by_eviction(job):
            case Search.PLACED:
                return None
            case Search.CUT | Search.BEGUN:
                return Verdict(Waiting.NOT_REACHED, no_room.short)
            case Search.LIMITED:
                return Verdict(Waiting.EVICTION_LIMIT, no_room.short)
            case Search.NO_WAY if self.round.rights.has_past(job.key):
                return no_room
            case Search.NO_WAY:
                rights = level(job.state)
                for wish in {wish_of(job.state, shape), (shape, "")}:
                    self._no_way[wish] = max(rights, self._no_way.get(wish, rights))
                return no_room

    # --- those who have only this round --------------------------------------------------------

    def decline(self) -> None:
        """End the one-shot jobs that had their round."""
        turns: list[Turn] = []
        for number, standing in enumerate(self.verdicts.standings.values()):
            if standing.line.waiters[0].read().state.one_shot:
                standing.turn = 0
                self._enter(turns, number, standing)
        shorts: dict[LineKey, Shortfall | None] = {}
        while turns:
            _, number, standing = heappop(turns)
            if self._decline(standing, shorts):
                self._next(turns, number, standing)

    def _decline(self, standing: Standing, shorts: dict[LineKey, Shortfall | None]) -> bool:
        """Decline whose turn it is; tell whether to go on with those behind it."""
        verdict = standing.verdict(standing.turn)
        if verdict.why not in _FINAL or standing.waiter is None:
            return False
        if self.round.size >= self._policy.max_decisions:
            standing.judge(Verdict(Waiting.NOT_REACHED, verdict.short))
            return False
        job, line = standing.waiter.read(), standing.line.key
        if verdict.why is Waiting.SPOT_DISABLED:
            why = reason(ReasonCode.SPOT_DISABLED, tenant=job.state.tenant)
        else:
            if line not in shorts:
                shorts[line] = self.round.falls_short(job) or verdict.short
            why = insufficient_capacity(job.state, shorts[line])
        self.round.decide(Decision(job.key, Declined(reason=why)))
        return True


_FOR_ROOM = frozenset({Waiting.NO_ROOM, Waiting.NO_DOMAIN, Waiting.NODES_SHUT, Waiting.NOT_REACHED})
"""Verdicts of a job that nobody may pass where the order is strict: one that never fits may be."""

_LACK_ROOM = frozenset(
    {Waiting.NO_ROOM, Waiting.NO_DOMAIN, Waiting.EVICTION_LIMIT, Waiting.NOT_REACHED}
)
"""Verdicts of jobs that would start if they had room, as far as is known."""

_FINAL = frozenset(
    {
        Waiting.RESERVED,
        Waiting.NO_ROOM,
        Waiting.NO_DOMAIN,
        Waiting.NEVER_FITS,
        Waiting.NODES_ABSENT,
        Waiting.NODES_SHUT,
        Waiting.QUOTA,
        Waiting.SPOT_DISABLED,
        Waiting.STOCK,
        Waiting.SPOT_QUOTA,
    }
)
"""Verdicts that end a one-shot job: it had its round."""
