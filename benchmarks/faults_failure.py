"""A labelled case as the core sees it: a `Failure`, on nodes of any name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from benchmarks.faults_cases import Case, Labelled, Shown
from benchmarks.faults_texts import Attempt, Writer
from muster.domain.evidence import (
    CheckpointFolder,
    CheckpointFound,
    NodeEvidence,
    NodeLine,
    Scope,
    WorkerEvidence,
)
from muster.domain.faults import Faults
from muster.fault_tolerance.core.failure import Elsewhere, Failure, NodeRecord

FIRST_END = datetime(2026, 11, 12, 3, 14, 7, tzinfo=UTC)
"""When the first worker of every case ended."""
SPREAD_S = 0.9
"""Workers that end together end within so many seconds."""


def _ended_at(case: Case, worker: int, first: int) -> datetime:
    """When a worker ended: those of one end a moment apart, and the first one first."""
    end = case.end_of(worker)
    place = (worker - first) % case.workers
    return FIRST_END + timedelta(seconds=end.after + SPREAD_S * place / case.workers)


def first_of(case: Case) -> int:
    """Return the number of the worker that failed first."""
    ended = [n for n in range(case.workers) if not case.end_of(n).alive]
    lost = [n for n in ended if case.end_of(n).cause == "node_lost"]
    named = [n for n in ended if str(n) in case.ends]
    order = lost or named or ended or [0]
    return min(order, key=lambda n: case.end_of(n).after)


def _worker(attempt: Attempt, number: int) -> WorkerEvidence:
    case = attempt.case
    end = case.end_of(number)
    at = _ended_at(case, number, attempt.first)
    begun = FIRST_END - timedelta(seconds=case.ran_s) if case.ran_s else None
    return WorkerEvidence(
        worker=f"worker-{number}",
        node=attempt.nodes[number],
        rank=number,
        alive=end.alive,
        exit_code=end.exit,
        cause=end.cause,
        started_at=begun,
        ended_at=None if end.alive else at,
        reason=end.reason,
        message=end.message,
        tail=Writer(attempt, number, at).output(),
    )


def _node(shown: Shown, node: str) -> NodeEvidence:
    lines = tuple(
        NodeLine(scope=Scope(scope), text=text, at=FIRST_END + timedelta(seconds=second))
        for scope, second, text in shown.lines
    )
    return NodeEvidence(node=node, condition=shown.condition, lines=lines)


def _records(case: Case, nodes: Sequence[str]) -> tuple[NodeRecord, ...]:
    return tuple(
        NodeRecord(
            node=nodes[one.node],
            users=one.users,
            jobs=one.jobs,
            suspected=one.suspected,
            last=tuple((rule, FIRST_END - timedelta(seconds=one.ago_s)) for rule in one.last),
        )
        for one in case.records
    )


def _folder(case: Case) -> CheckpointFolder | None:
    if not case.checkpoint_dir or not case.checkpoint:
        return None
    found = tuple(
        CheckpointFound(name=name, step=step, complete=whole, why=why)
        for name, step, whole, why in case.checkpoint
    )
    return CheckpointFolder(path=case.checkpoint_dir, found=found)


def _elsewhere(case: Case) -> Elsewhere:
    """Return what is known of other jobs: so many with one thing in common are one incident."""
    others = case.elsewhere
    if others is None:
        return Elsewhere()
    return Elsewhere(jobs=others.jobs, users=others.users, incident="inc-1", shared=others.shared)


def failure(
    labelled: Labelled,
    nodes: Sequence[str] = (),
    *,
    attempt: int = 1,
    faults: Faults | None = None,
) -> Failure:
    """Return the failure of a case. nodes: names of the nodes in order; else n0, n1 ..."""
    case = labelled.case
    placed = tuple(nodes) or tuple(f"n{number}" for number in range(case.workers))
    shown = Attempt(labelled.name, case, placed, FIRST_END, first_of(case))
    return Failure(
        tenant="lab",
        job=labelled.name,
        user="ann",
        attempt=attempt,
        at=FIRST_END + timedelta(seconds=5),
        workers=tuple(_worker(shown, n) for n in range(case.workers)),
        nodes=tuple(_node(case.nodes.get(n, Shown()), placed[n]) for n in range(case.workers)),
        order=case.order,
        hung=case.hung,
        exited=case.exited,
        step=case.step,
        ran_s=case.ran_s or None,
        gpus=float(case.gpus),
        complete=case.complete,
        image="registry.lab.example/train:1",
        checkpoint_dir=case.checkpoint_dir,
        checkpoint=_folder(case),
        faults=faults,
        records=_records(case, placed),
        elsewhere=_elsewhere(case),
    )
