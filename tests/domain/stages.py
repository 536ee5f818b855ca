"""A job in each phase, reached by facts alone."""

from __future__ import annotations

from collections.abc import Callable

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.phases import Phase
from muster.domain.spec import JobSpec
from tests.domain.making import WHY
from tests.support.lives import Life, auto_queue, spec

HEAD_AND_WORKERS = {
    "n1": ("head-0",),
    "n2": ("worker-0", "worker-1"),
}


def waiting() -> JobSpec:
    """A spot job with auto-queue: two hours for each queueing, one requeue."""
    return spec(auto_queue=auto_queue(hours=2, requeues=1))


def held_for_debugging(seconds: int = 600) -> JobSpec:
    """A RayJob whose cluster stays after its end."""
    return spec(type="RayJob", debug={"enabled": True, "hold_seconds": seconds})


def stop(request: str = "stop-1") -> f.StopRequested:
    """A person wants it ended."""
    return f.StopRequested(by="ann", request=request)


def reclaim(grace_s: int = 30) -> f.Preempted:
    """Its spot capacity is taken back."""
    return f.Preempted(cause=EvictionCause.SPOT_RECLAIM, grace_s=grace_s)


def _running(job: JobSpec | None = None) -> Life:
    return Life(job or waiting()).running()


STAGES: dict[Phase, Callable[[], Life]] = {
    Phase.SUBMITTED: lambda: Life(waiting()),
    Phase.REJECTED: lambda: Life(waiting()).then(f.Rejected(violations=())),
    Phase.QUEUED: lambda: Life(waiting()).queued(),
    Phase.STARTING: lambda: Life(waiting()).launching(),
    Phase.RUNNING: _running,
    Phase.EVICTING: lambda: _running().then(reclaim()),
    Phase.INTERRUPTED: lambda: Life(waiting()).interrupted(),
    Phase.FAULTED: lambda: Life(waiting()).faulted(),
    Phase.STOPPING: lambda: _running().then(stop()),
    Phase.DEBUG_HOLDING: lambda: debug_holding(failed=False),
    Phase.ABNORMAL: lambda: Life(waiting()).queued().then(f.QueueTimedOut(entry=1)),
    Phase.STOPPED: lambda: Life(waiting()).queued().then(stop()),
    Phase.SUCCEEDED: lambda: _running().then(f.Succeeded(attempt=1)),
    Phase.FAILED: lambda: Life(waiting()).faulted().then(f.Failed(reason=WHY)),
}


def debug_holding(*, failed: bool = False, seconds: int = 600) -> Life:
    """Ended, well or badly, and held to look inside."""
    life = Life(held_for_debugging(seconds)).running(placement=HEAD_AND_WORKERS)
    if not failed:
        return life.then(f.Succeeded(attempt=1))
    failure = f.WorkerFailure(worker="head-0", node="n1", exit_code=1)
    return life.then(f.WorkersFailed(attempt=1, failures=(failure,)), f.Failed(reason=WHY))


_SPECIAL: dict[tuple[str, Phase], Callable[[], Life]] = {
    ("declined", Phase.QUEUED): lambda: Life().queued(),
    ("unscheduled", Phase.STARTING): lambda: Life(waiting()).placed(),
    ("launching", Phase.STARTING): lambda: Life(waiting()).placed(),
}


def stage(phase: Phase, event: str = "") -> Life:
    """A job in this phase, ready for the event where the table says that it may follow."""
    return _SPECIAL.get((event, phase), STAGES[phase])()
