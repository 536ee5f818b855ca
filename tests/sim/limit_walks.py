"""Lives of one job in which anything may come at any time, but services decide by their real cores.

The executor, the cluster, people and the scheduler's choices are chance; requeue, fault tolerance
and admission are asked as in earnest, late, doubled and out of turn. What may not be recorded is
not. Shorter walks of one seed are beginnings of longer ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random

from muster.admission.core import decide as admission
from muster.domain import facts as f
from muster.domain.causes import SCHEDULER_CAUSES
from muster.domain.deadlines import passed
from muster.domain.demand import QueueLimits
from muster.domain.edges import IllegalEdge, Owner
from muster.domain.evolve import evolve
from muster.domain.phases import Phase
from muster.domain.reasons import ReasonCode, reason
from muster.domain.spec import JobSpec
from muster.domain.state import DeadlineKind, JobState, Wait
from muster.domain.violations import Violation
from muster.fault_tolerance.core.verdict import by_event
from muster.requeue.core import decide as requeue
from tests.support.lives import START, auto_queue, spec

KINDS = ("spot", "idle", "reserved", "on_demand")
PAUSES = (0.0, 0.0, 1.0, 40.0, 125.0, 700.0, 3600.0, 47_000.0)


@dataclass(frozen=True, slots=True)
class Step:
    """One event. seq: its place in the log."""

    before: JobState
    fact: f.Fact
    at: datetime
    after: JobState
    seq: int


@dataclass(slots=True)
class Walk:
    """See the module. evidence: what made the job faulted. rounds: every round that ran."""

    rng: Random
    state: JobState
    now: datetime
    seq: int = 2
    evidence: f.Fact | None = None
    rounds: list[requeue.Round] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def tell(self, owner: Owner, fact: f.Fact | Violation | None) -> None:
        """Record what somebody decided, if it may be recorded; or nothing."""
        if fact is None or isinstance(fact, Violation):
            return
        before = self.state
        self.now += timedelta(microseconds=1)  # the log dates no two events of a job alike
        try:
            after = evolve(before, fact, self.now, owner)
        except IllegalEdge:
            return
        self.seq += 1
        self.state = after
        if isinstance(fact, f.WorkersFailed | f.Hung):
            self.evidence = fact
        self.steps.append(Step(before, fact, self.now, after, self.seq))

    # --- services, asked in earnest ------------------------------------------------------------

    def requeue_looks(self) -> None:
        """After an event, or because an alarm rang: late, early, again."""
        last = self.rng.choice(self.rounds) if self.rounds else None
        found = requeue.on_release(self.state)
        found = found or requeue.on_deadline(self.state, self.seq, self.now, last)
        self.tell(Owner.REQUEUE, found)

    def the_queue_clock_is_over(self) -> None:
        """A round runs after the deadline, and then requeue looks."""
        due = self.state.due(DeadlineKind.QUEUE)
        if due is not None:
            self.now = max(self.now, due)
            self.a_round_runs()
            self.requeue_looks()

    def fault_tolerance_looks(self) -> None:
        """With what it has seen, or without."""
        seen = self.evidence if self.rng.random() < 0.9 else None
        self.tell(Owner.FAULT_TOLERANCE, by_event(self.state, seen, self.now))

    def a_round_runs(self) -> None:
        """It may know the job as it is, or as it was."""
        known = self.seq if self.rng.random() < 0.8 else self.seq - 1
        self.rounds.append(requeue.Round(at=self.now, upto=known))

    # --- people --------------------------------------------------------------------------------

    def people_change_limits(self) -> None:
        self.tell(
            Owner.ADMISSION,
            admission.respecify(self.state, "ann", self._request(), (self._limits(),), None),
        )

    def people_resume(self) -> None:
        limits = self.rng.choice((None, (self._limits(),)))
        self.tell(Owner.ADMISSION, admission.resume(self.state, "ann", self._request(), limits))

    def people_stop(self) -> None:
        if self.rng.random() < 0.1:
            self.tell(Owner.ADMISSION, admission.stop(self.state, "ann", self._request()))

    def people_prioritise(self) -> None:
        self.tell(Owner.ADMISSION, admission.prioritise(self.state, "ann", self._request(), 70))

    def _request(self) -> str:
        """Now and then one that was told before."""
        return f"r{self.rng.randrange(200)}"

    def _limits(self) -> QueueLimits | None:
        if self.rng.random() < 0.2:
            return None
        hours, requeues = self.rng.choice((1, 2, 12)), self.rng.randint(0, 3)
        return QueueLimits(max_queue_hours=hours, max_requeues=requeues)

    # --- the scheduler chooses -----------------------------------------------------------------

    def scheduler_places(self) -> None:
        waits = (Wait(tenant="acme", job="victim", attempt=1),) if self.rng.random() < 0.3 else ()
        placement = {"n1": self.state.demand.workers}
        fact = f.Scheduled(placement=placement, waits_for=waits, grace_s=30 if waits else 0)
        self.tell(Owner.SCHEDULER, fact)

    def scheduler_takes_back(self) -> None:
        self.tell(Owner.SCHEDULER, f.Unscheduled(cause=self.rng.choice(list(f.Withdrawal))))

    def scheduler_evicts(self) -> None:
        cause = self.rng.choice(sorted(SCHEDULER_CAUSES))
        grace = self.rng.choice((0, 30, 600))
        self.tell(Owner.SCHEDULER, f.Preempted(cause=cause, grace_s=grace))

    def scheduler_shortens_grace(self) -> None:
        self.tell(Owner.SCHEDULER, f.GraceShortened(deadline=self.now + timedelta(seconds=3)))

    def scheduler_declines(self) -> None:
        why = reason(ReasonCode.INSUFFICIENT_CAPACITY, need=2, spec="4 GPU", have=0)
        self.tell(Owner.SCHEDULER, f.Declined(reason=why))

    # --- the executor reports ------------------------------------------------------------------

    def executor_launches(self) -> None:
        self.tell(Owner.EXECUTOR, f.Launching(attempt=self.state.attempt))

    def executor_starts(self) -> None:
        self.tell(Owner.EXECUTOR, f.Started(attempt=self.state.attempt))

    def executor_refuses(self) -> None:
        permanent = self.rng.random() < 0.7
        fact = f.StartRefused(attempt=self.state.attempt, permanent=permanent, why="no image")
        self.tell(Owner.EXECUTOR, fact)

    def executor_gives_up_the_start(self) -> None:
        self.tell(Owner.EXECUTOR, f.StartFailed(attempt=self.state.attempt, why="slow"))

    def executor_signals(self) -> None:
        self.tell(Owner.EXECUTOR, f.Signalled(attempt=self.state.attempt))

    def executor_proves_the_end(self) -> None:
        self.tell(Owner.EXECUTOR, f.Released(attempt=self.state.attempt))

    def executor_is_late(self) -> None:
        if passed(self.state, DeadlineKind.RELEASE, self.now):
            self.tell(Owner.EXECUTOR, f.ReleaseOverdue(nodes=tuple(self.state.held)))

    def executor_completes_the_stop(self) -> None:
        if not self.state.held:
            self.tell(Owner.EXECUTOR, f.Stopped())

    def executor_ends_the_hold(self) -> None:
        if passed(self.state, DeadlineKind.HOLD, self.now):
            self.tell(Owner.EXECUTOR, f.HoldEnded())

    def executor_ends_a_long_run(self) -> None:
        if passed(self.state, DeadlineKind.RUN, self.now):
            self.tell(Owner.EXECUTOR, f.RunTimedOut())

    def workers_end(self) -> None:
        if self.rng.random() < 0.2:
            self.tell(Owner.EXECUTOR, f.Succeeded(attempt=self.state.attempt))

    def workers_fail(self) -> None:
        code, cause = self.rng.choice(((1, "exited"), (None, "node_lost"), (137, "exited")))
        failure = f.WorkerFailure(worker="worker-0", node="n1", exit_code=code, cause=cause)
        self.tell(Owner.EXECUTOR, f.WorkersFailed(attempt=self.state.attempt, failures=(failure,)))

    def it_hangs(self) -> None:
        self.tell(Owner.FAULT_TOLERANCE, f.Hung(evidence=("no step",), seconds=1800))

    def time_passes(self) -> None:
        self.now += timedelta(seconds=self.rng.choice(PAUSES))

    def until_a_deadline(self) -> None:
        """To the very instant, or a moment beside it."""
        if self.state.deadlines:
            due = self.rng.choice(sorted(self.state.deadlines.values()))
            beside = timedelta(microseconds=self.rng.choice((-1, 0, 1)))
            self.now = max(self.now, due + beside)


Act = Callable[[Walk], None]
_W = Walk
ALWAYS: tuple[Act, ...] = (
    _W.time_passes,
    _W.until_a_deadline,
    _W.a_round_runs,
    _W.requeue_looks,
    _W.fault_tolerance_looks,
    _W.executor_proves_the_end,
    _W.executor_signals,
    _W.people_stop,
    _W.people_prioritise,
)
LIKELY: dict[Phase, tuple[Act, ...]] = {
    Phase.QUEUED: (
        _W.scheduler_places,
        _W.scheduler_places,
        _W.scheduler_declines,
        _W.people_change_limits,
        _W.the_queue_clock_is_over,
    ),
    Phase.STARTING: (
        _W.scheduler_takes_back,
        _W.scheduler_evicts,
        _W.executor_launches,
        _W.executor_launches,
        _W.executor_starts,
        _W.executor_refuses,
        _W.executor_gives_up_the_start,
        _W.workers_fail,
    ),
    Phase.RUNNING: (
        _W.scheduler_evicts,
        _W.scheduler_evicts,
        _W.workers_fail,
        _W.workers_end,
        _W.it_hangs,
        _W.executor_ends_a_long_run,
    ),
    Phase.EVICTING: (
        _W.executor_proves_the_end,
        _W.executor_proves_the_end,
        _W.workers_fail,
        _W.workers_end,
        _W.executor_is_late,
        _W.scheduler_shortens_grace,
        _W.scheduler_evicts,
    ),
    Phase.INTERRUPTED: (_W.requeue_looks, _W.requeue_looks, _W.scheduler_places),
    Phase.FAULTED: (_W.fault_tolerance_looks, _W.fault_tolerance_looks, _W.scheduler_evicts),
    Phase.STOPPING: (_W.executor_completes_the_stop, _W.workers_end, _W.executor_is_late),
    Phase.DEBUG_HOLDING: (_W.executor_ends_the_hold, _W.scheduler_evicts),
    Phase.ABNORMAL: (_W.people_resume, _W.people_resume, _W.people_change_limits),
}
"""What may well come in a phase; everything else comes as well, and is refused."""
EVERYTHING: tuple[Act, ...] = tuple(
    dict.fromkeys((*ALWAYS, *(act for acts in LIKELY.values() for act in acts)))
)


def walk(seed: int, length: int) -> Walk:
    """A life of so many attempts to have something happen."""
    rng = Random(seed)
    state = _submitted(_spec(rng))
    made = Walk(rng, evolve(state, f.Admitted(), START), START)
    for _ in range(length):
        if made.state.terminal:
            break
        chance = rng.random()
        likely = LIKELY.get(made.state.phase, ALWAYS)
        acts = EVERYTHING if chance < 0.1 else ALWAYS if chance < 0.35 else likely
        rng.choice(acts)(made)
    return made


def _spec(rng: Random) -> JobSpec:
    more: dict[str, object] = {"resource": {"type": rng.choice(KINDS), "replicas": 2}}
    if rng.random() < 0.75:
        more["auto_queue"] = auto_queue(rng.choice((1, 2, 12)), rng.randint(0, 3))
    if rng.random() < 0.4:
        more["fault_tolerance"] = {"enabled": True, "max_retries": rng.randint(1, 2)}
    if rng.random() < 0.2:
        more["max_runtime_s"] = 3600
    if rng.random() < 0.2:
        more |= {"type": "RayJob", "debug": {"enabled": True, "hold_seconds": 60}}
    return spec(**more)


def _submitted(job: JobSpec) -> JobState:
    first = f.Submitted(
        tenant="acme",
        job="j1",
        user="ann",
        pool="default",
        request="first",
        digest="d",
        spec=job,
        demand=job.demand(),
    )
    return evolve(None, first, START)
