"""A fact of every event that fits a given state: what walks and tables are made from.

Particulars come from a seeded generator; texts are chosen to hurt whoever quotes or splits them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

from muster.domain import facts as f
from muster.domain.causes import PREEMPTIONS, SCHEDULER_CAUSES, EvictionCause
from muster.domain.demand import NodePolicy, NodePolicyType, QueueLimits, ResourceClass
from muster.domain.reasons import ReasonCode, reason
from muster.domain.state import JobState, Wait
from muster.domain.violations import Violation
from tests.support.lives import spec

NODES = ("n1", "n2", "gpu-7.rack_3.example", "节点/四", "n 5")
TEXTS = ("ann", "张伟", 'say "hi" {0}', "a.b>*", "", "line\nline\u2028line", "x" * 300)
WHY = reason(ReasonCode.NEEDS_HUMAN, why="disk full", why_zh="磁盘已满")

Make = Callable[[JobState, Random], f.Fact]


def make(event: str, state: JobState, rng: Random) -> f.Fact:
    """Return a fact that may happen to a job in this state, if the event may follow at all."""
    return MAKERS[event](state, rng)


def _placement(workers: tuple[str, ...], rng: Random) -> dict[str, tuple[str, ...]]:
    placed: dict[str, tuple[str, ...]] = {}
    for worker in workers:
        node = rng.choice(NODES)
        placed[node] = (*placed.get(node, ()), worker)
    return placed


def _asked(rng: Random) -> dict[str, Any]:
    return {"by": rng.choice(TEXTS), "request": f"r{rng.randrange(10**6)}"}


def _limits(rng: Random) -> QueueLimits | None:
    if rng.random() < 0.3:
        return None
    return QueueLimits(max_queue_hours=rng.randint(1, 12), max_requeues=rng.randint(0, 3))


def _submitted(state: JobState, rng: Random) -> f.Fact:
    job = spec()
    return f.Submitted(
        tenant="acme",
        job="j1",
        user="ann",
        pool="default",
        request="r1",
        digest="d",
        spec=job,
        demand=job.demand(),
    )


def _scheduled(state: JobState, rng: Random) -> f.Fact:
    waits = (Wait(tenant="acme", job="victim", attempt=2),) if rng.random() < 0.5 else ()
    grace = rng.choice((0, 30, 600))
    placement = _placement(state.demand.workers, rng)
    return f.Scheduled(placement=placement, waits_for=waits, grace_s=grace)


def _start_refused(state: JobState, rng: Random) -> f.Fact:
    permanent = rng.random() < 0.6
    later = state.since + timedelta(hours=2)
    return f.StartRefused(
        attempt=state.attempt,
        permanent=permanent,
        why=rng.choice(TEXTS),
        why_zh=rng.choice((None, "镜像不存在")),
        not_before=None if permanent else later,
    )


def _preempted(state: JobState, rng: Random) -> f.Fact:
    return f.Preempted(
        cause=rng.choice(sorted(SCHEDULER_CAUSES)),
        by=rng.choice((None, "j9")),
        nodes=tuple(state.held),
        grace_s=rng.choice((0, 5, 30, 600)),
    )


def _grace_shortened(state: JobState, rng: Random) -> f.Fact:
    return f.GraceShortened(deadline=state.since + timedelta(seconds=rng.choice((0, 3, 3600))))


def _workers_failed(state: JobState, rng: Random) -> f.Fact:
    exit_code = rng.choice((None, 1, 137))
    failure = f.WorkerFailure(
        worker="worker-0",
        node=rng.choice(NODES),
        exit_code=exit_code,
        cause="exited" if exit_code else "node_lost",
        ended_at=rng.choice((None, state.since)),
        log=rng.choice((None, "tail of the log: 显存不足")),
    )
    settle_s = rng.choice((0, 10))
    return f.WorkersFailed(attempt=state.attempt, failures=(failure,), settle_s=settle_s)


def _requeued(state: JobState, rng: Random) -> f.Fact:
    eviction = state.eviction
    cause = eviction.cause if eviction else EvictionCause.FAULT
    spot = state.demand.resource_class is ResourceClass.SPOT
    return f.Requeued(
        cause=cause,
        counted=cause in PREEMPTIONS,
        same_entry=bool(eviction and eviction.same_entry),
        one_shot=spot and state.demand.queue is None,
        not_before=rng.choice((None, state.since + timedelta(minutes=1))),
        avoid=rng.choice(((), ("n1",))),
    )


def _replacement(state: JobState, rng: Random) -> f.Fact:
    lost = rng.random() < 0.5
    return f.ReplacementOrdered(
        cause=EvictionCause.NODE_LOST if lost else EvictionCause.FAULT,
        reason=WHY,
        infrastructure=lost,
        restart=not lost and rng.random() < 0.5,
        avoid=(rng.choice(NODES),),
    )


def _respecified(state: JobState, rng: Random) -> f.Fact:
    policy = NodePolicy(type=NodePolicyType.NODE_NOT_IN, nodes=(rng.choice(NODES),))
    changes = rng.choice(({"queue": _limits(rng)}, {"node_policy": policy}))
    demand = state.demand.model_copy(update=changes)
    return f.Respecified(before=state.demand, demand=demand, **_asked(rng))


def _prioritised(state: JobState, rng: Random) -> f.Fact:
    before = state.demand.priority or 50
    return f.Prioritised(before=before, priority=rng.randint(1, 99), **_asked(rng))


def _relabelled(state: JobState, rng: Random) -> f.Fact:
    labels = {rng.choice(TEXTS): rng.choice(TEXTS) for _ in range(rng.randrange(3))}
    return f.Relabelled(before=state.labels, labels=labels, **_asked(rng))


def _scaled_down(state: JobState, rng: Random) -> f.Fact:
    return f.ScaledDown(workers=tuple(w for w in state.placed_on if rng.random() < 0.3))


def _rejected(state: JobState, rng: Random) -> f.Fact:
    found = Violation(code="E_PRIORITY", path="$.spec.resource.priority", en="no", zh="不合法")
    return f.Rejected(violations=(found,) * rng.randint(1, 3))


def _alone(model: type[f.Fact]) -> Make:
    return lambda state, rng: model()


def _of_attempt(model: type[f.OfAttempt], **more: Any) -> Make:
    return lambda state, rng: model(attempt=state.attempt, **more)


def _because(model: type[f.Fact]) -> Make:
    return lambda state, rng: model.model_validate({"reason": WHY})


def _caused(model: type[f.Fact]) -> Make:
    return lambda state, rng: model.model_validate(
        {"cause": state.eviction.cause if state.eviction else EvictionCause.PRIORITY}
    )


MAKERS: dict[str, Make] = {
    "submitted": _submitted,
    "admitted": _alone(f.Admitted),
    "rejected": _rejected,
    "scheduled": _scheduled,
    "unscheduled": lambda state, rng: f.Unscheduled(cause=rng.choice(list(f.Withdrawal))),
    "declined": _because(f.Declined),
    "launching": _of_attempt(f.Launching),
    "start_refused": _start_refused,
    "start_failed": _of_attempt(f.StartFailed, why="not up in time"),
    "started": _of_attempt(f.Started, endpoints={"worker-0": "10.0.0.1:29500"}),
    "preempted": _preempted,
    "grace_shortened": _grace_shortened,
    "signalled": _of_attempt(f.Signalled),
    "workers_failed": _workers_failed,
    "succeeded": _of_attempt(f.Succeeded),
    "released": _of_attempt(f.Released, proofs={"worker-0": "exit 0"}),
    "release_overdue": lambda state, rng: f.ReleaseOverdue(nodes=tuple(state.held)),
    "requeued": _requeued,
    "not_requeued": _caused(f.NotRequeued),
    "requeue_exhausted": _caused(f.RequeueExhausted),
    "queue_timed_out": lambda state, rng: f.QueueTimedOut(entry=state.queue_entry),
    "hang_suspected": lambda state, rng: f.HangSuspected(evidence=(rng.choice(TEXTS),)),
    "hung": lambda state, rng: f.Hung(evidence=("no new step",), seconds=1800),
    "restarted": _because(f.Restarted),
    "replacement_ordered": _replacement,
    "failed": _because(f.Failed),
    "escalated": _because(f.Escalated),
    "run_timed_out": _alone(f.RunTimedOut),
    "stop_requested": lambda state, rng: f.StopRequested(**_asked(rng)),
    "stopped": _alone(f.Stopped),
    "hold_ended": _alone(f.HoldEnded),
    "resumed": lambda state, rng: f.Resumed(queue=_limits(rng), **_asked(rng)),
    "respecified": _respecified,
    "prioritised": _prioritised,
    "relabelled": _relabelled,
    "shared": lambda state, rng: f.Shared(users=("bob",), **_asked(rng)),
    "scale_requested": lambda state, rng: f.ScaleRequested(role="worker", replicas=4),
    "scaled_down": _scaled_down,
    "rescaled": lambda state, rng: f.Rescaled(
        placement=_placement((f"worker-{rng.randrange(10, 10**6)}",), rng)
    ),
    "checkpoint_saved": lambda state, rng: f.CheckpointSaved(
        attempt=state.attempt, step=rng.randrange(10**6), last_step=rng.choice((None, 7))
    ),
    "resume_verified": lambda state, rng: f.ResumeVerified(
        attempt=state.attempt, step_before=100, step_after=101, checkpoint_step=100
    ),
    "progress_lost": lambda state, rng: f.ProgressLost(
        attempt=state.attempt, step_before=100, step_after=0, gpu_hours=rng.random() * 100
    ),
    "archived": lambda state, rng: f.Archived(phase=state.phase),
}
"""event -> how to make one."""
