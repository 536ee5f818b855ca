"""Group commit: appends that would wait for the server anyway go to it together.

Where every write is synced to disk, a batch costs one sync like a single event. A lone append is
not held up; what comes while others are under way forms the next batch. A batch that is refused, or
of which nobody knows, is resolved one by one, so nothing about a single append changes. Called by
the adapter of the log.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from muster.contracts.events import Event
from muster.log import Append, Basis
from muster.log.jetstream_batch import append_batch
from muster.log.jetstream_wire import Wire
from muster.log.jetstream_writing import Writing

LANES = 2
"""Requests under way at a time: one is being synced while the next one is on its way."""

MAX_GROUP = 128
BATCH_S = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    event: Event
    basis: Basis
    seq: asyncio.Future[int]


class Grouping:
    """One for all tasks that append over a connection."""

    def __init__(self, wire: Wire, alone: Writing) -> None:
        self._wire, self._alone = wire, alone
        self._queue: deque[_Waiting] = deque()
        self._under_way = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def append(self, event: Event, basis: Basis) -> int:
        """As `Writing.append`."""
        if self._under_way < LANES and not self._queue:
            self._under_way += 1
            try:
                return await self._alone.append(event, basis)
            finally:
                self._freed()
        waiting = _Waiting(event, basis, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        return await waiting.seq

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
        while self._queue and len(group) < MAX_GROUP:
            condition = self._queue[0].basis.key.condition
            if condition in conditions:
                break
            conditions.add(condition)
            group.append(self._queue.popleft())
        return group

    async def _send(self, group: list[_Waiting]) -> None:
        wanted = [each for each in group if not each.seq.done()]
        (first,) = await asyncio.gather(self._together(wanted), return_exceptions=True)
        self._freed()
        if isinstance(first, int):
            for seq, each in enumerate(wanted, first):
                if not each.seq.done():
                    each.seq.set_result(seq)
        else:
            await asyncio.gather(*(self._by_itself(each) for each in wanted))

    async def _together(self, group: list[_Waiting]) -> int | None:
        """Return the first sequence of a group that was written whole; whatever else it comes to,
        each has to see for itself."""
        if len(group) < 2:
            return None
        appends = [Append(each.event, each.basis) for each in group]
        return await append_batch(self._wire, appends, timeout=BATCH_S)

    async def _by_itself(self, waiting: _Waiting) -> None:
        """Hand on what comes of a single append, whatever it is."""
        alone = self._alone.append(waiting.event, waiting.basis)
        (outcome,) = await asyncio.gather(alone, return_exceptions=True)
        if waiting.seq.done():
            return
        if isinstance(outcome, BaseException):
            waiting.seq.set_exception(outcome)
        else:
            waiting.seq.set_result(outcome)
