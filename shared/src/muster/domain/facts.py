"""What can happen to a job: one frozen model per event, each with its own particulars.

A fact says what happened and nothing of what follows; `muster.domain.evolve` derives the state from
it. The class names are the event names. Times are instants; durations are seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from muster.domain.causes import EvictionCause
from muster.domain.demand import Demand, QueueLimits
from muster.domain.diagnosis import Diagnosis
from muster.domain.evidence import CheckpointFound
from muster.domain.model import Frozen, Instant, Token
from muster.domain.phases import Phase
from muster.domain.reasons import Reason
from muster.domain.spec import JobSpec
from muster.domain.state import Wait
from muster.domain.survival import Outlook
from muster.domain.violations import Violation

Placement = Mapping[str, tuple[str, ...]]
"""node -> names of the workers placed there."""


class Fact(Frozen):
    """Base of all facts about jobs. `event`: last token of the subject; `version`: its schema."""

    event: ClassVar[str]
    version: ClassVar[int] = 1


class OfAttempt(Fact):
    """Base of facts about one stay on nodes; refused once another attempt has begun."""

    attempt: int


class Asked(Fact):
    """Base of facts that carry out a person's or a system's request: who, and the request's id."""

    by: str
    request: str


class Submitted(Fact):
    """The only event that carries the full specification. origin: the job that it looks into."""

    event: ClassVar[str] = "submitted"
    tenant: Token
    job: Token
    user: str
    pool: Token
    request: str
    digest: str
    spec: JobSpec
    demand: Demand
    origin: Token | None = None


class Admitted(Fact):
    """The job enters the queue for the first time."""

    event: ClassVar[str] = "admitted"


class Rejected(Fact):
    """Every violation at once."""

    event: ClassVar[str] = "rejected"
    violations: tuple[Violation, ...]


class Scheduled(Fact):
    """A node for every worker. grace_s is the longest grace of the victims that it waits for.

    cards: for each worker that shares a card, which of its node's shared cards it is on; workers
    with the same number on the same node share one. outlook: of an idle job, how long it is likely
    to stay.
    """

    event: ClassVar[str] = "scheduled"
    placement: Placement
    cards: Mapping[str, int] = {}
    waits_for: tuple[Wait, ...] = ()
    grace_s: int = 0
    outlook: Outlook | None = None


class Withdrawal(StrEnum):
    """Why a placement was taken back before anything was launched."""

    VICTIM_OVERDUE = "victim_overdue"
    HOLD_TAKEN = "hold_taken"
    PLAN_ABANDONED = "plan_abandoned"
    NODE_GONE = "node_gone"
    STOCK_GONE = "stock_gone"


class Unscheduled(Fact):
    """Back to the same queue entry with the same clock; nothing is counted."""

    event: ClassVar[str] = "unscheduled"
    cause: Withdrawal
    by: str | None = None


class Declined(Fact):
    """A one-shot job had its round and there was no room."""

    event: ClassVar[str] = "declined"
    reason: Reason


class Launching(OfAttempt):
    """Appended before the first process or pod of the attempt.

    resume_from: of a further attempt, the newest whole checkpoint in the folder that the job
    declares; skipped: newer ones that are broken, and why. Nothing of them was touched.
    """

    event: ClassVar[str] = "launching"
    resume_from: str | None = None
    skipped: tuple[CheckpointFound, ...] = ()


class StartRefused(OfAttempt):
    """Nothing was launched. permanent: debits the start budget; else retried after not_before."""

    event: ClassVar[str] = "start_refused"
    permanent: bool
    why: str
    why_zh: str | None = None
    not_before: Instant | None = None


class StartFailed(OfAttempt):
    """Something was launched and the gang cannot be completed; the cause is not the job's."""

    event: ClassVar[str] = "start_failed"
    why: str


class Started(OfAttempt):
    """Every worker is up. endpoints: worker -> address."""

    event: ClassVar[str] = "started"
    endpoints: Mapping[str, str] = {}


class Preempted(Fact):
    """The gang must leave within grace_s. by: the job that gets the room."""

    event: ClassVar[str] = "preempted"
    cause: EvictionCause
    by: str | None = None
    nodes: tuple[str, ...] = ()
    grace_s: int


