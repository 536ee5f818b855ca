"""How far an attempt had come when it failed, as far as its output tells. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from muster.domain.diagnosis import Stage
from muster.domain.evidence import WorkerEvidence
from muster.fault_tolerance.core.failure import Failure
from muster.fault_tolerance.core.lines import lines

_STEP = re.compile(
    r"\b(?:global[_ ]?step|steps?|iter(?:ation)?s?)\b['\"]?\s{0,4}[:=#\[]?\s{0,6}(?P<step>\d{1,12})"
    r"|\b(?P<count>\d{1,12})/\d{1,12} \[\d+:\d\d",
    re.IGNORECASE,
)
_SAVING = re.compile(
    r"\bsav(?:ing|e)\b.{0,60}\bcheckpoint|\bcheckpoint\b.{0,60}\bsaving\b", re.IGNORECASE
)
_SAVED = re.compile(
    r"\b(?:successfully )?saved\b.{0,60}\bcheckpoint|\bcheckpoint\b.{0,60}\bsaved\b", re.IGNORECASE
)
_EVALUATING = re.compile(r"\b(?:evaluati(?:ng|on)|validati(?:ng|on))\b", re.IGNORECASE)


def step_line(text: str) -> int:
    """Return the number of the last line that tells a completed step; 0 if none does."""
    return max((line.number for line in lines(text) if tells_step(line.text)), default=0)


def tells_step(text: str) -> bool:
    """Tell whether a line reports a completed step."""
    found = _STEP.search(text)
    return bool(found and int(found["step"] or found["count"] or 0) > 0)


def stage_of(failure: Failure, order: Iterable[WorkerEvidence]) -> Stage | None:
    """Return the stage; None where nothing tells it."""
    if failure.stage is not None:
        return failure.stage
    if failure.complete:
        return Stage.TEARDOWN
    if failure.workers and all(_never_ran(worker) for worker in failure.workers):
        return Stage.CREATE
    told = next((found for w in order if w.tail and (found := _told(w.tail))), None)
    if told is not None:
        return told
    if failure.step is None:
        return None
    return Stage.TRAIN if failure.step > 0 else Stage.INIT


def _never_ran(worker: WorkerEvidence) -> bool:
    ran = worker.started_at is not None or worker.exit_code is not None or worker.tail
    return not ran and not worker.alive and worker.cause == "exited" and worker.ended_at is None


def _told(tail: str) -> Stage | None:
    """Return what the last line that speaks of a stage says."""
    stage: Stage | None = None
    for line in lines(tail):
        if line.frame or line.late:
            continue
        if _SAVING.search(line.text):
            stage = Stage.CHECKPOINT
        elif _SAVED.search(line.text) or tells_step(line.text):
            stage = Stage.TRAIN
        elif stage is not None and _EVALUATING.search(line.text):
            stage = Stage.EVALUATION
    return stage
