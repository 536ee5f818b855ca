"""The one table of the life cycle: which event may follow which phase, and who may write it.

Checked whenever a fact is recorded; printed into docs/reference/edges.md. Add an edge only here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from muster.domain.errors import Permanent
from muster.domain.phases import ACTIVE, TERMINAL, Phase


class Owner(StrEnum):
    """The services, as the `source` of events and in this table."""

    ADMISSION = "admission"
    SCHEDULER = "scheduler"
    EXECUTOR = "executor"
    REQUEUE = "requeue"
    FAULT_TOLERANCE = "fault-tolerance"
    NOTIFIER = "notifier"
    GATEWAY = "gateway"


class IllegalEdge(Permanent):
    """The event cannot follow the phase, or is not its writer's to write."""


@dataclass(frozen=True, slots=True)
class Edge:
    """sources: phases it may follow. targets: phases it may lead to; empty = phase unchanged."""

    owners: tuple[Owner, ...]
    sources: frozenset[Phase]
    targets: frozenset[Phase] = frozenset()


def _edge(owner: Owner | tuple[Owner, ...], sources: object, *targets: Phase) -> Edge:
    owners = owner if isinstance(owner, tuple) else (owner,)
    phases = frozenset({sources}) if isinstance(sources, Phase) else frozenset(sources)  # type: ignore[call-overload]
    return Edge(owners, phases, frozenset(targets))


_P = Phase
_PREEMPTIBLE = {_P.STARTING, _P.RUNNING, _P.FAULTED, _P.DEBUG_HOLDING}
_SIGNALLABLE = {
    _P.STARTING,
    _P.RUNNING,
    _P.EVICTING,
    _P.FAULTED,
    _P.STOPPING,
    _P.DEBUG_HOLDING,
    _P.ABNORMAL,
    _P.FAILED,
    _P.SUCCEEDED,
    _P.STOPPED,
}
_ANY = frozenset(Phase)