class GraceShortened(Fact):
    """The nearer deadline wins."""

    event: ClassVar[str] = "grace_shortened"
    deadline: Instant


class Signalled(OfAttempt):
    """Appended before the first stop signal of an attempt."""

    event: ClassVar[str] = "signalled"


class WorkerFailure(Frozen):
    """How one worker ended. exit_code is 0-255, 128+n after signal n; None when unknown.

    cause: as in `muster.domain.evidence.WorkerEvidence`; one that was left behind lives on.
    """

    worker: str
    node: str
    exit_code: int | None = None
    cause: str = "exited"
    ended_at: Instant | None = None
    log: str | None = None


class WorkersFailed(OfAttempt):
    """At least one worker ended badly; first is the one that ended first.

    settle_s: others still run that may fail of the same cause; they are waited for so long.
    """

    event: ClassVar[str] = "workers_failed"
    failures: Annotated[tuple[WorkerFailure, ...], Field(min_length=1)]
    settle_s: int = 0


class Succeeded(OfAttempt):
    """Every worker ended with exit code 0 before any stop signal."""

    event: ClassVar[str] = "succeeded"


class Released(OfAttempt):
    """Proof that nothing of the job runs any more. proofs: worker -> how it is known."""

    event: ClassVar[str] = "released"
    proofs: Mapping[str, str] = {}


class ReleaseOverdue(Fact):
    """These nodes did not give the workers' end in time; their GPUs stay counted as used."""

    event: ClassVar[str] = "release_overdue"
    nodes: tuple[str, ...]


class Requeued(Fact):
    """Back in the queue after a release. counted: one of the user's requeues is used."""

    event: ClassVar[str] = "requeued"
    cause: EvictionCause
    counted: bool
    same_entry: bool = False
    one_shot: bool = False
    not_before: Instant | None = None
    avoid: tuple[str, ...] = ()


class NotRequeued(Fact):
    """Auto-queue is off: the eviction ends the job."""

    event: ClassVar[str] = "not_requeued"
    cause: EvictionCause
    by: str | None = None


class RequeueExhausted(Fact):
    """Auto-queue has used its requeues; a person must act."""

    event: ClassVar[str] = "requeue_exhausted"
    cause: EvictionCause


class QueueTimedOut(Fact):
    """This queue entry waited as long as it may; a person must act.

    why: what the last placement round said of the job; None where it did not name it.
    """

    event: ClassVar[str] = "queue_timed_out"
    entry: int
    why: Reason | None = None


class HangSuspected(Fact):
    """Evidence of a hang while only notices are wanted; once for each silence.

    seconds: without progress. step, stage: where the attempt stands still, which names the silence.
    worker: the one that stands out, if one does. attempt: None in events of a time without it.
    evidence_zh: the same in Chinese; empty in events of a time without it.
    """

    event: ClassVar[str] = "hang_suspected"
    evidence: tuple[str, ...]
    evidence_zh: tuple[str, ...] = ()
    attempt: int | None = None
    step: int | None = None
    stage: str = ""
    seconds: int = 0
    worker: str | None = None


class Hung(Fact):
    """The job makes no progress; fault tolerance decides next.

    evidence: what was seen before anything was killed. seconds: for how long. worker: the one that
    stands out, if one does. exited: a worker has ended and the others stay; no hang then.
    evidence_zh: the same in Chinese; empty in events of a time without it.
    """

    event: ClassVar[str] = "hung"
    evidence: tuple[str, ...]
    evidence_zh: tuple[str, ...] = ()
    seconds: int
    worker: str | None = None
    exited: bool = False


class Judged(Fact):
    """Base of verdicts on a failure. diagnosis: why; None in events of a time that had none."""

    reason: Reason
    diagnosis: Diagnosis | None = None


class Restarted(Judged):
    """Same nodes, next attempt; one of the user's restarts is used unless another ledger pays.

    infrastructure, hang: the ledger that pays instead. not_before: nothing is launched until then.
    """

    event: ClassVar[str] = "restarted"
    infrastructure: bool = False
    hang: bool = False
    not_before: Instant | None = None


