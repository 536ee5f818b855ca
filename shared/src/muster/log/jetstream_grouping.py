"""Group commit: appends that would wait for the server anyway go to it together.

Where every write is synced to disk, a batch costs one sync like a single event; and a batch costs
the server some ten milliseconds whatever its size, so small batches go together too. A lone append
is not held up; what comes while others are under way forms the next batch. A batch that is refused
is resolved one by one, so nothing about a single append changes. Called by the adapter of the log.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from muster.contracts.events import Event
from muster.log import Append, Basis, UnknownOutcome
from muster.log.jetstream_batch import append_batch
from muster.log.jetstream_wire import Wire
from muster.log.jetstream_writing import Writing

LANES = 2
"""Requests under way at a time: one is being synced while the next one is on its way."""

MAX_GROUP = 128
"""Messages; what is longer by itself goes by itself."""
BATCH_S = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """One caller's appends, all or nothing. seq: of the first of them. alone: it is one event."""

    appends: Sequence[Append]
    seq: asyncio.Future[int]
    alone: bool

    @property
    def conditions(self) -> set[str]:
        return {append.basis.key.condition for append in self.appends if append.basis}


class Grouping:
    """One for all tasks that append over a connection."""

    def __init__(self, wire: Wire, alone: Writing) -> None:
        self._wire, self._alone = wire, alone
        self._queue: deque[_Waiting] = deque()
        self._under_way = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def append(self, event: Event, basis: Basis) -> int:
        """As `Writing.append`."""
        return await self._take_turn([Append(event, basis)], alone=True)

    async def append_all(self, appends: Sequence[Append]) -> int:
        """As `append_batch`, for what belongs to no fence."""
        if len(appends) > MAX_GROUP:
            return await append_batch(self._wire, appends, timeout=BATCH_S)
        return await self._take_turn(appends, alone=False)

    async def _take_turn(self, appends: Sequence[Append], *, alone: bool) -> int:
        waiting = _Waiting(appends, asyncio.get_running_loop().create_future(), alone)
        if self._under_way < LANES and not self._queue:
            self._under_way += 1
            try:
                return await self._write(waiting)
            finally:
                self._freed()
        self._queue.append(waiting)
        return await waiting.seq

    async def _write(self, waiting: _Waiting) -> int:
        if waiting.alone:
            (append,) = waiting.appends
            assert append.basis is not None
            return await self._alone.append(append.event, append.basis)
        return await append_batch(self._wire, waiting.appends, timeout=BATCH_S)

    def _freed(self) -> None:
        self._under_way -= 1
        while self._queue and self._under_way < LANES:
            self._under_way += 1
            task = asyncio.create_task(self._send(self._next_group()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _next_group(self) -> list[_Waiting]:
        """Take what waits, in order, up to a second write of the same key."""
        group: list[_Waiting] = []
        conditions: set[str] = set()
        size = 0
        while self._queue:
            found = self._queue[0]
            size += len(found.appends)
            if group and (size > MAX_GROUP or conditions & found.conditions):
                break
            conditions |= found.conditions
            group.append(self._queue.popleft())
        return group

    async def _send(self, group: list[_Waiting]) -> None:
        wanted = [each for each in group if not each.seq.done()]
        (first,) = await asyncio.gather(self._together(wanted), return_exceptions=True)
        self._freed()
        if isinstance(first, int):
            for each in wanted:
                if not each.seq.done():
                    each.seq.set_result(first)
                first += len(each.appends)
        else:
            await asyncio.gather(*(self._by_itself(each, first) for each in wanted))

    async def _together(self, group: list[_Waiting]) -> int | None:
        """Return the first sequence of a group that was written whole; whatever else it comes to,
        each has to see for itself."""
        if len(group) < 2:
            return None
        appends = [append for each in group for append in each.appends]
        return await append_batch(self._wire, appends, timeout=BATCH_S)

    async def _by_itself(self, waiting: _Waiting, group: BaseException | None) -> None:
        """Hand on what comes of one caller's appends, whatever it is.

        One event is found again if it was written with the group of which nobody knows. A batch is
        never sent a second time after that: its author must read.
        """
        if isinstance(group, UnknownOutcome) and not waiting.alone:
            outcome: int | BaseException = group
        else:
            (outcome,) = await asyncio.gather(self._write(waiting), return_exceptions=True)
        if waiting.seq.done():
            return
        if isinstance(outcome, BaseException):
            waiting.seq.set_exception(outcome)
        else:
            waiting.seq.set_result(outcome)