EDGES: dict[str, Edge] = {
    "submitted": _edge(Owner.ADMISSION, (), _P.SUBMITTED),
    "admitted": _edge(Owner.ADMISSION, _P.SUBMITTED, _P.QUEUED),
    "rejected": _edge(Owner.ADMISSION, _P.SUBMITTED, _P.REJECTED),
    "scheduled": _edge(Owner.SCHEDULER, _P.QUEUED, _P.STARTING),
    "unscheduled": _edge(Owner.SCHEDULER, _P.STARTING, _P.QUEUED),
    "declined": _edge((Owner.SCHEDULER, Owner.REQUEUE), _P.QUEUED, _P.FAILED),
    "launching": _edge(Owner.EXECUTOR, _P.STARTING),
    "start_refused": _edge(Owner.EXECUTOR, _P.STARTING, _P.QUEUED, _P.ABNORMAL),
    "start_failed": _edge(Owner.EXECUTOR, _P.STARTING, _P.EVICTING),
    "started": _edge(Owner.EXECUTOR, _P.STARTING, _P.RUNNING),
    "preempted": _edge(Owner.SCHEDULER, _PREEMPTIBLE, _P.EVICTING),
    "grace_shortened": _edge(Owner.SCHEDULER, {_P.EVICTING, _P.STOPPING}),
    "signalled": _edge(Owner.EXECUTOR, _SIGNALLABLE),
    "workers_failed": _edge(Owner.EXECUTOR, {_P.STARTING, _P.RUNNING, _P.EVICTING}, _P.FAULTED),
    "succeeded": _edge(
        Owner.EXECUTOR,
        {_P.RUNNING, _P.EVICTING, _P.STOPPING},
        _P.SUCCEEDED,
        _P.DEBUG_HOLDING,
    ),
    "released": _edge(Owner.EXECUTOR, _ANY, *_ANY),
    "release_overdue": _edge(Owner.EXECUTOR, {_P.EVICTING, _P.STOPPING}),
    "requeued": _edge(Owner.REQUEUE, _P.INTERRUPTED, _P.QUEUED),
    "not_requeued": _edge(Owner.REQUEUE, _P.INTERRUPTED, _P.FAILED),
    "requeue_exhausted": _edge(Owner.REQUEUE, _P.INTERRUPTED, _P.ABNORMAL),
    "queue_timed_out": _edge(Owner.REQUEUE, _P.QUEUED, _P.ABNORMAL),
    "hang_suspected": _edge(Owner.FAULT_TOLERANCE, _P.RUNNING),
    "hung": _edge(Owner.FAULT_TOLERANCE, _P.RUNNING, _P.FAULTED),
    "restarted": _edge(Owner.FAULT_TOLERANCE, _P.FAULTED, _P.STARTING),
    "replacement_ordered": _edge(Owner.FAULT_TOLERANCE, _P.FAULTED, _P.EVICTING),
    "failed": _edge(Owner.FAULT_TOLERANCE, _P.FAULTED, _P.FAILED, _P.DEBUG_HOLDING),
    "escalated": _edge(Owner.FAULT_TOLERANCE, _P.FAULTED, _P.ABNORMAL),
    "run_timed_out": _edge(Owner.EXECUTOR, _P.RUNNING, _P.STOPPING),
    "stop_requested": _edge(
        Owner.ADMISSION,
        (ACTIVE | {_P.ABNORMAL}) - {_P.SUBMITTED},
        _P.STOPPED,
        _P.STOPPING,
    ),
    "stopped": _edge(Owner.EXECUTOR, _P.STOPPING, _P.STOPPED, _P.SUCCEEDED, _P.FAILED),
    "hold_ended": _edge(Owner.EXECUTOR, _P.DEBUG_HOLDING, _P.SUCCEEDED, _P.FAILED),
    "resumed": _edge(Owner.ADMISSION, _P.ABNORMAL, _P.QUEUED),
    "respecified": _edge(Owner.ADMISSION, {_P.QUEUED, _P.ABNORMAL}),
    "prioritised": _edge(Owner.ADMISSION, ACTIVE),
    "relabelled": _edge(Owner.ADMISSION, _ANY),
    "shared": _edge(Owner.ADMISSION, _ANY),
    "scale_requested": _edge(Owner.EXECUTOR, _P.RUNNING),
    "scaled_down": _edge(Owner.EXECUTOR, _P.RUNNING),
    "rescaled": _edge(Owner.SCHEDULER, _P.RUNNING),
    "checkpoint_saved": _edge(Owner.EXECUTOR, {_P.RUNNING, _P.EVICTING}),
    "resume_verified": _edge(Owner.EXECUTOR, _P.RUNNING),
    "progress_lost": _edge(Owner.EXECUTOR, _P.RUNNING),
    "archived": _edge(Owner.GATEWAY, TERMINAL),
}
"""event -> edge. Every event of `muster.domain.facts.FACTS` stands here once."""


def check_source(event: str, owner: Owner, phase: Phase | None) -> None:
    """Refuse an event that is not the owner's or cannot follow the phase (None = no job yet)."""
    edge = EDGES[event]
    if owner not in edge.owners:
        raise IllegalEdge(f"{event} is written by {', '.join(edge.owners)}, not by {owner}")
    if (phase is None) != (event == "submitted") or (phase and phase not in edge.sources):
        raise IllegalEdge(f"{event} cannot follow {phase or 'nothing'}")


def check_target(event: str, before: Phase | None, after: Phase) -> None:
    """Refuse a state that the table does not allow after the event."""
    targets = EDGES[event].targets
    if after not in targets if targets else after is not before:
        raise IllegalEdge(f"{event} cannot lead from {before} to {after}")


def may_follow(event: str, phase: Phase) -> bool:
    """Tell whether the event can follow the phase: the first question of every decision."""
    return phase in EDGES[event].sources
