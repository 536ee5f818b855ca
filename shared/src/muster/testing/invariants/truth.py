"""I16, I19, I22: what is shown is true, reasons name true causes, the user's word is kept."""

from __future__ import annotations

from typing import ClassVar

from muster.domain.causes import EvictionCause
from muster.domain.demand import Demand, LocalityMode
from muster.domain.facts import (
    NotRequeued,
    Preempted,
    QueueTimedOut,
    RequeueExhausted,
    Scheduled,
    Submitted,
    Succeeded,
    WorkersFailed,
)
from muster.domain.nodes import NodeShape, Taint, TaintEffect
from muster.domain.phases import PARKED, TERMINAL, Phase, Shown
from muster.domain.reasons import ReasonCode
from muster.domain.state import JobState
from muster.testing.cluster import Life, WorkerId
from muster.testing.invariants.base import Invariant, JobChange, goes

_SHOWN = {
    Phase.SUBMITTED: {Shown.SUBMITTED},
    Phase.QUEUED: {Shown.QUEUED, Shown.SUBMITTED},
    Phase.STARTING: {Shown.STARTING, Shown.RESTARTING},
    Phase.FAULTED: {Shown.HANDLING_FAULT},
    Phase.INTERRUPTED: {Shown.EVICTING, Shown.QUEUED, Shown.SUBMITTED},
}


class WhatIsShownIsTrue(Invariant):
    number: ClassVar[str] = "I16"
    text: ClassVar[str] = (
        "What a state shows follows its phase; an ended job has an end, a reason in two languages"
        " and no deadline left; a running one has started and every worker has been up."
    )

    def on_job(self, change: JobChange) -> None:
        state = change.after
        shown = _SHOWN.get(state.phase, {Shown(state.phase.value)} if _same(state.phase) else set())
        if state.shown not in shown:
            raise self.broken(f"{state.phase} is shown as {state.shown}", state.job)
        if state.phase in TERMINAL | PARKED:
            why = state.reason
            if why is None or not why.en or not why.zh or state.deadlines:
                raise self.broken(f"{state.phase} without an end: {why}", state.job)
        if (state.phase in TERMINAL) != (state.ended_at is not None):
            raise self.broken(f"{state.phase}, ended at {state.ended_at}", state.job)
        if change.fact.event == "started":
            self._all_up(state)

    def _all_up(self, state: JobState) -> None:
        workers = self.known.cluster.workers
        for name in state.placed_on:
            worker = workers.get(WorkerId(state.job, state.attempt, name))
            if worker is None or worker.life is Life.STARTING:
                raise self.broken(f"running, and {name} was never up", state.job)


def _same(phase: Phase) -> bool:
    return phase.value in {shown.value for shown in Shown}


class ReasonsAreTrue(Invariant):
    number: ClassVar[str] = "I19"
    text: ClassVar[str] = (
        "An end names what caused it, in the platform's own words where it was the platform's"
        " order; a cause of eviction is true of the nodes; after a stop signal no exit counts."
    )

    _ENDS: ClassVar = {
        QueueTimedOut: ReasonCode.QUEUE_TIMEOUT,
        RequeueExhausted: ReasonCode.REQUEUE_LIMIT,
        NotRequeued: ReasonCode.PREEMPTED,
    }

    def on_job(self, change: JobChange) -> None:
        before, after, fact = change.before, change.after, change.fact
        code = self._ENDS.get(type(fact))
        if code is not None and (after.reason is None or after.reason.code is not code):
            raise self.broken(f"{fact.event} says {after.reason}", after.job)
        if isinstance(fact, NotRequeued):
            text = after.reason.en + after.reason.zh if after.reason else ""
            if text.count("was preempted by another task") != 2:
                raise self.broken(f"the promised words are missing: {text}", after.job)
        leaving = before is not None and before.phase in {Phase.EVICTING, Phase.STOPPING}
        if isinstance(fact, WorkersFailed | Succeeded) and leaving and before and before.signalled:
            raise self.broken(f"{fact.event} counts after our own signal", after.job)
        if isinstance(fact, Succeeded):
            self._really(after)
        if isinstance(fact, Preempted):
            self._cause(after, fact)

    def _really(self, state: JobState) -> None:
        names = ["head-0"] if "head-0" in state.placed_on else list(state.placed_on)
        for name in names:
            worker = self.known.cluster.workers.get(WorkerId(state.job, state.attempt, name))
            if worker is None or worker.exit_code != 0 or worker.told is not None:
                raise self.broken(f"succeeded, but {name} did not by itself", state.job)

    def _cause(self, state: JobState, fact: Preempted) -> None:
        nodes = [self.known.node_in_round(name, state.pool) for name in state.held]
        fell = any(place[0] == state.pool for place in self.known.stock)  # then see I24
        if fact.cause is EvictionCause.SPOT_RECLAIM and not fell and not any(map(goes, nodes)):
            raise self.broken("spot reclaim, and no node of it goes", state.job)
        if fact.cause in {EvictionCause.PRIORITY, EvictionCause.QUOTA_RECLAIM} and not fact.by:
            raise self.broken(f"{fact.cause} for nobody", state.job)


class TheUsersWordIsKept(Invariant):
    number: ClassVar[str] = "I22"
    text: ClassVar[str] = (
        "Demand is what the specification says; a placement keeps to the node policy, the GPU"
        " models, a required level of locality, and to nodes that were open in what its round knew"
        " and have no taint that the job does not put up with."
    )

    def on_job(self, change: JobChange) -> None:
        state, fact = change.after, change.fact
        if isinstance(fact, Submitted) and fact.demand != fact.spec.demand():
            raise self.broken("demand is not what the specification says", state.job)
        if isinstance(fact, Scheduled):
            self._allowed(state, fact)

    def _allowed(self, state: JobState, fact: Scheduled) -> None:
        policy = state.demand.node_policy
        for node, workers in fact.placement.items():
            if policy is not None and not policy.allows(node):
                raise self.broken(f"placed on {node} against its policy", state.job)
            known = self.known.node_in_round(node, state.pool)
            if known is None or not known.schedulable:
                raise self.broken(f"placed on {node}, which was closed", state.job)
            models = [state.demand.role_of(worker).gpu_model for worker in workers]
            if any(m and known.shape.gpu_model not in m.split("|") for m in models):
                raise self.broken(f"placed on {node} of another model", state.job)
            if any(_keeps_off(taint, state.demand) for taint in known.shape.taints):
                raise self.broken(f"placed on {node} against its taint", state.job)
        locality = state.demand.locality
        if locality is not None and locality.mode is LocalityMode.REQUIRED:
            shapes = [(n, self.known.nodes[n].shape) for n in fact.placement]
            if len({_domain(name, shape, locality.level) for name, shape in shapes}) > 1:
                raise self.broken(f"spread over more than one {locality.level}", state.job)


def _keeps_off(taint: Taint, demand: Demand) -> bool:
    if taint.effect is TaintEffect.PREFER_NO_SCHEDULE:
        return False
    return not any(
        t.key in {None, taint.key} and t.value in {None, taint.value} for t in demand.tolerations
    )


def _domain(node: str, shape: NodeShape, level: str) -> tuple[str, str]:
    """Return the domain of a node; without the label it is one of its own."""
    value = shape.zone if level == "zone" else shape.labels.get(level)
    return ("node", node) if level == "node" or value is None else ("level", value)
