"""The state of a job: carried whole by every event, so that one event tells where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from muster.domain.causes import EvictionCause
from muster.domain.demand import Demand, JobType
from muster.domain.faults import Faults
from muster.domain.model import Frozen, Instant, Token
from muster.domain.phases import PARKED, TERMINAL, Phase, Shown
from muster.domain.progress import Progress
from muster.domain.reasons import Reason, ReasonCode
from muster.domain.survival import Outlook

KNOWN_REQUESTS = 32
"""How many request ids a state remembers, so that a request told twice is carried out once."""


class DeadlineKind(StrEnum):
    """What a stored instant means; `muster.domain.deadlines` says who acts on it and when."""

    QUEUE = "queue"
    ROUND = "round"
    PLAN = "plan"
    START = "start"
    GRACE = "grace"
    RELEASE = "release"
    SETTLE = "settle"
    VERDICT = "verdict"
    HOLD = "hold"
    RUN = "run"


class Wait(Frozen):
    """A victim whose attempt must hold nothing before the beneficiary may launch."""

    tenant: Token
    job: Token
    attempt: int


class Eviction(Frozen):
    """The order under which a gang leaves its nodes.

    by: the job that benefits, or None. same_entry: the queue entry and its clock go on.
    not_before: once it is queued again, it is not placed until then.
    """

    cause: EvictionCause
    by: str | None = None
    same_entry: bool = False
    not_before: Instant | None = None


class Outcome(Frozen):
    """An end that is already known while something still has to happen before it."""

    phase: Phase
    reason: Reason


class Ledgers(Frozen):
    """Separate counters; no event moves two.

    requeues: after evictions (auto-queue's limit). restarts: the user's retry budget.
    infrastructure: instants of failures that are not the job's own, within 24 h. hangs: restarts
    after hangs without progress since. starts: permanent refusals to start within this queue entry.
    """

    requeues: int = 0
    restarts: int = 0
    infrastructure: tuple[Instant, ...] = ()
    hangs: int = 0
    starts: int = 0


class JobState(Frozen):
    """A job after one event. version counts its events; attempt counts its stays on nodes.

    held: node -> workers, from the commit of a placement until the proof that all are gone.
    cards: worker -> shared card of its node, for workers that share one; as long as held.
    launched: `launching` is on the log for this attempt. signalled: so is a stop signal.
    progress: what its output has told of its steps; None while it has told nothing.
    outlook: of an idle job, how long it was likely to stay when it was placed; until it queues.
    faults: what its failures so far leave for the next verdict; None while it had none.
    origin: of a debug job, the one that it was made to look into.
    """

    tenant: Token
    job: Token
    user: str
    name: str
    pool: Token
    demand: Demand
    labels: Mapping[str, str] = {}
    phase: Phase = Phase.SUBMITTED
    shown: Shown = Shown.SUBMITTED
    version: int = 1
    attempt: int = 0
    queue_entry: int = 0
    submitted_at: Instant
    since: Instant
    entered_at: Instant | None = None
    started_at: Instant | None = None
    ended_at: Instant | None = None
    one_shot: bool = False
    not_before: Instant | None = None
    deadlines: Mapping[DeadlineKind, Instant] = {}
    ledgers: Ledgers = Ledgers()
    held: Mapping[str, tuple[str, ...]] = {}
    cards: Mapping[str, int] = {}
    waits_for: tuple[Wait, ...] = ()
    launched: bool = False
    signalled: bool = False
    eviction: Eviction | None = None
    outcome: Outcome | None = None
    avoid: tuple[str, ...] = ()
    reason: Reason | None = None
    progress: Progress | None = None
    outlook: Outlook | None = None
    faults: Faults | None = None
    origin: Token | None = None
    requests: tuple[str, ...] = ()
    archived: bool = False

    @property
    def type(self) -> JobType:
        """PyTorchJob or RayJob."""
        return self.demand.type

    @property
    def terminal(self) -> bool:
        """Whether the job has ended for good."""
        return self.phase in TERMINAL

    @property
    def parked(self) -> bool:
        """Whether the job waits for a person."""
        return self.phase in PARKED

    @property
    def requeues_left(self) -> int:
        """Requeues that auto-queue may still use; 0 without auto-queue."""
        if self.demand.queue is None:
            return 0
        return max(0, self.demand.queue.max_requeues - self.ledgers.requeues)

    @property
    def holds_outcome(self) -> bool:
        """Whether the attempt's end was judged before, and only waits for a hold to be over."""
        outcome = self.outcome
        if outcome is None or outcome.phase is Phase.STOPPED:
            return False
        return outcome.reason.code is not ReasonCode.MAX_RUNTIME

    @property
    def placed_on(self) -> dict[str, str]:
        """Worker -> node, for every worker that holds capacity."""
        return {worker: node for node, workers in self.held.items() for worker in workers}

    def due(self, kind: DeadlineKind) -> datetime | None:
        """Return the stored instant of a deadline, or None."""
        return self.deadlines.get(kind)

    def knows(self, request: str) -> bool:
        """Tell whether this request was already carried out on this job."""
        return request in self.requests
