"""`plan(snapshot, policy) -> Plan`: the whole queue in one round, the same for the same snapshot.

Called by the cycle, by dry runs, by `explain` and by the simulation; there is no second scheduler.
Measures no time: the work of a round is bounded by counts, and what was not reached is named.
"""

from __future__ import annotations

from muster.domain.demand import ResourceClass
from muster.domain.facts import Declined
from muster.domain.state import JobState
from muster.scheduler.core import clocks
from muster.scheduler.core.fitting import Shape, shape_of
from muster.scheduler.core.placement import Shortfall
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rank import Level, level, rank
from muster.scheduler.core.round import Round
from muster.scheduler.core.snapshot import JobKey, Listed, Snapshot
from muster.scheduler.core.texts import insufficient_capacity
from muster.scheduler.core.verdicts import Decision, Move, Plan, Verdict, Waiting
from muster.scheduler.core.victims import Search

PASSES = 2
"""Who leaves may leave more room than was needed; so often the queue is gone through again."""


def plan(snapshot: Snapshot, policy: Policy) -> Plan:
    """Decide one round."""
    queue = Queue(Round(snapshot, policy))
    queue.round.keep_up()
    for _ in range(PASSES):
        if not queue.go_through():
            break
    queue.decline()
    return Plan(
        snapshot=snapshot,
        policy=policy,
        moves=tuple(queue.round.moves),
        verdicts=queue.verdicts,
        board=queue.round.board,
        next_at=clocks.next_at(snapshot, policy),
        cursor=queue.cursor,
    )


def in_order(snapshot: Snapshot, policy: Policy) -> list[Listed]:
    """Return the queue, first in line first."""
    return sorted(snapshot.queued, key=lambda job: rank(job.state, policy))


class Queue:
    """The jobs of one round, one after the other. Remembers which shapes failed."""

    def __init__(self, made: Round) -> None:
        self.round = made
        self.verdicts: dict[JobKey, Verdict] = {}
        self.cursor: JobKey | None = None
        self._policy, self._now = made.policy, made.snapshot.now
        self._waiting = in_order(made.snapshot, made.policy)
        self._skip_to: JobKey | None = None
        self._sure: JobKey | None = None
        self._never: dict[Shape, Verdict | None] = {}
        self._no_room: dict[Shape, Verdict] = {}
        self._no_way: dict[Shape, Level] = {}
        self._attempts = self._searches = 0

    def go_through(self) -> bool:
        """Place whom it can, first in line first; tell whether to go through them again."""
        self._no_room.clear()
        self._no_way.clear()
        keys = {job.key for job in self._waiting}
        sweep = self.round.snapshot.cursor
        self._skip_to = sweep if sweep in keys else None
        self._sure = None
        moves = len(self.round.moves)
        found = [(job, self._consider(job)) for job in self._waiting]
        self._waiting = [job for job, verdict in found if verdict]
        self.verdicts = {job.key: verdict for job, verdict in found if verdict}
        made_room = any(len(move.decisions) > 1 for move in self.round.moves[moves:])
        return made_room and self.cursor is None and sweep is None

    def _consider(self, job: Listed) -> Verdict | None:
        if job.key == self._skip_to:
            self._skip_to = None
        return self._verdict(job)

    def decline(self) -> None:
        """End the one-shot jobs that had their round."""
        for job in self._waiting:
            verdict = self.verdicts[job.key]
            if not job.state.one_shot or verdict.why not in _FINAL:
                continue
            if self.round.size >= self._policy.max_decisions:
                self.verdicts[job.key] = Verdict(Waiting.NOT_REACHED, verdict.short)
                continue
            short = self.round.falls_short(job) or verdict.short
            declined = Declined(reason=insufficient_capacity(job.state, short))
            self.round.moves.append(Move((Decision(job.key, declined),)))

    def _verdict(self, job: Listed) -> Verdict | None:
        state, shape = job.state, shape_of(job.state, self._policy)
        if state.not_before is not None and state.not_before > self._now:
            return Verdict(Waiting.NOT_BEFORE)
        if job.key in self.round.snapshot.set_aside:
            return Verdict(Waiting.SET_ASIDE)
        if not self.round.nodes:
            return Verdict(Waiting.NO_NODES)
        if self.round.size >= self._policy.max_decisions:
            return Verdict(Waiting.NOT_REACHED)
        if shape not in self._no_room and not self._may_attempt(job):
            return self._cut(job)
        if (never := self._ever(state, shape)) is not None:
            return never
        if shape not in self._no_room:
            self._attempts += 1
            short = self.round.place_free(job)
            if short is None:
                return None
            self._no_room[shape] = self._what_is_missing(state, short)
        return self._by_eviction(job, shape)

    def _may_attempt(self, job: Listed) -> bool:
        """Tell whether the round has work left for one more shape.

        Those before the place where a sweep goes on get half of it, and the first there is sure of
        its turn: so a sweep comes to its end.
        """
        share = 1 if self._skip_to is None else 2
        attempts = self._attempts * share < self._policy.max_attempts
        return self._is_sure(job) or (attempts and self._has_looks(share))

    def _has_looks(self, share: int = 1) -> bool:
        return self.round.looks * share < self._policy.max_looks

    def _is_sure(self, job: Listed) -> bool:
        if self._skip_to is not None:
            return False
        self._sure = self._sure or job.key
        return job.key == self._sure

    def _cut(self, job: Listed, short: Shortfall | None = None) -> Verdict:
        """Leave a job to the next round, which goes on from the first that was left."""
        if self._skip_to is None:
            self.cursor = self.cursor or job.key
        return Verdict(Waiting.NOT_REACHED, short)

    def _ever(self, state: JobState, shape: Shape) -> Verdict | None:
        if shape not in self._never:
            self._never[shape] = self.round.fitting.never_fits(state)
        return self._never[shape]

    def _what_is_missing(self, state: JobState, short: Shortfall) -> Verdict:
        fitting = self.round.fitting
        if short.level is not None:
            return Verdict(Waiting.NO_DOMAIN, short)
        closed = fitting.shut_out(state, fitting.avoided_by(state))
        return Verdict(Waiting.NODES_SHUT if closed else Waiting.NO_ROOM, short)

    def _by_eviction(self, job: Listed, shape: Shape) -> Verdict | None:
        no_room, rights = self._no_room[shape], level(job.state)
        if job.state.demand.resource_class is ResourceClass.IDLE:
            return no_room
        if shape in self._no_way and rights <= self._no_way[shape]:
            return no_room
        if self._skip_to is not None or not self._may_search(job):
            return self._cut(job, no_room.short)
        self._searches += 1
        match self.round.place_by_eviction(job):
            case Search.PLACED:
                return None
            case Search.CUT:
                return Verdict(Waiting.NOT_REACHED, no_room.short)
            case Search.NO_WAY:
                self._no_way[shape] = max(rights, self._no_way.get(shape, rights))
                return no_room

    def _may_search(self, job: Listed) -> bool:
        searches = self._searches < self._policy.max_searches
        return searches and (self._is_sure(job) or self._has_looks())


_FINAL = frozenset(
    {
        Waiting.NO_ROOM,
        Waiting.NO_DOMAIN,
        Waiting.NEVER_FITS,
        Waiting.NODES_ABSENT,
        Waiting.NODES_SHUT,
    }
)
"""Verdicts that end a one-shot job: it had its round."""
