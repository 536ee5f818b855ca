"""What a request does to a job or a node, as it stands now. Pure.

Each function returns the fact to record, a violation to answer with, or None when the request was
already carried out and only needs its answer again.
"""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from muster.domain import facts as f
from muster.domain import nodes as n
from muster.domain.demand import Demand, NodePolicy, QueueLimits
from muster.domain.edges import may_follow
from muster.domain.incidents import Incident, IncidentClosed
from muster.domain.phases import SHOWN_TEXT, Phase
from muster.domain.rules import violation
from muster.domain.state import JobState
from muster.domain.violations import Violation

Verdict: TypeAlias = f.Fact | Violation | None
NodeVerdict: TypeAlias = n.NodeFact | Violation | None


def stop(state: JobState, by: str, request: str) -> Verdict:
    """A stop is sticky and comes before everything else; stopping twice is one stop."""
    if state.knows(request) or state.phase is Phase.STOPPED:
        return None
    fact = f.StopRequested(by=by, request=request)
    return fact if may_follow(fact.event, state.phase) else _refuse(state, "stop")


def resume(
    state: JobState, by: str, request: str, queue: tuple[QueueLimits | None] | None
) -> Verdict:
    """Only a parked job can be resumed, and only when it has given everything back.

    queue: None = with the limits that it has; a 1-tuple: what they become.
    """
    if state.knows(request):
        return None
    if not may_follow("resumed", state.phase):
        return _refuse(state, "resume")
    if state.held:
        return violation("E_STILL_HELD", "$.job")
    if queue is None:
        return f.Resumed(by=by, request=request)
    return f.Resumed(by=by, request=request, queue=queue[0], off=queue[0] is None)


def respecify(
    state: JobState,
    by: str,
    request: str,
    queue: tuple[QueueLimits | None] | None,
    policy: NodePolicy | None,
) -> Verdict:
    """Change limits (a 1-tuple: what they become) or node policy of a waiting job."""
    if state.knows(request):
        return None
    if not may_follow("respecified", state.phase):
        return _refuse(state, "respecify")
    demand = _changed(state.demand, queue, policy)
    return f.Respecified(by=by, request=request, before=state.demand, demand=demand)


def _changed(
    demand: Demand, queue: tuple[QueueLimits | None] | None, policy: NodePolicy | None
) -> Demand:
    changes: dict[str, object] = {}
    if queue is not None:
        changes["queue"] = queue[0]
    if policy is not None:
        changes["node_policy"] = policy
    return demand.model_copy(update=changes)


def prioritise(state: JobState, by: str, request: str, priority: int) -> Verdict:
    """Another priority in any active phase; idle jobs have none."""
    if state.knows(request):
        return None
    if not may_follow("prioritised", state.phase):
        return _refuse(state, "prioritise")
    before = state.demand.priority
    if before is None:
        return violation("E_IDLE_PRIORITY", "$.priority")
    return f.Prioritised(by=by, request=request, before=before, priority=priority)


def relabel(state: JobState, by: str, request: str, labels: dict[str, str]) -> Verdict:
    """Labels may change in every phase: they never change how a job runs."""
    if state.knows(request):
        return None
    return f.Relabelled(by=by, request=request, before=state.labels, labels=labels)


def _refuse(state: JobState, action: str) -> Violation:
    english, chinese = SHOWN_TEXT[state.shown]
    return violation("E_STATE", "$.job", action=action, state=english, state_zh=chinese)


_GONE = {n.NodeCondition.GONE, n.NodeCondition.LOST}


def node(state: n.NodeState | None, name: str, fact: n.NodeFact) -> NodeVerdict:
    """What an operator says about a node; the same request twice is one."""
    if state is None:
        return violation("E_NODE_UNKNOWN", "$.node", node=name)
    if fact.request in state.requests:
        return None
    gone = state.condition in _GONE
    if gone and isinstance(fact, n.NodeReclaiming | n.NodeDrained):
        action = fact.event
        condition = state.condition.value
        return violation("E_NODE_STATE", "$.node", action=action, node=name, condition=condition)
    return fact


def close_incident(
    known: Incident | None, name: str, by: str, request: str, now: datetime
) -> IncidentClosed | Violation | None:
    """A person's word that an incident is over; the same request twice is one."""
    if known is not None and request in known.requests:
        return None
    if known is None or not known.open:
        return violation("E_INCIDENT_UNKNOWN", "$.incident", incident=name)
    requests = (*known.requests, request)[-32:]
    update = {"closed_at": now, "closed_by": by, "requests": requests}
    return IncidentClosed(incident=known.model_copy(update=update))
