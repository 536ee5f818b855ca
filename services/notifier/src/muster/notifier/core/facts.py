"""The facts that a card shows, taken from an event and the state that it led to. Pure."""

from __future__ import annotations

from datetime import datetime

from muster.domain import facts as f
from muster.domain.incidents import Incident
from muster.domain.nodes import NodeState
from muster.domain.phases import Phase
from muster.domain.reasons import Reason, advised
from muster.domain.state import DeadlineKind, JobState
from muster.notifier.core.notice import Both, Facts, IncidentFacts, NodeFacts

_EVIDENCE = 3
_HOUR = 3600.0


def facts_of_job(state: JobState, fact: f.Fact, at: datetime) -> Facts:
    """Return what a card says about a job after `fact`, which happened at `at`."""
    step, resumed_step, checkpoint = _steps(state, fact)
    return Facts(
        name=state.name,
        owner=state.user,
        entry=state.queue_entry,
        attempt=state.attempt,
        gpus=state.demand.gpus,
        workers=len(state.demand.workers),
        nodes=_nodes(state, fact),
        requeues_left=state.requeues_left if state.demand.queue else None,
        deadline=state.due(DeadlineKind.QUEUE) if state.phase is Phase.QUEUED else None,
        hold_until=state.due(DeadlineKind.HOLD) if state.phase is Phase.DEBUG_HOLDING else None,
        reason=_reason(state, fact),
        reason_code=state.reason.code.value if state.reason else "",
        again=state.queue_entry > 1 or state.ledgers.restarts > 0,
        labels=tuple(sorted(state.labels.items())),
        resource_class=state.demand.resource_class.value,
        pool=state.pool,
        advice=_advice(fact),
        evidence=_evidence(fact),
        by=(fact.by or "") if isinstance(fact, f.Preempted) else "",
        cause=fact.cause.value if isinstance(fact, f.Preempted | f.Requeued) else "",
        leave_by=state.due(DeadlineKind.GRACE) if isinstance(fact, f.Preempted) else None,
        waited_s=_waited(state, fact),
        ran_s=_ran(state, fact, at),
        gpu_hours=_gpu_hours(state, fact, at),
        lost_gpu_hours=_lost(fact),
        step=step,
        resumed_step=resumed_step,
        checkpoint_step=checkpoint,
        worker=(fact.worker or "") if isinstance(fact, f.HangSuspected | f.Hung) else "",
        avoid=state.avoid,
    )


def node_facts(state: NodeState) -> NodeFacts:
    """Return what a card says about a node that is kept out."""
    return NodeFacts(
        pool=state.pool,
        node=state.node,
        until=state.excluded_until,
        why=(state.why, state.why_zh or state.why),
        times=max(1, state.exclusions),
        proposed=state.proposed,
    )


def incident_facts(incident: Incident) -> IncidentFacts:
    """Return what a card says about an incident."""
    return IncidentFacts(
        incident=incident.id,
        kind=incident.kind.value,
        name=incident.name,
        phase="opened" if incident.open else "closed",
        number=incident.number,
        pool=incident.pool or "",
        jobs=incident.jobs,
        users=incident.users,
        nodes=incident.nodes,
        since=incident.opened_at,
        ended=incident.closed_at,
        closed_by=incident.closed_by or "",
        why=(incident.en, incident.zh or incident.en),
    )


def _reason(state: JobState, fact: f.Fact) -> Both | None:
    """Return why, without the advice: a card says that in a place of its own."""
    if state.reason is None:
        return None
    advice = _advice(fact)
    if advice is None:
        return state.reason.en, state.reason.zh
    bare = Reason(code=state.reason.code, en="", zh="")
    tail = advised(bare, *advice)
    return state.reason.en.removesuffix(tail.en), state.reason.zh.removesuffix(tail.zh)


def _nodes(state: JobState, fact: f.Fact) -> tuple[str, ...]:
    if isinstance(fact, f.Preempted) and fact.nodes:
        return fact.nodes
    return tuple(state.held)


def _advice(fact: f.Fact) -> Both | None:
    diagnosis = fact.diagnosis if isinstance(fact, f.Judged) else None
    if diagnosis is None or diagnosis.advice is None:
        return None
    return diagnosis.advice.en, diagnosis.advice.zh


def _evidence(fact: f.Fact) -> tuple[Both, ...]:
    """Return the most telling lines of a diagnosis or of a suspected hang."""
    if isinstance(fact, f.HangSuspected | f.Hung):
        chinese = fact.evidence_zh or fact.evidence
        return tuple(zip(fact.evidence, chinese, strict=False))[:_EVIDENCE]
    if isinstance(fact, f.Judged) and fact.diagnosis is not None:
        lines = fact.diagnosis.evidence[:_EVIDENCE]
        return tuple((line.text, line.zh or line.text) for line in lines)
    return ()


def _steps(state: JobState, fact: f.Fact) -> tuple[int | None, int | None, int | None]:
    """Return the last known step, the one it went on from, and the newest checkpoint's."""
    progress = state.progress
    checkpoint = progress.checkpoint_step if progress else None
    if isinstance(fact, f.ProgressLost):
        return fact.step_before, fact.step_after, fact.checkpoint_step
    if isinstance(fact, f.HangSuspected) and fact.step is not None:
        return fact.step, None, checkpoint
    return (progress.step or None) if progress else None, None, checkpoint


def _lost(fact: f.Fact) -> float | None:
    """Return the GPU time that has to be spent again, where the event tells it."""
    if isinstance(fact, f.ProgressLost):
        return fact.gpu_hours
    diagnosis = fact.diagnosis if isinstance(fact, f.Judged) else None
    return diagnosis.gpu_hours if diagnosis else None


def _gpu_hours(state: JobState, fact: f.Fact, at: datetime) -> float | None:
    ran = _ran(state, fact, at)
    return None if ran is None else ran * state.demand.gpus / _HOUR


def _ran(state: JobState, fact: f.Fact, at: datetime) -> float | None:
    if state.started_at is None or isinstance(fact, f.Started):
        return None
    return max(0.0, (at - state.started_at).total_seconds())


def _waited(state: JobState, fact: f.Fact) -> float | None:
    """Return the seconds that the queue entry lasted before this start."""
    if not isinstance(fact, f.Started) or state.entered_at is None:
        return None
    return max(0.0, (state.since - state.entered_at).total_seconds())
