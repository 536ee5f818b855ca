"""The pretended executors: gangs start at once, run as long as they must, and leave at once.

Also knows how far each job has come: what ran since its last checkpoint is lost with an eviction.
Decides nothing else; called by `engine` for every job about which something was written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from muster.cli.simulation.replay.book import Book
from muster.domain import facts as f
from muster.domain.edges import Owner
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.fault_tolerance.core.verdict import by_event
from muster.requeue.core.decide import on_release
from muster.scheduler.core.snapshot import JobKey


@dataclass(slots=True)
class Progress:
    """Seconds of a job: all of them, those that are safe, and since when it runs."""

    duration_s: float
    safe_s: float = 0.0
    since: datetime | None = None

    def ends_at(self, now: datetime) -> datetime:
        """Begin to run; return when it will be done if nobody disturbs it."""
        self.since = now
        return now + timedelta(seconds=max(0.0, self.duration_s - self.safe_s))

    def interrupt(self, now: datetime, checkpoint_s: float | None) -> float:
        """Stop; return the seconds that are lost."""
        if self.since is None:
            return 0.0
        ran = (now - self.since).total_seconds()
        kept = ran // checkpoint_s * checkpoint_s if checkpoint_s else 0.0
        self.since = None
        self.safe_s = min(self.duration_s, self.safe_s + kept)
        return ran - kept


class Machines:
    """See the module. ends: called with a job, its attempt and the instant at which it is done.

    lost: called with the job and the seconds that were lost of its work.
    """

    def __init__(
        self,
        book: Book,
        checkpoint_s: float | None,
        ends: Callable[[JobKey, int, datetime], None],
        lost: Callable[[JobState, float], None],
    ) -> None:
        self._book, self._checkpoint_s, self._ends, self._lost = book, checkpoint_s, ends, lost
        self._progress: dict[JobKey, Progress] = {}

    def expect(self, key: JobKey, duration_s: float) -> None:
        """Note how long a job will run."""
        self._progress[key] = Progress(duration_s)

    def done(self, key: JobKey, attempt: int) -> None:
        """End an attempt well, if it still runs."""
        state = self._book.state(key)
        if state is None or state.attempt != attempt or state.phase is not Phase.RUNNING:
            return
        self._write(key, f.Succeeded(attempt=attempt))
        self._write(key, f.Released(attempt=attempt))
        del self._progress[key]

    def lose(self, key: JobKey, node: str) -> None:
        """Report the workers of a node that is lost, and do what fault tolerance decides."""
        state = self._book.state(key)
        if state is None or state.phase is not Phase.RUNNING:
            return
        failures = tuple(
            f.WorkerFailure(worker=worker, node=node, cause="node_lost")
            for worker in state.held[node]
        )
        failed = f.WorkersFailed(attempt=state.attempt, failures=failures)
        self._write(key, failed)
        found = by_event(self._state(key), failed, self._book.clock.now())
        if found is not None:
            self._book.write(Owner.FAULT_TOLERANCE, key, found)

    def step(self, key: JobKey) -> bool:
        """Do what is to be done for a job now; False if it must wait for others to leave."""
        state = self._book.state(key)
        if state is None:
            return True
        match state.phase:
            case Phase.STARTING if not state.launched:
                return self._launch(key, state)
            case Phase.EVICTING:
                self._leave(key, state)
            case Phase.INTERRUPTED:
                self._after_release(key, state)
            case _ if (state.terminal or state.parked) and state.held:
                self._write(key, f.Released(attempt=state.attempt))
        return True

    def _launch(self, key: JobKey, state: JobState) -> bool:
        if any(self._is_there(wait.tenant, wait.job, wait.attempt) for wait in state.waits_for):
            return False
        self._write(key, f.Launching(attempt=state.attempt))
        self._write(key, f.Started(attempt=state.attempt))
        ends_at = self._progress[key].ends_at(self._book.clock.now())
        self._ends(key, state.attempt, ends_at)
        return True

    def _is_there(self, tenant: str, job: str, attempt: int) -> bool:
        victim = self._book.state((tenant, job))
        return victim is not None and bool(victim.held) and victim.attempt <= attempt

    def _leave(self, key: JobKey, state: JobState) -> None:
        if not state.signalled:
            self._write(key, f.Signalled(attempt=state.attempt))
        progress = self._progress[key]
        self._lost(state, progress.interrupt(self._book.clock.now(), self._checkpoint_s))
        self._write(key, f.Released(attempt=state.attempt))

    def _after_release(self, key: JobKey, state: JobState) -> None:
        fact = on_release(state)
        if fact is not None:
            self._book.write(Owner.REQUEUE, key, fact)

    def _write(self, key: JobKey, fact: f.Fact) -> None:
        self._book.write(Owner.EXECUTOR, key, fact)

    def _state(self, key: JobKey) -> JobState:
        state = self._book.state(key)
        assert state is not None
        return state
