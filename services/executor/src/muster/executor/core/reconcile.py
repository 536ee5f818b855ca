"""What the executor does next about one job: `next_step(state, view, now)`, one step at a time.

Pure. The handler carries a step out and asks again until there is none, so a crash between any two
steps loses nothing: intent is on the log before an effect, and every effect may be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from muster.domain import facts as f
from muster.domain.causes import SCHEDULER_CAUSES
from muster.domain.deadlines import SETTLE_S, passed
from muster.domain.demand import JobType
from muster.domain.phases import Phase
from muster.domain.state import DeadlineKind, JobState
from muster.executor.core.view import View, Worker


@dataclass(frozen=True, slots=True)
class Record:
    """Append this fact."""

    fact: f.Fact


@dataclass(frozen=True, slots=True)
class Launch:
    """Start these workers of the present attempt."""

    workers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Signal:
    """Ask these workers to stop by the deadline."""

    workers: tuple[Worker, ...]
    deadline: datetime


@dataclass(frozen=True, slots=True)
class Kill:
    """End these workers now."""

    workers: tuple[Worker, ...]


@dataclass(frozen=True, slots=True)
class Forget:
    """The end of these workers is on the log: drop their records."""

    workers: tuple[Worker, ...]


Step: TypeAlias = Record | Launch | Signal | Kill | Forget


def concerns(state: JobState) -> bool:
    """Tell whether a state can be of interest at all: not while the job waits for its first start.

    A long queue is so none of the executor's work.
    """
    return state.attempt > 0 or state.phase is Phase.STOPPING


def next_step(state: JobState, view: View, now: datetime) -> Step | None:
    """Return the next step for a job, or None until something changes."""
    return _for_phase(state, view, now) or _sweep_up(state, view)


def _sweep_up(state: JobState, view: View) -> Step | None:
    """No worker of an attempt before may run beside the present one, wherever it is seen."""
    old = view.outlived(state.attempt)
    return Kill(old) if old else None


def _for_phase(state: JobState, view: View, now: datetime) -> Step | None:
    match state.phase:
        case Phase.STARTING:
            return _starting(state, view, now)
        case Phase.RUNNING:
            return _running(state, view, now)
        case Phase.EVICTING | Phase.STOPPING:
            return _leaving(state, view, now)
        case Phase.DEBUG_HOLDING:
            return Record(f.HoldEnded()) if passed(state, DeadlineKind.HOLD, now) else None
        case Phase.FAULTED:
            return None
        case _:
            return _clearing(state, view, now)


# --- starting ----------------------------------------------------------------------------------


def _starting(state: JobState, view: View, now: datetime) -> Step | None:
    if not state.launched:
        old = view.outlived(state.attempt)
        if any(_is_waited_for(worker, state, view, now) for worker in old):
            return _start_over(state, now) or Kill(old)
        if not view.victims_gone or (state.not_before is not None and now < state.not_before):
            return None
        return Record(f.Launching(attempt=state.attempt))
    return _launched(state, view, now)


def _is_waited_for(worker: Worker, state: JobState, view: View, now: datetime) -> bool:
    """A worker that is still seen on a fenced node is killed too, but not waited for for ever."""
    bound = state.since + timedelta(seconds=state.demand.grace_s)
    return worker.node not in view.fenced or now < bound


def _start_over(state: JobState, now: datetime) -> Step | None:
    if passed(state, DeadlineKind.START, now):
        return _start_failed(state, "the workers of the attempt before did not end")
    return None


def _launched(state: JobState, view: View, now: datetime) -> Step | None:
    workers = view.of(state.attempt)
    missing = tuple(name for name in state.placed_on if name not in workers)
    failures = _failures(state, view)
    if failures:
        return _failed(state, failures)
    if passed(state, DeadlineKind.START, now):
        return _start_failed(state, _not_up(missing, workers))
    closed = sorted({state.placed_on[name] for name in missing} & view.fenced)
    if closed:
        return _start_failed(state, f"fenced before the start: {', '.join(closed)}")
    if missing:
        return Launch(missing)
    if all(w.seen in {"running", "ended"} for w in workers.values()):
        return Record(f.Started(attempt=state.attempt))
    return None


def _not_up(missing: tuple[str, ...], workers: dict[str, Worker]) -> str:
    slow = [f"{w.name} on {w.node}" for w in workers.values() if w.seen == "starting"]
    return f"not up in time: {', '.join([*missing, *slow])}"


def _start_failed(state: JobState, why: str) -> Record:
    return Record(f.StartFailed(attempt=state.attempt, why=why))


def _failed(state: JobState, failures: tuple[f.WorkerFailure, ...]) -> Record:
    """Report a failure; those that still run may be about to fail of the same cause."""
    left = state.placed_on.keys() - {one.worker for one in failures}
    settle_s = SETTLE_S if left else 0
    return Record(f.WorkersFailed(attempt=state.attempt, failures=failures, settle_s=settle_s))


# --- running -----------------------------------------------------------------------------------


def _running(state: JobState, view: View, now: datetime) -> Step | None:
    failures = _failures(state, view, vanished=True)
    if _is_success(state, view):
        return Record(f.Succeeded(attempt=state.attempt))
    if failures:
        return _failed(state, failures)
    if passed(state, DeadlineKind.RUN, now):
        return Record(f.RunTimedOut())
    return None


def _is_success(state: JobState, view: View) -> bool:
    """A RayJob ends with its head, any other job with its last worker."""
    workers = view.of(state.attempt)
    if state.type is JobType.RAY:
        head = workers.get("head-0")
        return head is not None and head.succeeded
    names = state.placed_on
    return bool(names) and all(n in workers and workers[n].succeeded for n in names)


def _failures(
    state: JobState, view: View, *, vanished: bool = False
) -> tuple[f.WorkerFailure, ...]:
    """Every worker of the attempt that ended badly, the first to end first.

    vanished: a worker that the cluster no longer shows counts too.
    """
    workers = view.of(state.attempt)
    found = [_failure(w) for w in workers.values() if w.failed and not _taken(w, view)]
    if vanished:
        found += [
            f.WorkerFailure(
                worker=name, node=node, cause="node_lost" if node in view.down else "vanished"
            )
            for name, node in state.placed_on.items()
            if name not in workers and node not in view.taken
        ]
    return tuple(sorted(found, key=_order))


def _taken(worker: Worker, view: View) -> bool:
    return worker.exit_code is None and worker.node in view.taken


def _failure(worker: Worker) -> f.WorkerFailure:
    return f.WorkerFailure(
        worker=worker.name,
        node=worker.node,
        exit_code=worker.exit_code,
        cause=_cause(worker),
        ended_at=worker.ended_at,
        log=worker.log,
    )


def _cause(worker: Worker) -> str:
    if worker.exit_code is not None:
        return "exited"
    return "node_lost" if worker.node_down else "vanished"


def _order(failure: f.WorkerFailure) -> tuple[bool, float, str]:
    ended = failure.ended_at
    return (ended is None, ended.timestamp() if ended else 0.0, failure.worker)


def unexplained(step: Step | None) -> bool:
    """Tell whether a step blames the job for an end that nobody saw: its node may have gone."""
    fact = step.fact if isinstance(step, Record) else None
    return isinstance(fact, f.WorkersFailed) and any(x.cause == "vanished" for x in fact.failures)


# --- leaving: evicted or stopped ---------------------------------------------------------------


def _leaving(state: JobState, view: View, now: datetime) -> Step | None:
    if state.held:
        return _before_signal(state, view) or _tear_down(state, view, now, _grace_end(state))
    if state.phase is Phase.STOPPING:
        return Record(f.Stopped())
    return None


def _before_signal(state: JobState, view: View) -> Step | None:
    """What ended by itself before the first stop signal still counts as its own end."""
    if state.signalled or not state.launched or state.holds_outcome:
        return None
    if _is_success(state, view):
        return Record(f.Succeeded(attempt=state.attempt))
    ordered = state.eviction is not None and state.eviction.cause in SCHEDULER_CAUSES
    if state.phase is Phase.EVICTING and ordered:
        failures = tuple(x for x in _failures(state, view) if x.exit_code is not None)
        if failures:
            return _failed(state, failures)
    return None


def _grace_end(state: JobState) -> datetime:
    return state.due(DeadlineKind.GRACE) or state.since + timedelta(seconds=state.demand.grace_s)


def _tear_down(state: JobState, view: View, now: datetime, grace_end: datetime) -> Step | None:
    alive = view.alive()
    if not alive:
        return Record(_released(state, view))
    if not state.signalled:
        return Record(f.Signalled(attempt=state.attempt))
    if now < grace_end:
        return Signal(alive, grace_end)
    if passed(state, DeadlineKind.RELEASE, now):
        nodes = tuple(sorted({w.node for w in alive}))
        return Record(f.ReleaseOverdue(nodes=nodes))
    return Kill(alive)


def _released(state: JobState, view: View) -> f.Released:
    workers = view.of(state.attempt)
    proofs = {name: _proof(workers.get(name), node, view) for name, node in state.placed_on.items()}
    return f.Released(attempt=state.attempt, proofs=proofs)


def _proof(worker: Worker | None, node: str, view: View) -> str:
    if worker is None:
        return "never launched"
    if worker.exit_code is not None:
        return f"exit {worker.exit_code}"
    return "node fenced" if node in view.fenced else "gone"


# --- every phase in which the job should hold nothing ------------------------------------------


def _clearing(state: JobState, view: View, now: datetime) -> Step | None:
    if state.held:
        grace_end = state.since + timedelta(seconds=state.demand.grace_s)
        return _tear_down(state, view, now, grace_end)
    alive = view.outlived(state.attempt + 1)
    if alive:
        return Kill(alive)
    ended = tuple(w for w in view.workers if not w.alive)
    return Forget(ended) if ended else None
