"""The scheduler of a replay: its fold, its plan and its batches, when something has happened.

What `PoolCycle` does for one leader without rivals; every decision is `plan`'s, and what is written
of it is what `build` makes of a plan.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from muster.cli.simulation.replay.book import Book
from muster.domain.edges import Owner
from muster.scheduler.core import spot_quota
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.snapshot import JobKey
from muster.scheduler.core.verdicts import Plan
from muster.scheduler.cycle.batch import MAX_MESSAGES, build
from muster.scheduler.cycle.summary import JUDGE_EVERY_S, judged

EPOCH = 1


class Rounds:
    """See the module. count: rounds so far. made: the last plan. refused: decisions not written."""

    def __init__(self, book: Book, policy: Policy, every_s: float) -> None:
        self._book, self._policy = book, policy
        self._every = timedelta(seconds=every_s)
        self._news = True
        self._cursor: JobKey | None = None
        self._set_aside: dict[JobKey, int] = {}
        self._last_at: datetime | None = None
        self._next_at: datetime | None = None
        self._judge_at = book.clock.now() + timedelta(seconds=JUDGE_EVERY_S)
        self.made: Plan | None = None
        self.count = 0
        self.refused = Counter[str]()

    def note_news(self) -> None:
        """Note that something happened that may change a plan."""
        self._news = True

    def forget(self) -> None:
        """Note that neither what happened nor the time gives a plan anything to do."""
        self._news, self._next_at = False, None

    @property
    def pending(self) -> bool:
        """Whether a round is owed to something that happened, or was left by the last one."""
        return self._news or self._cursor is not None

    @property
    def due_at(self) -> datetime | None:
        """The next instant at which a round is due, None if that depends on others."""
        now = self._book.clock.now()
        if self.pending:
            return max(now, self._earliest(now))
        return max(self._next_at, self._earliest(now)) if self._next_at else None

    def _earliest(self, now: datetime) -> datetime:
        return self._last_at + self._every if self._last_at and self._every else now

    def is_due(self) -> bool:
        """Tell whether to make a round now."""
        due = self.due_at
        return due is not None and due <= self._book.clock.now()

    def turn(self) -> bool:
        """Make a round; tell whether anything about a job was written."""
        book, now = self._book, self._book.clock.now()
        self._news, self._last_at = False, now
        self.count += 1
        aside = self._aside()
        self._judge(now)
        made = plan(book.fold.snapshot(now, book.events, self._cursor, aside), self._policy)
        self.made, self._cursor, self._next_at = made, made.cursor, made.next_at
        batch = build(made, book.fold, book.pen(Owner.SCHEDULER), EPOCH, MAX_MESSAGES)
        if batch is None:
            return False
        if batch.refused is not None:
            for job in batch.jobs:
                self._set_aside[job] = book.jobs[job].head
                self.refused[job[1]] += 1
        for append in batch.appends:
            book.take(append)
        book.say(batch.record)
        self._news = self._news or len(batch.moves) < len(made.moves)
        return bool(batch.moves)

    def _judge(self, now: datetime) -> None:
        """Tell now and then how long idle jobs keep their places, as a leader does."""
        if now < self._judge_at:
            return
        self._judge_at = now + timedelta(seconds=JUDGE_EVERY_S)
        if (found := judged(self._book.fold, now, self._policy)) is not None:
            self._book.say(found)

    def measure(self) -> None:
        """Measure how much spot jobs may hold, as the cycle does every five minutes."""
        book, now = self._book, self._book.clock.now()
        made, version = self.made, book.fold.version
        if made is None or self._news:
            made = plan(book.fold.snapshot(now, book.events, None, self._aside()), self._policy)
        book.say(spot_quota.measure(made, now))
        self._news = self._news or book.fold.version != version

    def _aside(self) -> frozenset[JobKey]:
        heads = {job: last.head for job, last in self._book.jobs.items()} if self._set_aside else {}
        self._set_aside = {j: seq for j, seq in self._set_aside.items() if heads.get(j) == seq}
        return frozenset(self._set_aside)
