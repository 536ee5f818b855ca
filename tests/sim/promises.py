"""What the two product pages promise of auto-queue, in our own words: the judge of the table.

Written by hand from the pages and the life cycle, on purpose without a look at the code's own
tables; `muster.cli.simulation.auto_queue_plays` must come to the same in every combination.
"""

from __future__ import annotations

from dataclasses import dataclass

from muster.cli.simulation.auto_queue_cases import Case, Event, Kind, Stage

PREEMPTED = "was preempted by another task"
"""Stands in the state of a job without auto-queue that was evicted, in both languages."""


@dataclass(frozen=True, slots=True)
class Promise:
    """reason: None = nothing is said. counted: a requeue is used. entry: a new queueing begins."""

    phase: str
    reason: str | None = None
    counted: bool = False
    entry: bool = False
    clock: str = "-"


def promised(case: Case) -> Promise:
    """Say what must become of the job."""
    stage, event = case.happening.stage, case.happening.event
    if stage is Stage.QUEUED:
        return _waiting(case, event)
    if _is_safe(case.kind, event):
        return Promise("starting" if stage is not Stage.RUNNING else "running")
    if stage is Stage.PLACED:
        return _same_queueing(case)
    if event is Event.REFUSED:
        return _after_a_failed_start(case)
    return _evicted(case) if _counts(case.kind, event) else _moved(case)


def _spot(kind: Kind) -> bool:
    return kind.resource_class.value == "spot"


def _idle(kind: Kind) -> bool:
    return kind.resource_class.value == "idle"


def _waiting(case: Case, event: Event) -> Promise:
    """Only auto-queue has a limit; only spot without auto-queue does not wait at all."""
    if event is Event.DOWN_ROOM:
        if case.auto is None and _spot(case.kind):
            return Promise("failed", "NO_DECISION")
        return Promise("starting")
    if case.auto is None and _spot(case.kind):
        down = event is Event.DOWN_FULL
        return Promise("failed", "NO_DECISION" if down else "INSUFFICIENT_CAPACITY")
    if case.auto is None:
        back = "PLAN_WITHDRAWN" if event is Event.BOUNCED else None
        return Promise("queued", back, clock="no limit")
    if event is Event.NO_ROOM:
        return Promise("queued", clock="goes on")
    return Promise("abnormal", "QUEUE_TIMEOUT")  # with requeues left or not: either limit


def _is_safe(kind: Kind, event: Event) -> bool:
    """A guaranteed job is nobody's victim, and no lender gets spot capacity for its share."""
    if event is Event.HIGHER:
        return kind.guarantee
    return event is Event.LENDER and (kind.guarantee or kind.on_spot)


def _same_queueing(case: Case) -> Promise:
    return Promise("queued", "PLAN_WITHDRAWN", clock=_goes_on(case))


def _goes_on(case: Case) -> str:
    if case.auto is not None:
        return "goes on"
    return "one round" if _spot(case.kind) else "no limit"


def _after_a_failed_start(case: Case) -> Promise:
    """It has not run: its queueing goes on. Who has one round gets another one."""
    once = case.auto is None and _spot(case.kind)
    return Promise("queued", "START_FAILED", entry=once, clock=_goes_on(case))


def _counts(kind: Kind, event: Event) -> bool:
    """Whether the job was taken for the sake of others, or its spot capacity went away."""
    match event:
        case Event.HIGHER | Event.LENDER:
            return True
        case Event.RECLAIM:
            return _spot(kind) or _idle(kind)
        case Event.LOST:
            return kind.on_spot
    return False


def _evicted(case: Case) -> Promise:
    if case.auto is None:
        return Promise("failed", "PREEMPTED")
    if case.auto.left == 0:
        return Promise("abnormal", "REQUEUE_LIMIT")
    return Promise("queued", "EVICTED", counted=True, entry=True, clock="from zero")


def _moved(case: Case) -> Promise:
    """An operator's drain or a broken machine: it queues again, and that is not counted."""
    clock = "from zero" if case.auto is not None else _goes_on(case)
    why = "REPLACING" if case.happening.event is Event.LOST else "EVICTED"
    return Promise("queued", why, entry=True, clock=clock)