class ReplacementOrdered(Judged):
    """The gang leaves its nodes to be placed elsewhere.

    infrastructure, restart, hang: the ledger that pays: never two; none for a pause. avoid: nodes
    that the next placement uses only when it must. not_before: it is not placed again until then.
    """

    event: ClassVar[str] = "replacement_ordered"
    cause: EvictionCause
    infrastructure: bool = False
    restart: bool = False
    hang: bool = False
    avoid: tuple[str, ...] = ()
    not_before: Instant | None = None


class Failed(Judged):
    """The verdict: no more attempts."""

    event: ClassVar[str] = "failed"


class Escalated(Judged):
    """No machine may decide this; a person must."""

    event: ClassVar[str] = "escalated"


class RunTimedOut(Fact):
    """max_runtime of the specification is over."""

    event: ClassVar[str] = "run_timed_out"


class StopRequested(Asked):
    """A person or a system wants the job ended."""

    event: ClassVar[str] = "stop_requested"


class Stopped(Fact):
    """The stop is complete."""

    event: ClassVar[str] = "stopped"


class HoldEnded(Fact):
    """The debug hold is over; the held outcome stands."""

    event: ClassVar[str] = "hold_ended"


class Resumed(Asked):
    """A person lets a parked job queue again; counters start from zero.

    queue: other limits than before; None = as they are. off: auto-queue is off from now on.
    """

    event: ClassVar[str] = "resumed"
    queue: QueueLimits | None = None
    off: bool = False


class Respecified(Asked):
    """Limits or node policy changed while waiting; demand is the whole new demand."""

    event: ClassVar[str] = "respecified"
    before: Demand
    demand: Demand


class Prioritised(Asked):
    """Another priority, in any active phase."""

    event: ClassVar[str] = "prioritised"
    before: int
    priority: int


class Relabelled(Asked):
    """Labels after creation; the whole new set."""

    event: ClassVar[str] = "relabelled"
    before: Mapping[str, str]
    labels: Mapping[str, str]


class Shared(Asked):
    """Another user of the organisation may look and clone."""

    event: ClassVar[str] = "shared"
    users: tuple[str, ...]


class ScaleRequested(Fact):
    """Ray's autoscaler asks for more workers of a role; never preempts."""

    event: ClassVar[str] = "scale_requested"
    role: Token
    replicas: int


class ScaledDown(Fact):
    """Workers that ended because Ray no longer needs them."""

    event: ClassVar[str] = "scaled_down"
    workers: tuple[str, ...]


class Rescaled(Fact):
    """The placement of additional workers."""

    event: ClassVar[str] = "rescaled"
    placement: Placement


class CheckpointSaved(OfAttempt):
    """The training says that it has saved a checkpoint of this step; told once a minute at most.

    last_step: the last step that it has told of. line: what it said, shortened.
    """

    event: ClassVar[str] = "checkpoint_saved"
    step: int
    last_step: int | None = None
    line: str | None = None


class ResumeVerified(Fact):
    """The training loaded its checkpoint and goes on.

    step_before: the last step that was told before this attempt. step_after: the first one of it.
    checkpoint_step: the newest checkpoint that is known from before. gpu_hours: GPU time of the
    steps after it, which are done again. line: what proves it, shortened. attempt: None in events
    of a time when this changed nothing in the state.
    """

    event: ClassVar[str] = "resume_verified"
    attempt: int | None = None
    step_before: int
    step_after: int
    checkpoint_step: int | None = None
    gpu_hours: float = 0.0
    line: str | None = None


class ProgressLost(Fact):
    """The training started over, or further back than its last checkpoint.

    step_before, step_after, checkpoint_step, line: as in `resume_verified`. gpu_hours: GPU time of
    the steps that are lost.
    """

    event: ClassVar[str] = "progress_lost"
    attempt: int | None = None
    step_before: int
    step_after: int
    checkpoint_step: int | None = None
    gpu_hours: float
    line: str | None = None


class Archived(Fact):
    """The archive holds the whole history."""

    event: ClassVar[str] = "archived"
    phase: Phase


_BASES: tuple[type[Fact], ...] = (Fact, Asked, OfAttempt, Judged)

FACTS: dict[str, type[Fact]] = {
    fact.event: fact for base in _BASES for fact in base.__subclasses__() if fact not in _BASES
}
"""Event name -> model. The registry that contracts, documents and tests are made from."""
