"""Everything that is known of one failure, joined from where it stands. Pure.

What the log says of an end counts before what the cluster says now; what neither says is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from muster.domain.diagnosis import Stage
from muster.domain.evidence import FailureEvidence, JobSignals, WorkerEvidence
from muster.domain.facts import Fact, Judged
from muster.domain.spec import JobSpec
from muster.domain.state import JobState
from muster.fault_tolerance.core.event import failure_of
from muster.fault_tolerance.core.failure import Earlier, Failure
from muster.fault_tolerance.core.lines import lines
from muster.fault_tolerance.core.stages import step_line

_DECLARED = {
    "checkpoint": Stage.CHECKPOINT,
    "evaluation": Stage.EVALUATION,
    "loading": Stage.INIT,
}
_COMPLETE = re.compile(
    r"\btraining (?:is |has )?(?:been )?(?:complete[d]?|finished|done)\b"
    r"|\b(?:finished|completed) training\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Gathered:
    """What was found about a failure. evidence, signals: None where nobody answered."""

    evidence: FailureEvidence | None = None
    signals: JobSignals | None = None
    spec: JobSpec | None = None
    earlier: tuple[Earlier, ...] = ()


def joined(state: JobState, fact: Fact, found: Gathered) -> Failure:
    """Return the failure that a faulted job is judged for."""
    told = failure_of(state, fact, state.since)
    evidence = found.evidence
    workers = _merged(told.workers, evidence.workers) if evidence else told.workers
    step = found.signals.step if found.signals else None
    return replace(
        told,
        workers=workers,
        nodes=evidence.nodes if evidence else (),
        checkpoint=evidence.checkpoint if evidence else None,
        stage=_stage(found.signals),
        step=step,
        complete=any(_is_complete(worker.tail) for worker in workers[:1]),
        image=found.spec.image if found.spec else "",
        checkpoint_dir=found.spec.checkpoint_dir if found.spec else None,
        earlier=found.earlier,
    )


def _merged(
    told: Iterable[WorkerEvidence], seen: Iterable[WorkerEvidence]
) -> tuple[WorkerEvidence, ...]:
    known = {worker.worker: worker for worker in told}
    found = {worker.worker: worker for worker in seen}
    for name, worker in known.items():
        if name not in found:
            found[name] = worker
        elif not worker.alive:
            found[name] = _by_the_log(worker, found[name])
    return tuple(sorted(found.values(), key=lambda worker: worker.rank))


def _by_the_log(told: WorkerEvidence, seen: WorkerEvidence) -> WorkerEvidence:
    code = told.exit_code if told.exit_code is not None else seen.exit_code
    return seen.model_copy(
        update={
            "alive": False,
            "exit_code": code,
            "cause": told.cause,
            "ended_at": told.ended_at or seen.ended_at,
        }
    )


def _stage(signals: JobSignals | None) -> Stage | None:
    if signals is None:
        return None
    if signals.declared in _DECLARED:
        return _DECLARED[signals.declared]
    return Stage.TRAIN if signals.step else None


def _is_complete(tail: str) -> bool:
    """Tell whether the training said that it was done, and made no step after."""
    said = max((line.number for line in lines(tail) if _COMPLETE.search(line.text)), default=0)
    return said > step_line(tail)


def earlier_of(history: Iterable[tuple[JobState, Judged]]) -> tuple[Earlier, ...]:
    """Return what was judged of the job before, from its history: (state after, fact)."""
    return tuple(
        Earlier(
            fingerprint=found.fingerprint,
            rule=found.rule,
            nodes=found.nodes,
            node=found.node if found.nodes else None,
            step=found.step or 0,
            at=state.since,
        )
        for state, fact in history
        if (found := fact.diagnosis) is not None
    )
