"""I3, I4, I10, I11, I12: whole jobs leave, ends are final, stale words and writers do nothing."""

from __future__ import annotations

from typing import ClassVar

from muster.domain.edges import EDGES, Owner
from muster.domain.facts import (
    NotRequeued,
    OfAttempt,
    Preempted,
    Released,
    Requeued,
    RequeueExhausted,
    Resumed,
    Scheduled,
    StopRequested,
)
from muster.domain.nodes import NodeCondition
from muster.domain.phases import TERMINAL, Phase
from muster.domain.pools import EpochTaken, RoundDecided
from muster.domain.state import JobState
from muster.testing.invariants.base import Invariant, JobChange, Known, PoolChange
from muster.testing.world import World


class WholeJobsLeave(Invariant):
    number: ClassVar[str] = "I3"
    text: ClassVar[str] = (
        "A release stands in the log only when no process of the job runs any more, of any role or"
        " attempt, except on a node that was fenced."
    )

    def on_job(self, change: JobChange) -> None:
        gone = change.before and change.before.held and not change.after.held
        if not isinstance(change.fact, Released) and not gone:
            return
        for worker in self.known.cluster.alive():
            node = self.known.nodes.get(worker.node)
            fenced = node is not None and node.condition is NodeCondition.FENCED
            if worker.id.job == change.after.job and not fenced:
                raise self.broken(f"{change.fact.event} while {worker.id} runs", change.after.job)


_AFTER_THE_END = frozenset({"released", "signalled", "relabelled", "shared", "archived"})
_GOES_ON = frozenset(
    {Phase.QUEUED, Phase.STARTING, Phase.RUNNING, Phase.INTERRUPTED, Phase.FAULTED, Phase.EVICTING}
)


class EndsAreFinal(Invariant):
    number: ClassVar[str] = "I4"
    text: ClassVar[str] = (
        "A terminal phase absorbs every later report, and a stop that a person asked for is never"
        " undone, in whatever phase it came."
    )

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._stopped: set[str] = set()

    def on_job(self, change: JobChange) -> None:
        before, after = change.before, change.after
        if before is not None:
            self._absorbed(before, change)
        if after.job in self._stopped and after.phase in _GOES_ON:
            raise self.broken(f"{change.fact.event} goes on after a stop", after.job)
        if isinstance(change.fact, StopRequested):
            self._stopped.add(after.job)

    def _absorbed(self, before: JobState, change: JobChange) -> None:
        moved, event = change.after.phase is not before.phase, change.fact.event
        if before.phase in TERMINAL and (moved or event not in _AFTER_THE_END):
            raise self.broken(f"{event} after {before.phase}", before.job)
        obeys = isinstance(change.fact, Resumed | StopRequested)
        if before.phase is Phase.ABNORMAL and moved and not obeys:
            raise self.broken(f"{event} moved a parked job", before.job)


class EffectsHappenOnce(Invariant):
    number: ClassVar[str] = "I10"
    text: ClassVar[str] = (
        "However often a message comes: a worker of an attempt is started once, a request is"
        " carried out once, and an attempt is evicted and requeued once."
    )

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._once: set[tuple[str, int, str]] = set()

    def on_job(self, change: JobChange) -> None:
        state, fact = change.after, change.fact
        if len(set(state.requests)) != len(state.requests):
            raise self.broken(f"a request was carried out twice: {state.requests}", state.job)
        if state.phase is Phase.DEBUG_HOLDING:
            self._once.discard((state.job, state.attempt, "evicted"))  # what holds may be taken
        kind = {Preempted: "evicted", Requeued: "left", NotRequeued: "left"}.get(type(fact))
        kind = "left" if isinstance(fact, RequeueExhausted) else kind
        if kind is None:
            return
        key = (state.job, state.attempt, kind)
        if key in self._once:
            raise self.broken(f"attempt {state.attempt} was {kind} twice", state.job)
        self._once.add(key)

    def on_step(self, world: World) -> None:
        for who, times in self.known.cluster.started.items():
            if times > 1:
                raise self.broken(f"{who} was started {times} times", who.job)


class NothingStaleCounts(Invariant):
    number: ClassVar[str] = "I11"
    text: ClassVar[str] = (
        "A report about an attempt counts only while that attempt is the present one; attempts"
        " only rise, by one, and only by a placement or a restart."
    )

    def on_job(self, change: JobChange) -> None:
        before, after, fact = change.before, change.after, change.fact
        if isinstance(fact, OfAttempt) and fact.attempt != (before.attempt if before else 0):
            raise self.broken(f"{fact.event} of attempt {fact.attempt}", after.job)
        risen = after.attempt - (before.attempt if before else 0)
        expected = 1 if isinstance(fact, Scheduled) or fact.event == "restarted" else 0
        if risen != expected:
            raise self.broken(f"{fact.event} moved the attempt by {risen}", after.job)


class OneWriter(Invariant):
    number: ClassVar[str] = "I12"
    text: ClassVar[str] = (
        "Versions of a job rise by exactly one, its time never runs backwards, each event is"
        " written by its owner, and no round counts that was decided in an epoch that is over."
    )

    def on_job(self, change: JobChange) -> None:
        before, after = change.before, change.after
        if after.version != (before.version if before else 0) + 1:
            raise self.broken(f"{change.fact.event} has version {after.version}", after.job)
        source = Owner(change.event.source.partition("/")[2])
        if source not in EDGES[change.fact.event].owners:
            raise self.broken(f"{change.fact.event} was written by {source}", after.job)
        if before is not None and after.since < before.since:
            raise self.broken(f"{change.fact.event} runs backwards", after.job)
        if source is Owner.SCHEDULER and isinstance(change.fact, Scheduled | Preempted):
            self._fenced(change)

    def _fenced(self, change: JobChange) -> None:
        rounds = self.known.rounds[change.after.pool]
        epoch = self.known.epochs.get(("pool", change.after.pool))
        if not rounds or epoch is None or rounds[-1][1].epoch != epoch.epoch:
            raise self.broken(f"{change.fact.event} outside of a round", change.after.job)

    def on_pool(self, change: PoolChange) -> None:
        known = self.known.epochs.get((change.kind, change.name))
        present = known.epoch if known else 0
        if isinstance(change.fact, EpochTaken) and change.fact.epoch <= present:
            raise self.broken(f"epoch {change.fact.epoch} after {present}", change.name)
        if isinstance(change.fact, RoundDecided) and change.fact.epoch != present:
            raise self.broken(
                f"a round of epoch {change.fact.epoch} counts in {present}", change.name
            )
