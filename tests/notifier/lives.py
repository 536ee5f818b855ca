"""Lives of jobs, built with the domain's own facts, and notices made from them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.demand import QueueLimits, ResourceClass
from muster.domain.evolve import evolve
from muster.domain.reasons import Reason, ReasonCode, reason
from muster.domain.spec import JobSpec
from muster.domain.state import JobState
from muster.notifier.core.notice import Notice, Trigger
from muster.notifier.core.rules import Rule, Scope, ScopeKind, notices_for

START = datetime(2025, 3, 1, 8, 0, tzinfo=UTC)
TWO_REQUEUES = QueueLimits(max_queue_hours=6, max_requeues=2)
OOM = reason(ReasonCode.NOT_RETRIED, why="exit code 137")


@dataclass
class Life:
    """One job; every step appends (event, state after it)."""

    state: JobState
    at: datetime = START
    steps: list[tuple[str, JobState]] = field(default_factory=list)
    facts: list[f.Fact] = field(default_factory=list)
    spec: JobSpec | None = None

    def then(self, *facts: f.Fact, seconds: float = 60) -> Life:
        for fact in facts:
            self.at += timedelta(seconds=seconds)
            self.state = evolve(self.state, fact, self.at)
            self.steps.append((fact.event, self.state))
            self.facts.append(fact)
        return self

    # the usual stretches of a life

    def runs(self) -> Life:
        placement = {f"n{i}": (worker,) for i, worker in enumerate(self.state.demand.workers)}
        attempt = self.state.attempt + 1
        return self.then(
            f.Scheduled(placement=placement),
            f.Launching(attempt=attempt),
            f.Started(attempt=attempt),
        )

    def evicted(self, cause: EvictionCause = EvictionCause.SPOT_RECLAIM) -> Life:
        attempt = self.state.attempt
        return self.then(
            f.Preempted(cause=cause, grace_s=30),
            f.Signalled(attempt=attempt),
            f.Released(attempt=attempt),
        )

    def requeued(self, **values: object) -> Life:
        base = {"cause": EvictionCause.SPOT_RECLAIM, "counted": True, **values}
        return self.then(f.Requeued.model_validate(base))

    def breaks(self) -> Life:
        failure = f.WorkerFailure(worker="worker-0", node="n0", exit_code=137)
        return self.then(f.WorkersFailed(attempt=self.state.attempt, failures=(failure,)))

    def fails(self, why: Reason = OOM) -> Life:
        return self.breaks().then(f.Failed(reason=why))


def submitted(
    name: str = "llama-sft",
    *,
    kind: ResourceClass = ResourceClass.SPOT,
    queue: QueueLimits | None = TWO_REQUEUES,
    hold_s: int = 0,
    max_runtime_s: int | None = None,
    labels: dict[str, str] | None = None,
    job: str = "j1",
    user: str = "alice",
    tenant: str = "acme",
) -> Life:
    """A job that was just submitted: two workers of eight GPUs."""
    spec = JobSpec.model_validate_json(
        json.dumps(
            {
                "name": name,
                "type": "RayJob" if hold_s else "PyTorchJob",
                "image": "torch:2",
                "command": ["python", "train.py"],
                "resource": {"type": kind, "replicas": 2, "gpus_per_replica": 8},
                "auto_queue": {
                    "enabled": queue is not None,
                    **(queue.model_dump() if queue else {}),
                },
                "debug": {"enabled": bool(hold_s), "hold_seconds": hold_s or 600},
                "max_runtime_s": max_runtime_s,
                "labels": labels or {},
            }
        )
    )
    fact = f.Submitted(
        tenant=tenant,
        job=job,
        user=user,
        pool="default",
        request="r1",
        digest="d",
        spec=spec,
        demand=spec.demand(),
    )
    state = evolve(None, fact, START)
    return Life(state, steps=[("submitted", state)], facts=[fact], spec=spec)


def queued(name: str = "llama-sft", **values: object) -> Life:
    """A job in its first queue entry."""
    return submitted(name, **values).then(f.Admitted())  # type: ignore[arg-type]


def rule(
    trigger: Trigger, *, prefix: str = "r", scope: Scope | None = None, **values: object
) -> Rule:
    """A rule of tenant acme about all of its jobs."""
    base = {
        "id": f"{prefix}-{trigger.value.replace('_', '-')}",
        "tenant": "acme",
        "scope": scope or Scope(ScopeKind.TENANT),
        "trigger": trigger,
        "language": "zh",
        "channel": "feishu",
        "address": "ops",
        **values,
    }
    return Rule(**base)  # type: ignore[arg-type]


STATES = (
    Trigger.JOB_QUEUED,
    Trigger.JOB_RUNNING,
    Trigger.JOB_ABNORMAL,
    Trigger.JOB_FAILED,
    Trigger.JOB_SUCCEEDED,
)
EVERY = tuple(rule(trigger) for trigger in STATES)
"""A rule for each displayed state."""


def told(life: Life, rules: Iterable[Rule] = EVERY) -> list[Notice]:
    """Every notice of a whole life, in order."""
    rules = tuple(rules)
    return [
        notice
        for (event, state), fact in zip(life.steps, life.facts, strict=True)
        for notice in notices_for(event, state, fact, state.since, rules)
    ]


def last(life: Life, **values: object) -> Notice:
    """The last notice of a life, told by a rule with `values`."""
    rules = [rule(trigger, **values) for trigger in STATES]  # type: ignore[arg-type]
    return told(life, rules)[-1]
