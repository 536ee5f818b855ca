"""How the lines of a queue stand in one plan: whose turn it is, and why the others wait.

A verdict is given to a line from some place on, not to each of its jobs, and is told of a job only
when somebody asks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import merge

from muster.scheduler.core.book import Book, Line
from muster.scheduler.core.jobs import JobKey, LineKey, Listed, Waiter
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.quota import Owners
from muster.scheduler.core.rank import Rank, rank
from muster.scheduler.core.verdicts import Verdict, Waiting


class Standing:
    """One line. turn: index of the waiter whose turn it is."""

    __slots__ = ("_spans", "_starts", "line", "rank", "turn")

    def __init__(self, line: Line) -> None:
        self.line = line
        self.rank: Rank | None = None
        self.begin()

    def begin(self) -> None:
        """Go back to the head of the line, without verdicts."""
        self.turn = 0
        self._starts: list[int] = []
        self._spans: list[Verdict] = []

    @property
    def waiter(self) -> Waiter | None:
        """Return whose turn it is."""
        waiters = self.line.waiters
        return waiters[self.turn] if self.turn < len(waiters) else None

    def judge(self, verdict: Verdict) -> None:
        """Give a verdict to the one whose turn it is, and to all behind."""
        self._starts.append(self.turn)
        self._spans.append(verdict)

    def verdict(self, index: int) -> Verdict:
        """Return the verdict on a place of the line."""
        return self._spans[bisect_right(self._starts, index) - 1]

    def spans(self) -> Iterator[tuple[int, int, Verdict]]:
        """Yield from where, up to where, and what."""
        ends = [*self._starts, len(self.line.waiters)][1:]
        return zip(self._starts, ends, self._spans, strict=True)


class Verdicts(Mapping[JobKey, Verdict]):
    """Why each queued job waits that is not placed, first in the queue first.

    Cheap: `of`, `count`, the length, the first few. Dear when the queue is long: the first look-up
    by key, and to go through all.
    """

    def __init__(
        self,
        book: Book,
        now: datetime,
        policy: Policy,
        aside: Collection[JobKey],
        owners: Owners,
    ) -> None:
        self._book, self._now, self._policy, self._aside = book, now, policy, aside
        self._owners = owners
        self._apart: dict[JobKey, Verdict] = {}
        self.standings: dict[LineKey, Standing] = {
            key: Standing(line) for key, line in book.lines.items()
        }
        self.placed: set[JobKey] = set()

    def rank(self, waiter: Waiter) -> Rank:
        """Return the place of a job in the whole queue."""
        return rank(waiter.read().state, self._policy, borrows=self._owners.borrows(waiter))

    def begin(self) -> None:
        """Forget what was said of single jobs."""
        self._apart.clear()

    def judge_alone(self, job: JobKey, verdict: Verdict) -> None:
        """Give a verdict to one job, which says nothing of those behind it."""
        self._apart[job] = verdict

    def skips(self, waiter: Waiter) -> bool:
        """Tell whether a job is passed over: placed, not to be placed yet, or set aside."""
        return waiter.key in self.placed or self._own(waiter) is not None

    def _own(self, waiter: Waiter) -> Verdict | None:
        """Return the verdict that a job has for itself, whatever its line has."""
        if waiter.sleeps(self._now):
            return _ASLEEP
        return _ASIDE if waiter.key in self._aside else self._apart.get(waiter.key)

    def of(self, waiter: Waiter) -> Verdict | None:
        """Return the verdict on a queued job, None if it is placed."""
        if waiter.key in self.placed:
            return None
        standing = self.standings[waiter.line]
        index = bisect_left(standing.line.waiters, waiter.place, key=lambda w: w.place)
        return self._own(waiter) or standing.verdict(index)

    def count(self, why: Waiting) -> int:
        """Return how many jobs wait for this reason; of those given to whole lines."""
        return sum(
            self._counted(standing.line.waiters, start, end)
            for standing in self.standings.values()
            for start, end, verdict in standing.spans()
            if verdict.why is why
        )

    def _counted(self, waiters: Sequence[Waiter], start: int, end: int) -> int:
        odd = self.placed or self._aside or self._apart or self._book.asleep(self._now)
        if not odd:
            return end - start
        return sum(not self.skips(waiter) for waiter in waiters[start:end])

    def groups(self) -> Iterator[tuple[Waiter, int, Verdict | None]]:
        """Yield who waits longest of jobs alike, how many they are, and why; None: placed.

        Those that must not be placed yet, or are set aside, are left out.
        """
        for key in self.placed:
            if (waiter := self._book.find(key)) is not None:
                yield waiter, 1, None
        for key, verdict in self._apart.items():
            if key not in self.placed and (waiter := self._book.find(key)) is not None:
                yield waiter, 1, verdict
        for standing in self.standings.values():
            waiters = standing.line.waiters
            for start, end, verdict in standing.spans():
                if count := self._counted(waiters, start, end):
                    first = next(one for one in waiters[start:end] if not self.skips(one))
                    yield first, count, verdict

    def ordered(self) -> Iterator[tuple[Waiter, Listed]]:
        """Yield every queued job, placed or not, first in line first; reads as far as asked."""
        lines = (self._line(standing.line) for standing in self.standings.values())
        return ((waiter, job) for _, waiter, job in merge(*lines, key=lambda one: one[0]))

    def _line(self, line: Line) -> Iterator[tuple[Rank, Waiter, Listed]]:
        for waiter in line.waiters:
            job = waiter.read()
            borrows = self._owners.borrows(waiter)
            yield rank(job.state, self._policy, borrows=borrows), waiter, job

    def ahead(self, key: JobKey) -> int:
        """Return how many jobs come before a queued one, placed or not. Raises KeyError."""
        waiter = self._book.find(key)
        if waiter is None:
            raise KeyError(key)
        own = self.rank(waiter)
        lines = (standing.line.waiters for standing in self.standings.values())
        return sum(bisect_left(waiters, own, key=self.rank) for waiters in lines)

    def __getitem__(self, key: JobKey) -> Verdict:
        waiter = self._book.find(key)
        verdict = self.of(waiter) if waiter else None
        if verdict is None:
            raise KeyError(key)
        return verdict

    def waiting(self) -> Iterator[tuple[JobKey, Listed, Verdict]]:
        """Yield the jobs that are not placed, first in line first; reads as far as it is asked."""
        for waiter, job in self.ordered():
            verdict = self.of(waiter)
            if verdict is not None:
                yield waiter.key, job, verdict

    def __iter__(self) -> Iterator[JobKey]:
        return (key for key, _, _ in self.waiting())

    def __len__(self) -> int:
        return self._book.waiting - len(self.placed)


_ASLEEP = Verdict(Waiting.NOT_BEFORE)
_ASIDE = Verdict(Waiting.SET_ASIDE)
