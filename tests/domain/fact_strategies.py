"""Facts that may happen to a job as it is: what a random walk through the life cycle draws from."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from hypothesis import strategies as st

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.edges import EDGES
from muster.domain.phases import Phase
from muster.domain.reasons import ReasonCode, reason
from muster.domain.state import JobState, Wait
from tests.support.lives import START

WHY = reason(ReasonCode.NEEDS_HUMAN, why="a test wants it")
FAILURE = f.WorkerFailure(worker="worker-0", node="n1", exit_code=1)
SCHEDULERS = [c for c in EvictionCause if c.value.endswith("reclaim") or c.value == "priority"]


def _placement(state: JobState) -> dict[str, tuple[str, ...]]:
    workers = state.demand.workers
    return {f"n{index}": (worker,) for index, worker in enumerate(workers, 1)}


def _requeued(state: JobState) -> st.SearchStrategy[f.Fact]:
    cause = state.eviction.cause if state.eviction else EvictionCause.FAULT
    return st.builds(
        f.Requeued,
        cause=st.just(cause),
        counted=st.booleans(),
        same_entry=st.booleans(),
        one_shot=st.booleans(),
        not_before=st.none() | st.just(START + timedelta(days=1)),
    )


Draw = Callable[[JobState], st.SearchStrategy[f.Fact]]


def _just(make: Callable[[JobState], f.Fact]) -> Draw:
    return lambda state: st.just(make(state))


DRAWS: dict[str, Draw] = {
    "admitted": _just(lambda s: f.Admitted()),
    "scheduled": _just(
        lambda s: f.Scheduled(
            placement=_placement(s), waits_for=(Wait(tenant="t", job="v", attempt=1),), grace_s=5
        )
    ),
    "unscheduled": _just(lambda s: f.Unscheduled(cause=f.Withdrawal.NODE_GONE)),
    "declined": _just(lambda s: f.Declined(reason=WHY)),
    "launching": _just(lambda s: f.Launching(attempt=s.attempt)),
    "start_refused": lambda s: st.builds(
        f.StartRefused, attempt=st.just(s.attempt), permanent=st.booleans(), why=st.just("no")
    ),
    "start_failed": _just(lambda s: f.StartFailed(attempt=s.attempt, why="slow")),
    "started": _just(lambda s: f.Started(attempt=s.attempt)),
    "preempted": lambda s: st.builds(
        f.Preempted, cause=st.sampled_from(SCHEDULERS), grace_s=st.integers(0, 600)
    ),
    "grace_shortened": lambda s: st.builds(
        f.GraceShortened,
        deadline=st.integers(0, 1000).map(lambda x: s.since + timedelta(seconds=x)),
    ),
    "signalled": _just(lambda s: f.Signalled(attempt=s.attempt)),
    "workers_failed": _just(
        lambda s: f.WorkersFailed(attempt=s.attempt, failures=(FAILURE,), settle_s=s.version % 2)
    ),
    "succeeded": _just(lambda s: f.Succeeded(attempt=s.attempt)),
    "released": _just(lambda s: f.Released(attempt=s.attempt)),
    "release_overdue": _just(lambda s: f.ReleaseOverdue(nodes=("n1",))),
    "requeued": _requeued,
    "not_requeued": _just(lambda s: f.NotRequeued(cause=EvictionCause.PRIORITY, by="j9")),
    "requeue_exhausted": _just(lambda s: f.RequeueExhausted(cause=EvictionCause.PRIORITY)),
    "queue_timed_out": _just(lambda s: f.QueueTimedOut(entry=s.queue_entry)),
    "hang_suspected": _just(lambda s: f.HangSuspected(evidence=("quiet",))),
    "hung": _just(lambda s: f.Hung(evidence=("quiet",), seconds=600)),
    "restarted": _just(lambda s: f.Restarted(reason=WHY)),
    "replacement_ordered": lambda s: st.builds(
        lambda infrastructure: f.ReplacementOrdered(
            cause=EvictionCause.NODE_LOST if infrastructure else EvictionCause.FAULT,
            reason=WHY,
            infrastructure=infrastructure,
            restart=not infrastructure,
        ),
        st.booleans(),
    ),
    "failed": _just(lambda s: f.Failed(reason=WHY)),
    "escalated": _just(lambda s: f.Escalated(reason=WHY)),
    "run_timed_out": _just(lambda s: f.RunTimedOut()),
    "stop_requested": _just(lambda s: f.StopRequested(by="ann", request=f"q{s.version}")),
    "stopped": _just(lambda s: f.Stopped()),
    "hold_ended": _just(lambda s: f.HoldEnded()),
    "resumed": _just(lambda s: f.Resumed(by="ann", request=f"q{s.version}")),
    "respecified": _just(
        lambda s: f.Respecified(by="ann", request=f"q{s.version}", before=s.demand, demand=s.demand)
    ),
    "prioritised": _just(
        lambda s: f.Prioritised(by="ann", request=f"q{s.version}", before=50, priority=70)
    ),
    "relabelled": _just(
        lambda s: f.Relabelled(by="ann", request=f"q{s.version}", before={}, labels={"a": "b"})
    ),
    "shared": _just(lambda s: f.Shared(by="ann", request=f"q{s.version}", users=("bob",))),
    "archived": _just(lambda s: f.Archived(phase=s.phase)),
}
"""What can be drawn; scaling and progress reports need no walk of their own."""


def possible(state: JobState) -> st.SearchStrategy[f.Fact]:
    """Draw a fact whose edge allows it now; some are still refused by the state's own fields."""
    events = [event for event in DRAWS if state.phase in EDGES[event].sources]
    if state.phase is Phase.SUBMITTED:
        events = ["admitted"]
    return st.sampled_from(events).flatmap(lambda event: DRAWS[event](state))
