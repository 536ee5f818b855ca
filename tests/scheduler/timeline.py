"""A pool in its own time: jobs come when they are due, run for as long as they really do, and go.

The scheduler sees only what it may see: limits, never the true run times. Processes start and leave
at once, so what is measured is the scheduler's doing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from muster.domain import facts as f
from muster.domain.evolve import evolve
from muster.domain.nodes import NodeState
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.runtimes import UNTAUGHT, Runtimes
from muster.scheduler.core.snapshot import Listed, Snapshot, is_hold
from muster.scheduler.core.verdicts import Plan
from tests.scheduler.worlds import NOW, POOL, at


@dataclass(frozen=True, slots=True)
class Work:
    """A job, and how long it really runs. It comes when it says it entered the queue."""

    state: JobState
    runs: float

    @property
    def comes(self) -> float:
        """Return when it comes."""
        return (self.state.submitted_at - NOW).total_seconds()


@dataclass
class Timeline:
    """See the module. watch: called with every plan."""

    nodes: list[NodeState]
    works: Iterable[Work]
    policy: Policy = field(default_factory=Policy)
    watch: Callable[[Plan], None] = lambda made: None
    now: float = 0.0
    runtimes: Runtimes = UNTAUGHT
    books: dict[str, JobState] = field(default_factory=dict)
    started: dict[str, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    gpu_s: float = 0.0

    def __post_init__(self) -> None:
        """Sort out who comes."""
        self._to_come = sorted(self.works, key=lambda work: (-work.comes, work.state.job))
        self._runs = {work.state.job: work.runs for work in self._to_come}

    def snapshot(self) -> Snapshot:
        """Return what a round would see now."""
        states = [s for s in self.books.values() if s.held or s.phase is Phase.QUEUED]
        return Snapshot(
            pool=POOL,
            now=at(self.now),
            upto=1,
            nodes=tuple(self.nodes),
            jobs=tuple(Listed(state, 1, state.attempt) for state in states),
            runtimes=self.runtimes,
        )

    def run(self, until: float, stop: str = "") -> None:
        """Let time go on, to an instant or to the start of a job."""
        while stop not in self.started:
            self._arrive()
            made = self._settle()
            following = self._next(made)
            if following is None or following > until:
                break
            self._pass_to(following)
        if stop not in self.started:
            self._pass_to(until)

    def _arrive(self) -> None:
        while self._to_come and self._to_come[-1].comes <= self.now:
            state = self._to_come.pop().state
            self.books[state.job] = state

    def _settle(self) -> Plan:
        while True:
            made = plan(self.snapshot(), self.policy)
            self.watch(made)
            for move in made.moves:
                for decision in move.decisions:
                    self._happen(decision.job[1], decision.fact)
            gone = self._leave()
            if not self._start() and not gone and not made.moves:
                return made

    def _happen(self, name: str, fact: f.Fact) -> None:
        self.books[name] = evolve(self.books[name], fact, at(self.now))

    def _start(self) -> bool:
        began = False
        for name, state in list(self.books.items()):
            waits = [w for w in state.waits_for if w.job in self.books and self.books[w.job].held]
            if is_hold(state) and not waits:
                self._happen(name, f.Launching(attempt=state.attempt))
                self._happen(name, f.Started(attempt=state.attempt))
                self.started.setdefault(name, self.now)
                began = True
        return began

    def _leave(self) -> bool:
        """Let the evicted go; they do not come back."""
        gone = [name for name, s in self.books.items() if s.phase is Phase.EVICTING and s.held]
        for name in gone:
            self._happen(name, f.Released(attempt=self.books[name].attempt))
            del self.books[name]
        return bool(gone)

    def _end_of(self, name: str) -> float:
        began = self.books[name].started_at
        assert began is not None
        return (began - NOW).total_seconds() + self._runs[name]

    def _running(self) -> list[str]:
        return [name for name, state in self.books.items() if state.phase is Phase.RUNNING]

    def _next(self, made: Plan) -> float | None:
        instants = [self._end_of(name) for name in self._running()]
        if self._to_come:
            instants.append(self._to_come[-1].comes)
        if made.next_at is not None:
            instants.append((made.next_at - NOW).total_seconds())
        return min((one for one in instants if one > self.now), default=None)

    def _pass_to(self, instant: float) -> None:
        busy = sum(self.books[name].demand.gpus for name in self._running())
        self.gpu_s += busy * (instant - self.now)
        self.now = instant
        for name in self._running():
            if self._end_of(name) <= instant:
                state = self.books.pop(name)
                began = state.started_at
                assert began is not None
                self.runtimes = self.runtimes.learned(state, self._runs[name])
                self.ended[name] = instant
