"""The queue of a round as it reads in the rules: each job asked for itself, one after the other.

The oracle of the product's queue, which asks only the heads of lines. Shares the round with it
(where a job may go, who leaves for it), not the order, the skipping and the verdicts. Has no budget
but the number of decisions.
"""

from __future__ import annotations

from muster.domain.demand import ResourceClass
from muster.domain.facts import Declined
from muster.scheduler.core.fitting import Shape, shape_of
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.queue import wish_of
from muster.scheduler.core.rank import Level, level, rank
from muster.scheduler.core.rooms import Sites
from muster.scheduler.core.round import Round
from muster.scheduler.core.snapshot import JobKey, Listed, Snapshot
from muster.scheduler.core.texts import insufficient_capacity
from muster.scheduler.core.verdicts import Decision, Move, Verdict, Waiting
from muster.scheduler.core.victims import Search

FINAL = {
    Waiting.RESERVED,
    Waiting.NO_ROOM,
    Waiting.NEVER_FITS,
    Waiting.NODES_ABSENT,
    Waiting.NODES_SHUT,
}


class Thorough(Round):
    """A round that takes no short cut in the search for victims: it places, and never counts."""

    def _is_hopeless(self, job: Listed) -> bool:
        return False

    def _counting(self, job: Listed, sites: Sites, *, exact: bool = True) -> None:
        return None


class JobByJob:
    """One round. moves and verdicts: as in a plan."""

    def __init__(self, snapshot: Snapshot, policy: Policy) -> None:
        self.round = Thorough(snapshot, policy)
        self.verdicts: dict[JobKey, Verdict] = {}
        self._now, self._policy, self._aside = snapshot.now, policy, snapshot.set_aside
        self._waiting = sorted(snapshot.queued, key=lambda job: rank(job.state, policy))
        self._no_room: dict[Shape, Verdict] = {}
        self._no_way: dict[object, Level] = {}
        self._never: dict[Shape, Verdict] = {}
        self.round.keep_up()
        for _ in range(2):
            if not self._go_through():
                break
        self._decline()

    @property
    def moves(self) -> tuple[Move, ...]:
        """Return what is decided."""
        return tuple(self.round.moves)

    def _go_through(self) -> bool:
        self._no_room.clear()
        self._no_way.clear()
        self.round.keeper.begin()
        before = len(self.round.moves)
        found = [(job, self._verdict(job)) for job in self._waiting]
        self._waiting = [job for job, verdict in found if verdict]
        self.verdicts = {job.key: verdict for job, verdict in found if verdict}
        return any(len(move.decisions) > 1 for move in self.round.moves[before:])

    def _verdict(self, job: Listed) -> Verdict | None:
        if job.state.not_before is not None and job.state.not_before > self._now:
            return Verdict(Waiting.NOT_BEFORE)
        if job.key in self._aside:
            return Verdict(Waiting.SET_ASIDE)
        if not self.round.nodes:
            return Verdict(Waiting.NO_NODES)
        return self._by_room(job, shape_of(job.state, self._policy))

    def _by_room(self, job: Listed, shape: Shape) -> Verdict | None:
        if shape in self._never:
            return self._never[shape]
        known = self._no_room.get(shape)
        if known is not None and self._nobody_may_leave(job, shape):
            return known
        if self.round.size >= self._policy.max_decisions:
            return Verdict(Waiting.NOT_REACHED, known.short if known else None)
        if known is None:
            never = self.round.ground.fitting.never_fits(job.state)
            if never is not None:
                self._never[shape] = never
                return never
            short = self.round.place_free(job)
            if short is None:
                return None
            fitting = self.round.ground.fitting
            closed = fitting.shut_out(job.state, fitting.avoided_by(job.state))
            known = Verdict(Waiting.NODES_SHUT if closed else Waiting.NO_ROOM, short)
            if self.round.is_kept_out(job):
                known = Verdict(Waiting.RESERVED, short)
            self._no_room[shape] = known
        return self._by_eviction(job, shape, known)

    def _by_eviction(self, job: Listed, shape: Shape, known: Verdict) -> Verdict | None:
        state = job.state
        if self._nobody_may_leave(job, shape):
            return known
        match self.round.place_by_eviction(job):
            case Search.PLACED:
                return None
            case Search.CUT | Search.BEGUN:
                return Verdict(Waiting.NOT_REACHED, known.short)
        for wish in {wish_of(state, shape), (shape, "")}:
            self._no_way[wish] = max(level(state), self._no_way.get(wish, level(state)))
        return known

    def _nobody_may_leave(self, job: Listed, shape: Shape) -> bool:
        if job.state.demand.resource_class is ResourceClass.IDLE:
            return True
        failed = self._no_way.get(wish_of(job.state, shape))
        return failed is not None and level(job.state) <= failed

    def _decline(self) -> None:
        for job in self._waiting:
            verdict = self.verdicts[job.key]
            if not job.state.one_shot or verdict.why not in FINAL:
                continue
            if self.round.size >= self._policy.max_decisions:
                self.verdicts[job.key] = Verdict(Waiting.NOT_REACHED, verdict.short)
                continue
            short = self.round.falls_short(job) or verdict.short
            self.round.decide(
                Decision(job.key, Declined(reason=insufficient_capacity(job.state, short)))
            )
