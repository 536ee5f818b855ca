"""Records the histories beside it, by letting facts happen at fixed times and with fixed ids.

    python -m tests.replay.make_histories

A history is a promise: what was once written must for ever be read, fold to the states that it
carries, and lead to the same decisions. So a file that is there is never written again, whatever
the code does today. To cover something new, add a function to HISTORIES and run this once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from muster.contracts.events import job_event
from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.edges import EDGES, Owner
from muster.domain.evolve import evolve
from muster.domain.reasons import ReasonCode, reason
from muster.domain.spec import JobSpec
from muster.domain.state import DeadlineKind, JobState, Wait
from muster.domain.violations import Violation
from muster.fault_tolerance.core.verdict import by_event
from muster.requeue.core.decide import Round, on_deadline, on_release

FOLDER = Path(__file__).with_name("histories")
START = datetime(2030, 3, 1, 8, 0, tzinfo=UTC)
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
REQUEUED = {"enabled": True, "max_queue_hours": 2, "max_requeues": 1}
TWO = {"n1": ("worker-0",), "n2": ("worker-1",)}
CLUSTER = {"n1": ("head-0",), "n2": ("worker-0", "worker-1")}


class Recorder:
    """A job that facts happen to; keeps every event as the line that the log would hold."""

    def __init__(self, job: str, **values: Any) -> None:
        basic = {"name": job, "image": "registry/train:1", "command": ["python", "train.py"]}
        spec = JobSpec.model_validate(basic | values, strict=False)
        self.at, self.lines = START, list[bytes]()
        first = f.Submitted(
            tenant="acme",
            job=job,
            user="ann",
            pool=spec.resource.pool,
            request=f"r-{job}",
            digest="5e88",
            spec=spec,
            demand=spec.demand(),
        )
        self.state: JobState = evolve(None, first, START)
        self._keep(first, Owner.ADMISSION)

    def then(self, *facts: f.Fact | None, after: float = 10.0) -> None:
        """Let facts happen, each `after` seconds after the one before."""
        for fact in facts:
            assert fact is not None
            self.at += timedelta(seconds=after)
            owner = EDGES[fact.event].owners[-1]
            self.state = evolve(self.state, fact, self.at, owner)
            self._keep(fact, owner)

    def _keep(self, fact: f.Fact, owner: Owner) -> None:
        event = job_event(
            self.state,
            fact,
            event_id=f"{self.state.job}-{self.state.version:04d}",
            source=f"muster/{owner}",
            at=self.at,
            traceparent=TRACE,
        )
        self.lines.append(event.to_bytes())

    # --- stretches of a life --------------------------------------------------------------------

    def run(self, placement: f.Placement, **more: Any) -> None:
        """From the queue to running."""
        self.then(f.Scheduled(placement=placement, **more))
        attempt = self.state.attempt
        self.then(f.Launching(attempt=attempt), f.Started(attempt=attempt))

    def leave(self) -> None:
        """Signalled, then given back."""
        attempt = self.state.attempt
        self.then(f.Signalled(attempt=attempt), f.Released(attempt=attempt))

    def requeue(self) -> None:
        """Whatever requeue decides after a release."""
        self.then(on_release(self.state))

    def fail(self, code: int | None, cause: str = "exited") -> None:
        """A worker ends badly, and fault tolerance decides."""
        failure = f.WorkerFailure(
            worker="worker-0",
            node="n2",
            exit_code=code,
            cause=cause,
            ended_at=self.at,
            log="RuntimeError: 显存不足",
        )
        fact = f.WorkersFailed(attempt=self.state.attempt, failures=(failure,))
        self.then(fact)
        self.then(by_event(self.state, fact, self.at + timedelta(seconds=10)))

    def time_out(self) -> None:
        """The queue clock is over, and a round has run since."""
        due = self.state.deadlines[DeadlineKind.QUEUE]
        last = Round(at=due, upto=len(self.lines))
        self.then(
            on_deadline(self.state, len(self.lines), due, last),
            after=(due - self.at).total_seconds(),
        )


def asked(request: str) -> dict[str, Any]:
    """Who asked, and under which id."""
    return {"by": "ann", "request": request}


# --- the histories -----------------------------------------------------------------------------


def spot_with_auto_queue() -> Recorder:
    """Evicted, bounced, exhausted, resumed, timed out, resumed, and in the end a success."""
    spot = {"type": "spot", "replicas": 2, "gpus_per_replica": 4, "gpu_model": "H100"}
    life = Recorder("spot", resource=spot, auto_queue=REQUEUED, labels={"team": "vision"})
    life.then(f.Admitted())
    life.run(TWO)
    reclaim = f.Preempted(cause=EvictionCause.SPOT_RECLAIM, nodes=("n1",), grace_s=30)
    life.then(reclaim, f.GraceShortened(deadline=life.at + timedelta(seconds=25)))
    life.leave()
    life.requeue()
    waits = (Wait(tenant="acme", job="victim", attempt=3),)
    life.then(f.Scheduled(placement=TWO, waits_for=waits, grace_s=30))
    life.then(f.Unscheduled(cause=f.Withdrawal.VICTIM_OVERDUE, by="victim"), after=95)
    life.then(f.Scheduled(placement=TWO), f.Launching(attempt=3))
    later = life.at + timedelta(minutes=1)
    life.then(f.StartRefused(attempt=3, permanent=False, why="no room", not_before=later))
    life.then(f.Scheduled(placement=TWO), f.Launching(attempt=4))
    life.then(f.StartFailed(attempt=4, why="not up in time: worker-1"), after=900)
    life.leave()
    life.requeue()
    life.run(TWO)
    life.then(f.Preempted(cause=EvictionCause.PRIORITY, by="urgent", grace_s=30))
    life.leave()
    life.requeue()
    life.then(f.Relabelled(before={"team": "vision"}, labels={"team": "视觉"}, **asked("q1")))
    life.then(f.Resumed(**asked("q2")))
    longer = life.state.demand.queue
    assert longer is not None
    demand = life.state.demand.model_copy(
        update={"queue": longer.model_copy(update={"max_queue_hours": 3})}
    )
    life.then(f.Respecified(before=life.state.demand, demand=demand, **asked("q3")))
    life.time_out()
    life.then(f.Resumed(queue=longer, **asked("q4")), after=3600)
    life.run(TWO)
    life.then(f.ResumeVerified(step_before=1200, step_after=1201))
    life.then(f.Succeeded(attempt=life.state.attempt), after=7200)
    life.then(f.Released(attempt=life.state.attempt, proofs={"worker-0": "exit 0"}))
    life.then(f.Archived(phase=life.state.phase), f.Shared(users=("bob",), **asked("q5")))
    return life


def ray_with_faults() -> Recorder:
    """Restarted, hung, moved off a lost node, failed, held for debugging and drained meanwhile."""
    life = Recorder(
        "ray",
        type="RayJob",
        resource={"type": "reserved", "replicas": 2, "gpus_per_replica": 8, "priority": "high"},
        ray={"head": {"cpus": 4}, "autoscaling": {"min": 1, "max": 4}},
        fault_tolerance={
            "enabled": True,
            "max_retries": 3,
            "strategy": "exit_codes",
            "exit_codes": "1,200-205",
        },
        debug={"enabled": True, "hold_seconds": 600},
        max_runtime_s=86400,
    )
    life.then(f.Admitted(), f.Prioritised(before=90, priority=95, **asked("q1")))
    life.run(CLUSTER)
    life.fail(201)
    life.then(f.Launching(attempt=2), f.Started(attempt=2, endpoints={"head-0": "10.0.0.4:8265"}))
    life.then(f.ScaleRequested(role="worker", replicas=3))
    life.then(f.Rescaled(placement={"n3": ("worker-2",)}), f.ScaledDown(workers=("worker-2",)))
    life.then(f.ProgressLost(step_before=900, step_after=400, gpu_hours=12.5))
    life.then(f.HangSuspected(evidence=("no new step",)))
    hung = f.Hung(evidence=("no new step", "gpus idle"), seconds=1800)
    life.then(hung)
    life.then(by_event(life.state, hung, life.at))
    life.then(f.Launching(attempt=3), f.Started(attempt=3))
    life.fail(None, "node_lost")
    life.leave()
    life.requeue()
    life.run({"n4": ("head-0",), "n5": ("worker-0", "worker-1")})
    life.fail(137)
    life.then(f.Preempted(cause=EvictionCause.NODE_DRAIN, nodes=("n4",), grace_s=30))
    life.leave()
    life.then(f.Archived(phase=life.state.phase))
    return life


def ran_as_long_as_it_may() -> Recorder:
    """Stopped by its own limit, which is a failure."""
    reserved = {"type": "on_demand", "replicas": 2, "gpus_per_replica": 1}
    life = Recorder("limit", resource=reserved, max_runtime_s=60)
    life.then(f.Admitted())
    life.run(TWO)
    life.then(f.RunTimedOut(), after=60)
    life.leave()
    life.then(f.Stopped())
    return life


def went_on_and_started_over() -> Recorder:
    """Moved twice: the training goes on from its checkpoint, then it forgets it."""
    reserved = {"type": "on_demand", "replicas": 2, "gpus_per_replica": 4}
    saves = {"checkpoint_saved": ["snapshot # written"]}
    life = Recorder("progress", resource=reserved, progress=saves)
    life.then(f.Admitted())
    life.run(TWO)
    line = "snapshot 400 written"
    life.then(f.CheckpointSaved(attempt=1, step=400, last_step=410, line=line), after=600)
    _moved(life)
    steps: dict[str, Any] = {
        "step_before": 480,
        "step_after": 401,
        "checkpoint_step": 400,
        "gpu_hours": 0.25,
    }
    line = "checkpoint loaded: step=400"
    life.then(f.ResumeVerified(attempt=2, line=line, **steps))
    _moved(life)
    steps = {"step_before": 900, "step_after": 1, "checkpoint_step": 400, "gpu_hours": 2.5}
    life.then(f.ProgressLost(attempt=3, line="step=1 loss=9.1", **steps))
    life.then(f.CheckpointSaved(attempt=3, step=40), f.Succeeded(attempt=3))
    life.then(f.Released(attempt=3))
    return life


def _moved(life: Recorder) -> None:
    life.then(f.Preempted(cause=EvictionCause.NODE_DRAIN, grace_s=30))
    life.leave()
    life.then(f.Requeued(cause=EvictionCause.NODE_DRAIN, counted=False))
    life.run(TWO)


def a_stop_beats_an_eviction() -> Recorder:
    """Its owner ends it while it leaves: no requeue follows, though a node gives back late."""
    idle = {"type": "idle", "replicas": 2, "stability_level": "high"}
    life = Recorder("d13", resource=idle, auto_queue=REQUEUED)
    life.then(f.Admitted())
    life.run(TWO)
    life.then(f.Preempted(cause=EvictionCause.IDLE_RECLAIM, by="urgent", grace_s=20))
    life.then(f.StopRequested(**asked("q1")), f.Signalled(attempt=1))
    life.then(f.ReleaseOverdue(nodes=("n2",)), after=400)
    life.then(f.Released(attempt=1, proofs={"worker-1": "node fenced"}), f.Stopped())
    return life


def spot_without_auto_queue() -> Recorder:
    """One round, no room; told by requeue because no round ran."""
    life = Recorder("oneshot", resource={"type": "spot", "gpus_per_replica": 8})
    life.then(f.Admitted())
    due = life.state.deadlines[DeadlineKind.ROUND]
    life.then(on_deadline(life.state, 2, due, None), after=(due - life.at).total_seconds())
    return life


def preempted_without_auto_queue() -> Recorder:
    """The eviction ends it; its text is a promise of the product."""
    life = Recorder("ended", resource={"type": "reserved", "replicas": 2})
    life.then(f.Admitted())
    life.run(TWO)
    life.then(f.Preempted(cause=EvictionCause.QUOTA_RECLAIM, by="lender", grace_s=30))
    life.leave()
    life.requeue()
    return life


def parked_and_stopped() -> Recorder:
    """Faulted without evidence: a person decides; and a hold that ends by its clock."""
    life = Recorder(
        "parked",
        type="RayJob",
        resource={"type": "reserved", "replicas": 2},
        debug={"enabled": True, "hold_seconds": 60},
    )
    life.then(f.Admitted())
    life.run(CLUSTER)
    life.then(f.Hung(evidence=("quiet",), seconds=600))
    due = life.state.deadlines[DeadlineKind.VERDICT]
    life.then(by_event(life.state, None, due), after=(due - life.at).total_seconds())
    life.leave()
    life.then(f.Resumed(**asked("q1")))
    life.run(CLUSTER)
    life.then(f.Succeeded(attempt=life.state.attempt), f.HoldEnded(), after=60)
    return life


def refused_at_the_door() -> Recorder:
    """Every violation at once."""
    life = Recorder("refused", resource={"type": "idle", "guarantee": True})
    root, door = "$.spec.resource", "E_IDLE_GUARANTEE"
    found = Violation(code=door, path=f"{root}.guarantee", en="remove it", zh="请删除该字段")
    life.then(f.Rejected(violations=(found,)))
    return life


def three_refused_starts() -> Recorder:
    """The third permanent refusal parks the job."""
    life = Recorder("image", resource={"type": "spot", "replicas": 2}, auto_queue=REQUEUED)
    life.then(f.Admitted())
    for attempt in (1, 2, 3):
        life.then(f.Scheduled(placement=TWO), f.Launching(attempt=attempt))
        why = reason(ReasonCode.NEEDS_HUMAN, why="no such image").en
        life.then(f.StartRefused(attempt=attempt, permanent=True, why=why, why_zh="镜像不存在"))
    return life


HISTORIES: tuple[Callable[[], Recorder], ...] = (
    spot_with_auto_queue,
    ray_with_faults,
    ran_as_long_as_it_may,
    went_on_and_started_over,
    a_stop_beats_an_eviction,
    spot_without_auto_queue,
    preempted_without_auto_queue,
    parked_and_stopped,
    refused_at_the_door,
    three_refused_starts,
)


def main() -> None:
    """Write the histories that are not there yet."""
    for make in HISTORIES:
        path = FOLDER / f"{make.__name__}.jsonl"
        if path.exists():
            continue
        path.write_bytes(b"".join(line + b"\n" for line in make().lines))
        sys.stdout.write(f"recorded {path.name}\n")


if __name__ == "__main__":
    main()
