"""Lets time pass: from one instant at which something happens to the next, until nothing will.

At each instant: who is done leaves, nodes come and go, jobs are submitted; then rounds are made
until nobody has anything left to do. Deterministic: the same input gives the same facts.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from functools import partial
from itertools import count
from time import perf_counter, process_time

from muster.admission.core import decide as admission
from muster.cli.simulation.replay.book import Book, Change, NodeChange
from muster.cli.simulation.replay.capacity import Capacity, NodeStep
from muster.cli.simulation.replay.intake import USER, job_of, judged, submission
from muster.cli.simulation.replay.machines import Machines
from muster.cli.simulation.replay.meters import Meters
from muster.cli.simulation.replay.misfits import split
from muster.cli.simulation.replay.rounds import Rounds
from muster.cli.simulation.replay.settings import Settings
from muster.cli.simulation.replay.workload import Row, Workload
from muster.domain import facts as f
from muster.domain.deadlines import armed
from muster.domain.edges import Owner
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.requeue.core.decide import Round, on_deadline
from muster.scheduler.core.policy import SpotQuota
from muster.scheduler.core.snapshot import JobKey, key_of
from muster.scheduler.core.spot_quota import EVERY_S
from muster.testing.virtual_time import START

QUIET = frozenset({"submitted", "scheduled", "launching", "started", "signalled", "succeeded"})
"""Facts that give a plan nothing new to decide: they take room, or are followed by `released`."""


class Kind(IntEnum):
    """What comes first within one instant."""

    END = 0
    NODE = 1
    SUBMIT = 2
    ALARM = 3


@dataclass(frozen=True, slots=True)
class Ended:
    """What is left when time has ended. seconds: how long it took; cpu_seconds: of this process."""

    meters: Meters
    rounds: Rounds
    events: int
    seconds: float
    cpu_seconds: float
    ended_at: datetime


class Engine:
    """See the module. watchers hear every fact about a job, in order."""

    def __init__(
        self,
        workload: Workload,
        settings: Settings,
        steps: Iterable[NodeStep] = (),
        watchers: Iterable[Callable[[Change], None]] = (),
    ) -> None:
        self._settings = settings
        workload, misfits = split(workload, settings)
        self.book = Book()
        self.rounds = Rounds(self.book, settings.policy, settings.round_every_s)
        self.meters = Meters(workload, settings.policy, misfits)
        self.machines = Machines(
            self.book, settings.checkpoint_s, self._at_the_end, self.meters.lost
        )
        self._capacity = Capacity(self.book, self.machines, workload.nodes)
        self._agenda: list[tuple[datetime, Kind, int, Callable[[], None]]] = []
        self._number = count()
        self._coming = 0
        self._touched: dict[JobKey, None] = {}
        self._waiting: dict[JobKey, None] = {}
        self._overdue: dict[JobKey, None] = {}
        self._resumed = count(1)
        self.book.hear_job += [self.meters.on_job, self._on_job, *watchers]
        self.book.hear_node += [self.meters.on_node, self._on_node]
        for row in workload.rows:
            self._at(
                START + timedelta(seconds=row.submit_s), Kind.SUBMIT, partial(self._submit, row)
            )
        if settings.policy.spot_quota is not SpotQuota.OFF:
            self._at(START, Kind.ALARM, self._measure)
        for step in steps:
            at = START + timedelta(seconds=step.at_s)
            self._at(at, Kind.NODE, partial(self._capacity.take, step))

    # --- time ----------------------------------------------------------------------------------

    def _at(self, at: datetime, kind: Kind, what: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (at, kind, next(self._number), what))
        self._coming += kind is not Kind.ALARM

    def _at_the_end(self, key: JobKey, attempt: int, at: datetime) -> None:
        self._at(at, Kind.END, partial(self.machines.done, key, attempt))

    def run(self) -> Ended:
        """Replay everything."""
        began, cpu = perf_counter(), process_time()
        self._capacity.open()
        while (now := self._next()) is not None:
            self.book.clock.at = now
            self._happen(now)
            self._settle()
            self.meters.instant(now, self.rounds)
        ended = self.book.clock.now()
        wall, cpu = perf_counter() - began, process_time() - cpu
        return Ended(self.meters, self.rounds, self.book.events, wall, cpu, ended)

    def _next(self) -> datetime | None:
        """Return the next instant; None when nothing runs or comes that could change anything."""
        due = self.rounds.due_at if self.book.jobs else None
        if due is not None and self.rounds.pending:
            return min(due, self._agenda[0][0]) if self._agenda else due
        if not self._agenda or (self._settings.queueing.resumes and not self._coming):
            return None  # people would resume for ever what nothing makes room for
        first = self._agenda[0][0]
        return first if due is None else min(first, due)

    def _happen(self, now: datetime) -> None:
        while self._agenda and self._agenda[0][0] <= now:
            _, kind, _, what = heapq.heappop(self._agenda)
            self._coming -= kind is not Kind.ALARM
            what()

    def _settle(self) -> None:
        self._react()
        while self.book.jobs and self.rounds.is_due():
            if not self.meters.waiting and not self._capacity.changed:
                self.rounds.forget()  # nobody to place, and nobody to tell to leave
                break
            self._capacity.changed = False
            self.rounds.turn()
            self._expire()
            self._react()

    # --- what follows from what ----------------------------------------------------------------

    def _on_job(self, change: Change) -> None:
        state, event = change.after, change.fact.event
        self._touched[key_of(state)] = None
        if event not in QUIET:
            self.rounds.note_news()
        if state.phase is Phase.QUEUED:
            self._arm(state)

    def _on_node(self, change: NodeChange) -> None:
        self._capacity.changed = True
        self.rounds.note_news()

    def _arm(self, state: JobState) -> None:
        key = key_of(state)
        for _, at in armed(state, Owner.REQUEUE):
            self._at(at, Kind.ALARM, partial(self._ring, key))

    def _measure(self) -> None:
        """Measure quotas, and again later as long as anything else is to come."""
        self.rounds.measure()
        if self._agenda:
            at = self.book.clock.now() + timedelta(seconds=EVERY_S)
            self._at(at, Kind.ALARM, self._measure)

    def _ring(self, key: JobKey) -> None:
        """A queue entry may be over; it has one round more (see requeue)."""
        state = self.book.state(key)
        now = self.book.clock.now()
        if state and any(at <= now for _, at in armed(state, Owner.REQUEUE)):
            self._overdue[key] = None
            self.rounds.note_news()

    def _react(self) -> None:
        """Let machines and requeue do what they must, until nobody moves."""
        while True:
            while self._touched:
                key = next(iter(self._touched))
                del self._touched[key]
                self._step(key)
            self._capacity.tidy()
            started = [key for key in self._waiting if self.machines.step(key)]
            for key in started:
                del self._waiting[key]
            if not self._touched:
                return

    def _step(self, key: JobKey) -> None:
        if not self.machines.step(key):
            self._waiting[key] = None
        state = self.book.state(key)
        if state and state.phase is Phase.ABNORMAL and self._settings.queueing.resumes:
            self._resume(key, state)

    def _resume(self, key: JobKey, state: JobState) -> None:
        if state.held:
            return
        request = f"resume-{next(self._resumed)}"
        fact = admission.resume(state, USER, request, None)
        if isinstance(fact, f.Fact):
            self.book.write(Owner.ADMISSION, key, fact)

    def _expire(self) -> None:
        last = self.book.fold.last_round
        seen = Round(last.at, last.upto) if last else None
        for key in list(self._overdue):
            recorded = self.book.jobs.get(key)
            if recorded is None or recorded.job.phase is not Phase.QUEUED:
                del self._overdue[key]
                continue
            fact = on_deadline(recorded.job, recorded.seq, self.book.clock.now(), seen)
            if fact is not None:
                del self._overdue[key]
                self.book.write(Owner.REQUEUE, key, fact)

    # --- what comes from outside ---------------------------------------------------------------

    def _submit(self, row: Row) -> None:
        submitted = submission(row, self._settings)
        if not isinstance(submitted, f.Submitted):
            self.meters.refused(row, submitted)
            return
        self.meters.expect(row, job_of(row))
        state = self.book.open(submitted)
        self.machines.expect(key_of(state), row.duration_s)
        verdict = judged(submitted)
        self.book.write(Owner.ADMISSION, key_of(state), verdict)
        if isinstance(verdict, f.Rejected):
            self.meters.refused(row, verdict.violations)
