"""A failure as the event alone tells it, where nobody could be asked. Pure."""

from __future__ import annotations

from datetime import datetime

from muster.domain.evidence import LEFT_BEHIND, WorkerEvidence
from muster.domain.facts import Fact, Hung, WorkerFailure, WorkersFailed
from muster.domain.faults import Faults
from muster.domain.state import JobState
from muster.fault_tolerance.core.failure import Failure
from muster.fault_tolerance.core.hang_lines import Seen


def failure_of(state: JobState, evidence: Fact, now: datetime) -> Failure:
    """Return what the state and the fact that made the job faulted say."""
    hung = evidence if isinstance(evidence, Hung) else None
    silent = hung is not None and not hung.exited
    started = state.started_at
    saved = state.progress.checkpointed_at if state.progress else None
    since = max((t for t in (started, saved) if t is not None), default=None)
    return Failure(
        tenant=state.tenant,
        job=state.job,
        user=state.user,
        attempt=state.attempt,
        at=state.since,
        workers=_workers(state, evidence),
        hung=hung.seconds if hung is not None and silent else None,
        exited=hung.exited if hung else _left_behind(evidence),
        outlier=hung.worker if hung else None,
        silence=_seen(hung) if hung else (),
        ran_s=(state.since - started).total_seconds() if started else None,
        gpus=state.demand.gpus + state.demand.gpu_milli / 1000,
        unsaved_s=(state.since - since).total_seconds() if since else None,
        faults=_without_progress(state),
    )


def _seen(hung: Hung) -> tuple[Seen, ...]:
    # an event of a time without Chinese is told as it was written
    return tuple(map(Seen, hung.evidence, hung.evidence_zh or hung.evidence))


def _workers(state: JobState, evidence: Fact) -> tuple[WorkerEvidence, ...]:
    """Return every worker of the gang; those that the fact does not name are alive."""
    ended = {one.worker: one for one in _failures(evidence)}
    placed = state.placed_on
    ranks = {worker: rank for rank, worker in enumerate(state.demand.workers)}
    names = [*placed, *(worker for worker in ended if worker not in placed)]
    return tuple(
        _worker(name, placed.get(name, ""), ranks.get(name, len(ranks)), ended.get(name))
        for name in names
    )


def _left_behind(evidence: Fact) -> bool:
    return any(one.cause == LEFT_BEHIND for one in _failures(evidence))


def _failures(evidence: Fact) -> tuple[WorkerFailure, ...]:
    return evidence.failures if isinstance(evidence, WorkersFailed) else ()


def _worker(name: str, node: str, rank: int, ended: WorkerFailure | None) -> WorkerEvidence:
    if ended is None:
        return WorkerEvidence(worker=name, node=node, rank=rank, alive=True)
    return WorkerEvidence(
        worker=name,
        node=ended.node,
        rank=rank,
        alive=ended.cause == LEFT_BEHIND,
        exit_code=ended.exit_code,
        cause=ended.cause,
        ended_at=ended.ended_at,
    )


def _without_progress(state: JobState) -> Faults | None:
    """Return the row of failures that this one may belong to: not once the job got further."""
    known, step = state.faults, state.progress.step if state.progress else 0
    return known if known is not None and step <= known.step else None
