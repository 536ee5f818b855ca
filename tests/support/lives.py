"""Jobs in any phase, made only by facts: what a test starts from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from muster.domain import facts as f
from muster.domain.auto_queue import AutoQueueSpec
from muster.domain.deadlines import SETTLE_S
from muster.domain.demand import QueueLimits
from muster.domain.evolve import evolve
from muster.domain.spec import JobSpec
from muster.domain.state import JobState

START = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)


def spec(**changes: Any) -> JobSpec:
    """A valid specification; `resource` and other objects are given as mappings."""
    values: dict[str, Any] = {
        "name": "train",
        "image": "registry/train:1",
        "command": ["python", "train.py"],
        "resource": {"type": "spot", "replicas": 2, "gpus_per_replica": 4},
    }
    return JobSpec.model_validate(values | changes, strict=False)


def auto_queue(hours: int = 2, requeues: int = 1) -> AutoQueueSpec:
    """Auto-queue on."""
    return AutoQueueSpec(enabled=True, max_queue_hours=hours, max_requeues=requeues)


def limits(hours: int = 2, requeues: int = 1) -> QueueLimits:
    """The limits as the state carries them."""
    return QueueLimits(max_queue_hours=hours, max_requeues=requeues)


class Life:
    """A job that facts happen to, a second apart unless told otherwise."""

    def __init__(self, job: JobSpec | None = None, at: datetime = START, name: str = "j1") -> None:
        self.at = at
        chosen = job or spec()
        self.state: JobState = evolve(
            None,
            f.Submitted(
                tenant="acme",
                job=name,
                user="ann",
                pool="default",
                request=f"r-{name}",
                digest="d",
                spec=chosen,
                demand=chosen.demand(),
            ),
            at,
        )

    def then(self, *facts: f.Fact, after: float = 1.0) -> Life:
        """Let facts happen, each `after` seconds after the one before."""
        for fact in facts:
            self.at += timedelta(seconds=after)
            self.state = evolve(self.state, fact, self.at)
        return self

    def queued(self) -> Life:
        """Admitted."""
        return self.then(f.Admitted())

    def placed(self, placement: Mapping[str, tuple[str, ...]] | None = None, **more: Any) -> Life:
        """Queued, then scheduled onto two nodes."""
        if self.state.queue_entry == 0:
            self.queued()
        where = placement or {"n1": ("worker-0",), "n2": ("worker-1",)}
        return self.then(f.Scheduled(placement=where, **more))

    def launching(self, **more: Any) -> Life:
        """Placed, and the intent to start is on the log."""
        self.placed(**more)
        return self.then(f.Launching(attempt=self.state.attempt))

    def running(self, **more: Any) -> Life:
        """All workers are up."""
        self.launching(**more)
        return self.then(f.Started(attempt=self.state.attempt))

    def interrupted(self, cause: str = "spot_reclaim", by: str | None = None) -> Life:
        """Evicted and released."""
        self.running().then(f.Preempted(cause=cause, grace_s=30, by=by))  # type: ignore[arg-type]
        return self.then(f.Released(attempt=self.state.attempt))

    def faulted(self, exit_code: int | None = 1, cause: str = "exited", **more: Any) -> Life:
        """A worker ended badly."""
        self.running(**more)
        failure = f.WorkerFailure(
            worker="worker-0", node="n1", exit_code=exit_code, cause=cause, ended_at=self.at
        )
        settle_s = SETTLE_S if len(self.state.placed_on) > 1 else 0
        attempt = self.state.attempt
        return self.then(f.WorkersFailed(attempt=attempt, failures=(failure,), settle_s=settle_s))
