"""Following a stream in order: an ephemeral consumer that is replaced whenever it is in doubt.

The consumer numbers what it delivers; a number out of turn, a status that is none of ours, or some
time without any sign of life, and a new one starts after the last message that was handed out. So
the order is the stream's, without gaps or doubles. Called by whoever got it from `follow`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from muster.domain.errors import Permanent, Temporary
from muster.log import Recorded, Unreadable
from muster.log.jetstream_consumer import SILENCE_S, Consumer
from muster.log.jetstream_reading import Reading, interpreted
from muster.log.jetstream_wire import Refused, Unanswered, Wire

SETTLE_S = 0.25
RETRY_S = 0.1
PATIENCE_S = 10.0


class LogWentBack(Permanent):
    """The log ends before a sequence that was read from it: it was restored or made anew."""


class _Behind(Unanswered):
    """The leader's end is before what was read: it was deposed, or the log went back."""


class JetStreamFollower:
    """See the port `Follower`."""

    def __init__(self, wire: Wire, stream: str, filters: Sequence[str], after: int) -> None:
        self._wire, self._stream, self._filters = wire, stream, tuple(filters)
        self._reading = Reading(wire, stream, timeout=SILENCE_S, patience=0)
        self._position = after
        self._consumer: Consumer | None = None
        self._settled_at = float("-inf")
        self._away_since: float | None = None

    @property
    def position(self) -> int:
        """See the port."""
        return self._position

    async def next(self, wait: float = 0.0) -> Sequence[Recorded | Unreadable]:
        """See the port. Raises Temporary when the server has been away for some seconds."""
        loop = asyncio.get_running_loop()
        end = loop.time() + wait
        while True:
            try:
                page = await self._read(max(0.0, end - loop.time()))
                self._away_since = None
            except (Unanswered, Refused) as error:
                page = []
                await self._give_up(error, loop.time())
            if page or loop.time() >= end:
                return page
            if self._away_since is not None:
                await asyncio.sleep(min(RETRY_S, wait))

    async def _read(self, wait: float) -> Sequence[Recorded | Unreadable]:
        consumer = self._consumer or await self._start()
        stored = await consumer.take(wait)
        if stored:
            self._position = stored[-1].seq
        else:
            await self._settle()
        return [interpreted(each) for each in stored]

    async def _start(self) -> Consumer:
        await self._end()
        self._consumer = await Consumer.create(
            self._wire, self._stream, self._filters, self._position + 1
        )
        return self._consumer

    async def _end(self) -> int:
        last, _ = await self._reading.state()
        if last < self._position:
            raise _Behind(f"{self._stream} ends at {last}, but {self._position} was read from it")
        return last

    async def _settle(self) -> None:
        """Nothing came: let the position pass what the leader says is of no interest here."""
        now = asyncio.get_running_loop().time()
        if now - self._settled_at < SETTLE_S:
            return
        self._settled_at = now
        end = await self._end()
        for name in self._filters or (">",):
            if end > self._position:
                found = await self._reading.leader_next(name, self._position + 1)
                end = min(end, found.seq - 1) if found else end
        self._position = max(self._position, end)

    async def _give_up(self, error: Exception, now: float) -> None:
        """Forget the consumer; raise when this has been going on for long."""
        await self.close()
        self._away_since = now if self._away_since is None else self._away_since
        if now - self._away_since < PATIENCE_S:
            return
        if isinstance(error, _Behind):
            raise LogWentBack(str(error)) from error
        raise Temporary(f"{self._stream} cannot be followed: {error}") from error

    async def close(self) -> None:
        """See the port."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await consumer.delete()
