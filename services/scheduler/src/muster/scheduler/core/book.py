"""The jobs of a pool, in the order in which rounds ask for them: kept from event to event.

`Register` changes; `Book` is what one round sees of it and never changes. A book costs as much as
there are lines and holders: what it shares with the register is copied when the register goes on.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import chain

from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.domain.tenants import TenantView
from muster.scheduler.core.jobs import (
    JobKey,
    LineKey,
    Listed,
    Place,
    Read,
    Waiter,
    line_of,
)


class Order:
    """Jobs in order. It can be given away: it is copied before it changes the next time."""

    __slots__ = ("_given", "_items", "_key")

    def __init__(self, key: Callable[[Waiter], Place]) -> None:
        self._key = key
        self._items: list[Waiter] = []
        self._given = False

    def __len__(self) -> int:
        return len(self._items)

    def _own(self) -> list[Waiter]:
        if self._given:
            self._items, self._given = self._items.copy(), False
        return self._items

    def add(self, waiter: Waiter) -> None:
        """Put a job at its place."""
        insort(self._own(), waiter, key=self._key)

    def remove(self, waiter: Waiter) -> None:
        """Take a job out that is in."""
        items = self._own()
        del items[bisect_left(items, self._key(waiter), key=self._key)]

    def give(self) -> Sequence[Waiter]:
        """Return them as they are now."""
        self._given = True
        return self._items


def _place(waiter: Waiter) -> Place:
    return waiter.place


def _due(waiter: Waiter) -> Place:
    return waiter.due or waiter.since, *waiter.key


def _wakes(waiter: Waiter) -> Place:
    return waiter.not_before or waiter.since, *waiter.key


@dataclass(frozen=True, slots=True)
class Line:
    """Queued jobs that are equal but for their place, first in line first."""

    key: LineKey
    waiters: Sequence[Waiter]


class Book:
    """The jobs of a pool at one instant. dues, sleepers: in the order of their instants."""

    def __init__(
        self,
        lines: Mapping[LineKey, Line],
        holding: Mapping[JobKey, Listed],
        dues: Sequence[Waiter],
        sleepers: Sequence[Waiter],
    ) -> None:
        self.lines, self.holding = lines, holding
        self._dues, self._sleepers = dues, sleepers

    @classmethod
    def of(cls, jobs: Iterable[Listed], tenants: Mapping[str, TenantView]) -> Book:
        """Make a book of jobs that are at hand."""
        register = Register()
        for job in jobs:
            if job.state.phase is Phase.QUEUED:
                register.enqueue(Read(job, line_of(job.state, tenants.get(job.state.tenant))))
            if job.state.held:
                register.hold(job)
        return register.book()

    @cached_property
    def waiting(self) -> int:
        """Return how many jobs are queued."""
        return sum(len(line.waiters) for line in self.lines.values())

    @cached_property
    def _by_key(self) -> dict[JobKey, Waiter]:
        return {waiter.key: waiter for waiter in self.waiters()}

    def waiters(self) -> Iterator[Waiter]:
        """Yield the queued jobs, line by line."""
        return chain.from_iterable(line.waiters for line in self.lines.values())

    def heads(self) -> Iterator[tuple[JobState, int]]:
        """Yield the first of each line, with how many are in it."""
        lines = self.lines.values()
        return ((line.waiters[0].read().state, len(line.waiters)) for line in lines)

    def find(self, key: JobKey) -> Waiter | None:
        """Return a queued job. The first time is as much work as the queue is long."""
        return self._by_key.get(key)

    def without(self, key: JobKey) -> Book:
        """Return the book without a job."""
        waiter = self.find(key)
        holding = {one: job for one, job in self.holding.items() if one != key}
        if waiter is None:
            return Book(self.lines, holding, self._dues, self._sleepers)
        lines = dict(self.lines)
        left = [one for one in lines.pop(waiter.line).waiters if one.key != key]
        if left:
            lines[waiter.line] = Line(waiter.line, left)
        dues = [one for one in self._dues if one.key != key]
        return Book(lines, holding, dues, [one for one in self._sleepers if one.key != key])

    def plus(self, job: Listed, tenant: TenantView | None) -> Book:
        """Return the book with a queued job more."""
        waiter = Read(job, line_of(job.state, tenant))
        known = self.lines.get(waiter.line)
        waiters = [*known.waiters] if known else []
        insort(waiters, waiter, key=_place)
        dues, sleepers = [*self._dues], [*self._sleepers]
        if waiter.due is not None:
            insort(dues, waiter, key=_due)
        if waiter.not_before is not None:
            insort(sleepers, waiter, key=_wakes)
        lines = {**self.lines, waiter.line: Line(waiter.line, waiters)}
        return Book(lines, self.holding, dues, sleepers)

    def narrowed(self, keys: Collection[JobKey]) -> Book:
        """Return the book with only these of its queued jobs, and all that hold something."""
        kept = (
            (line.key, [w for w in line.waiters if w.key in keys]) for line in self.lines.values()
        )
        return Book(
            {key: Line(key, waiters) for key, waiters in kept if waiters},
            self.holding,
            [waiter for waiter in self._dues if waiter.key in keys],
            [waiter for waiter in self._sleepers if waiter.key in keys],
        )

    def __iter__(self) -> Iterator[Listed]:
        """Yield every job, those that hold something first: reads the whole queue."""
        queued = (waiter.read() for waiter in self.waiters() if waiter.key not in self.holding)
        return chain(self.holding.values(), queued)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Book):
            return NotImplemented
        return sorted(self, key=lambda j: j.key) == sorted(other, key=lambda j: j.key)

    __hash__ = None  # type: ignore[assignment]

    def overdue(self, now: datetime) -> Sequence[Waiter]:
        """Return the jobs whose queue deadline is over."""
        upto = bisect_right(self._dues, now, key=lambda waiter: waiter.due or now)
        return self._dues[:upto]

    def asleep(self, now: datetime) -> int:
        """Return how many jobs must not be placed yet."""
        return len(self._sleepers) - self._awake(now)

    def _awake(self, now: datetime) -> int:
        return bisect_right(self._sleepers, now, key=lambda waiter: waiter.not_before or now)

    def next_instant(self, now: datetime) -> datetime | None:
        """Return the first instant after now that a queued job waits for."""
        due = bisect_right(self._dues, now, key=lambda waiter: waiter.due or now)
        wakes = self._awake(now)
        instants = [waiter.due for waiter in self._dues[due : due + 1]]
        instants += [waiter.not_before for waiter in self._sleepers[wakes : wakes + 1]]
        return min((at for at in instants if at), default=None)


class Register:
    """The jobs of a pool as they come and go."""

    def __init__(self) -> None:
        self._lines: dict[LineKey, Order] = {}
        self._keys: dict[LineKey, LineKey] = {}
        self._holding: dict[JobKey, Listed] = {}
        self._given = False
        self._dues = Order(_due)
        self._sleepers = Order(_wakes)

    def known(self, line: LineKey) -> LineKey:
        """Return an equal key that is in use: equal jobs share one."""
        return self._keys.get(line, line)

    def enqueue(self, waiter: Waiter) -> None:
        """Enter a queued job."""
        line = self._lines.get(waiter.line)
        if line is None:
            line = self._lines[waiter.line] = Order(_place)
            self._keys[waiter.line] = waiter.line
        line.add(waiter)
        if waiter.due is not None:
            self._dues.add(waiter)
        if waiter.not_before is not None:
            self._sleepers.add(waiter)

    def dequeue(self, waiter: Waiter) -> None:
        """Take a queued job out."""
        line = self._lines[waiter.line]
        line.remove(waiter)
        if not len(line):
            del self._lines[waiter.line], self._keys[waiter.line]
        if waiter.due is not None:
            self._dues.remove(waiter)
        if waiter.not_before is not None:
            self._sleepers.remove(waiter)

    def hold(self, job: Listed) -> None:
        """Enter a job that holds something, or what it has become."""
        self._own()[job.key] = job

    def let_go(self, key: JobKey) -> None:
        """Take a job out that holds nothing any more."""
        if key in self._holding:
            del self._own()[key]

    def _own(self) -> dict[JobKey, Listed]:
        if self._given:
            self._holding, self._given = self._holding.copy(), False
        return self._holding

    def holds(self, key: JobKey) -> bool:
        """Tell whether a job holds something."""
        return key in self._holding

    def holding(self) -> Iterable[Listed]:
        """Return the jobs that hold something."""
        return self._holding.values()

    def book(self) -> Book:
        """Return how things stand. As long as nobody else holds anything, `holding` is the same."""
        self._given = True
        lines = {key: Line(key, order.give()) for key, order in self._lines.items()}
        return Book(lines, self._holding, self._dues.give(), self._sleepers.give())
