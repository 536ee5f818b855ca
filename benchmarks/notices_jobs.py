"""Lives of jobs that have something to tell, as events a notifier hears."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from muster.contracts.events import JobEvent, job_event
from muster.domain import facts as f
from muster.domain.auto_queue import AutoQueueSpec
from muster.domain.causes import EvictionCause
from muster.domain.demand import ResourceClass
from muster.domain.evolve import evolve
from muster.domain.spec import JobSpec, ResourceSpec
from muster.domain.state import JobState
from muster.notifier.core.notice import Trigger
from muster.notifier.core.rules import TELLING, Rule, Scope, ScopeKind, tellings

TENANT = "bench"
WORDS = {
    Trigger.JOB_QUEUED: "queued",
    Trigger.JOB_RUNNING: "running",
    Trigger.JOB_ABNORMAL: "abnormal",
    Trigger.JOB_SUCCEEDED: "succeeded",
    Trigger.JOB_PREEMPTED: "evicting",
}
"""How a card names the state of each trigger that these lives have."""
WHOLE: tuple[f.Fact, ...] = (
    f.Admitted(),
    f.QueueTimedOut(entry=1),
    f.Resumed(by="ann", request="r2"),
    f.Scheduled(placement={"n0": ("worker-0", "worker-1")}),
    f.Launching(attempt=1),
    f.Started(attempt=1),
    f.Succeeded(attempt=1),
)
"""Waits in vain, is resumed by a person, runs and succeeds."""
EVERY = (Trigger.JOB_QUEUED, Trigger.JOB_RUNNING, Trigger.JOB_SUCCEEDED)
LASTING = (Trigger.JOB_ABNORMAL, Trigger.JOB_SUCCEEDED)
"""What is news for a day: an address carries 90 messages a minute, and queueing is for 30 min."""
EVICTIONS = (Trigger.JOB_PREEMPTED, Trigger.JOB_QUEUED, Trigger.JOB_ABNORMAL)
UP: tuple[f.Fact, ...] = (f.Admitted(), *WHOLE[3:6])
EVICTED: tuple[f.Fact, ...] = (
    f.Preempted(cause=EvictionCause.SPOT_RECLAIM, grace_s=30),
    f.Signalled(attempt=1),
    f.Released(attempt=1),
    f.Requeued(cause=EvictionCause.SPOT_RECLAIM, counted=True),
)


@dataclass(frozen=True, slots=True)
class Told:
    """An event of a job, and what rules may be waiting for in it."""

    event: JobEvent
    job: str
    triggers: tuple[Trigger, ...]

    @property
    def at(self) -> datetime:
        """Return when it happened."""
        return self.event.time


@dataclass(slots=True)
class Job:
    """One job, that lives on by facts."""

    name: str
    state: JobState

    def lives(self, facts: Iterable[f.Fact], at: datetime, every: float = 0.0) -> Iterator[Told]:
        """Let it live on; yields what rules may ask for, or what ends a reminder."""
        for number, fact in enumerate(facts):
            when = at + timedelta(seconds=number * every)
            self.state = evolve(self.state, fact, when)
            if fact.event in TELLING or fact.event == "resumed":
                yield self._told(fact, when)

    def _told(self, fact: f.Fact, at: datetime) -> Told:
        event = job_event(
            self.state,
            fact,
            event_id=f"{self.name}-{self.state.version}",
            source="muster/bench",
            at=at,
        )
        asked = tellings(fact.event, self.state)
        return Told(event, self.name, tuple(trigger for trigger, _ in asked))


def life_of(triggers: tuple[Trigger, ...]) -> tuple[f.Fact, ...]:
    """Return a life in which each of these happens; without the wait if nobody asks for its end."""
    return WHOLE if Trigger.JOB_ABNORMAL in triggers else (WHOLE[0], *WHOLE[3:])


def submission(name: str) -> f.Submitted:
    """Return how a job of two workers begins."""
    spec = JobSpec(
        name=name,
        image="registry/train:1",
        command=("python", "train.py"),
        resource=ResourceSpec(type=ResourceClass.SPOT, replicas=2, gpus_per_replica=8),
        auto_queue=AutoQueueSpec(enabled=True, max_queue_hours=6, max_requeues=3),
    )
    return f.Submitted(
        tenant=TENANT,
        job=name,
        user="ann",
        pool="default",
        request=f"r-{name}",
        digest="0" * 64,
        spec=spec,
        demand=spec.demand(),
    )


def submitted(name: str, at: datetime) -> Job:
    """Return a job that was just submitted."""
    return Job(name, evolve(None, submission(name), at))


def rules(triggers: Iterable[Trigger], *addresses: str) -> tuple[Rule, ...]:
    """Return a rule for each trigger and address, about every job of the tenant."""
    return tuple(
        Rule(
            id=f"{address}-{trigger.value.replace('_', '-')}",
            tenant=TENANT,
            scope=Scope(ScopeKind.TENANT),
            trigger=trigger,
            language="en",
            channel="feishu",
            address=address,
        )
        for address in addresses
        for trigger in triggers
    )
