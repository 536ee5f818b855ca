"""A look ahead: rounds are planned at the instants at which jobs are expected to end.

Every round is `plan` itself and every change `evolve`, so nothing is foreseen that the scheduler
would not do. Processes start at once, leave when their grace is over, and nobody new comes. Bounded
by the number of rounds: ends that are near to each other, measured by how far away they are, count
as one. Used by `eta`; writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from muster.domain import facts as f
from muster.domain.deadlines import passed
from muster.domain.evolve import evolve
from muster.domain.phases import Phase
from muster.domain.state import DeadlineKind, JobState
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.snapshot import JobKey, Listed, Snapshot, is_hold
from muster.scheduler.core.upkeep import awaited_by
from muster.scheduler.core.verdicts import Plan

QUIET = 4
"""After so many rounds without a decision, and with nobody who ends, nothing more will come."""

Ends = Callable[[JobState, datetime], datetime | None]
"""By when, by this walk's assumption, the room of a job is free that holds some. None: never."""


@dataclass(slots=True)
class Walk:
    """One walk. early: ends that count as one count from the first of them, else from the last.

    started: when each job started that did. now: how far it came.
    """

    snapshot: Snapshot
    policy: Policy
    ends: Ends
    early: bool
    blur: float = 0.04
    started: dict[JobKey, datetime] = field(default_factory=dict)
    now: datetime = field(init=False)
    _jobs: dict[JobKey, Listed] = field(init=False)
    _leaves: dict[JobKey, datetime | None] = field(default_factory=dict)
    _expired: set[JobKey] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Begin where the snapshot is."""
        self.now = self.snapshot.now
        self._jobs = {job.key: job for job in self.snapshot.jobs}

    def go(self, wanted: Collection[JobKey], rounds: int) -> bool:
        """Walk until the wanted jobs have started; tell whether the end of the way was reached."""
        quiet = 0
        for _ in range(rounds):
            made = plan(self._snapshot(), self.policy)
            quiet = 0 if made.moves or self._anybody_ends() else quiet + 1
            self._carry_out(made)
            self._start()
            self._expire()
            if all(key in self.started or key not in self._jobs for key in wanted):
                return True
            if quiet > QUIET or not self._move_on(made.next_at):
                return True
        return False

    def _anybody_ends(self) -> bool:
        return any(self._end(key, job.state) for key, job in self._jobs.items())

    def _snapshot(self) -> Snapshot:
        return replace(self.snapshot, now=self.now, jobs=tuple(self._jobs.values()), cursor=None)

    # --- what a round does ---------------------------------------------------------------------

    def _carry_out(self, made: Plan) -> None:
        for move in made.moves:
            for decision in move.decisions:
                self._happen(decision.job, decision.fact)

    def _happen(self, key: JobKey, fact: f.Fact) -> None:
        job = self._jobs[key]
        state = evolve(job.state, fact, self.now)
        stay = state.attempt if isinstance(fact, f.Scheduled) else job.stay
        if state.held or state.phase is Phase.QUEUED:
            self._jobs[key] = Listed(state, job.seq, stay)
        else:
            del self._jobs[key]
        self._leaves.pop(key, None)

    def _start(self) -> None:
        """Let everybody start that need not wait for anybody."""
        holding = {key: job for key, job in self._jobs.items() if job.state.held}
        for key, job in holding.items():
            if not is_hold(job.state) or awaited_by(job.state, holding):
                continue
            self._happen(key, f.Launching(attempt=job.state.attempt))
            self._happen(key, f.Started(attempt=job.state.attempt))
            self.started.setdefault(key, self.now)

    def _expire(self) -> None:
        for key, job in list(self._jobs.items()):
            if passed(job.state, DeadlineKind.QUEUE, self.now):
                del self._jobs[key]
                self._expired.add(key)

    def expired(self, key: JobKey) -> bool:
        """Tell whether the time in the queue of a job has ended on the way."""
        return key in self._expired

    # --- what time does ------------------------------------------------------------------------

    def _move_on(self, next_at: datetime | None) -> bool:
        """Go on to the next end, or to when a round is due; False if nothing ever happens again."""
        ends = {key: at for key, job in self._jobs.items() if (at := self._end(key, job.state))}
        instants = [max(at, self.now) for at in ends.values()]
        first = min([*instants, next_at] if next_at else instants, default=None)
        if first is None:
            return False
        span = (first - self.snapshot.now) * self.blur
        together = [at for at in ends.values() if at <= first + span]
        last = max([first, *together]) if not self.early else first
        for key, at in ends.items():
            if at <= (first + span):
                self._leave(key)
        self.now = max(last, self.now + timedelta(seconds=1))
        return True

    def _end(self, key: JobKey, state: JobState) -> datetime | None:
        if not state.held or (is_hold(state) and state.waits_for):
            return None
        if key not in self._leaves:
            self._leaves[key] = self.ends(state, self.now)
        return self._leaves[key]

    def _leave(self, key: JobKey) -> None:
        job = self._jobs[key]
        eviction = job.state.eviction
        if eviction is None or job.state.phase is not Phase.EVICTING or job.state.outcome:
            del self._jobs[key]
            return
        state = evolve(job.state, f.Released(attempt=job.state.attempt), self.now)
        if state.phase is Phase.INTERRUPTED and (eviction.same_entry or state.requeues_left):
            fact = f.Requeued(cause=eviction.cause, counted=not eviction.same_entry)
            state = evolve(state, fact, self.now)
            self._jobs[key] = Listed(state, job.seq, job.stay)
        else:
            del self._jobs[key]
        self._leaves.pop(key, None)
