"""The log on NATS JetStream: the adapter of the port that production, demo and tests run.

Puts together what its neighbours do: `jetstream_reading`, `_writing`, `_batch`, `_follower`. The
connection belongs to the caller; streams are made by `muster.bus.provision`, never here.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from nats.aio.client import Client

from muster.contracts.alarms import Alarm
from muster.contracts.events import Event
from muster.contracts.subjects import Key
from muster.domain.errors import Permanent, Temporary
from muster.log import Append, Basis, Follower, Recorded, Unreadable
from muster.log.jetstream_batch import append_batch
from muster.log.jetstream_clock import EstimatedClock
from muster.log.jetstream_follower import JetStreamFollower
from muster.log.jetstream_grouping import Grouping
from muster.log.jetstream_reading import Reading, Stored, interpreted
from muster.log.jetstream_timers import set_alarm
from muster.log.jetstream_wire import Wire
from muster.log.jetstream_writing import Writing

STREAM = "EVENTS"
ANSWER_S = 2.0
BATCH_S = 5.0
PATIENCE_S = 20.0
"""Seconds of trying before an outcome is called unknown: an election takes some seconds."""


class JetStreamLog:
    """See the port `EventLog`. Any number of tasks may use one at the same time.

    group_commit: send what waits together; for servers that sync every write.
    """

    def __init__(
        self,
        connection: Client,
        *,
        stream: str = STREAM,
        answer_s: float = ANSWER_S,
        patience_s: float = PATIENCE_S,
        group_commit: bool = False,
    ) -> None:
        self._stream, self._patience = stream, patience_s
        self._wire = Wire(connection)
        self._reading = Reading(self._wire, stream, timeout=answer_s, patience=patience_s)
        alone = Writing(self._wire, self._reading, timeout=answer_s, patience=patience_s)
        self._grouping = Grouping(self._wire, alone) if group_commit else None
        self._writing = self._grouping or alone
        self._clock = EstimatedClock(self.now)

    async def last(self, key: Key, at_least: int = 0, *, leader: bool = False) -> Recorded | None:
        """See the port."""
        newest = None if leader else await self._reading.last(key.condition)
        if newest is None or newest.seq < at_least:
            newest = await self._leader_last(key, at_least)
        if newest is None:
            return None
        read = interpreted(newest)
        return read if isinstance(read, Recorded) else await self._newest_readable(key)

    async def _leader_last(self, key: Key, at_least: int) -> Stored | None:
        newest = await self._reading.leader_last(key.condition)
        if (newest.seq if newest else 0) < at_least:
            # Nothing may be concluded from it: whoever calls itself the leader has been deposed.
            raise Temporary(f"the log has not reached {at_least} of {key.condition}", delay=0.5)
        return newest

    async def _newest_readable(self, key: Key) -> Recorded | None:
        """Look behind an unreadable message; the head stays what conditions must name."""
        everything = await self._reading.history(key)
        for item in reversed(everything):
            if isinstance(item, Recorded):
                return Recorded(item.event, item.seq, item.at, everything[-1].seq)
        return None

    async def append(self, event: Event, based_on: Basis) -> Recorded:
        """See the port. `at` is the server's time as this client knows it, within milliseconds."""
        seq = await self._writing.append(event, based_on)
        return Recorded(event, seq, await self._clock.now(), seq)

    async def append_all(
        self, appends: Sequence[Append], fence: Append | None = None
    ) -> Sequence[Recorded]:
        """See the port; `at` as for `append`."""
        everything = [*([fence] if fence else []), *appends]
        if not everything:
            return []
        if fence is None and self._grouping is not None:
            first = await self._grouping.append_all(everything)
        else:
            first = await append_batch(self._wire, everything, timeout=BATCH_S)
        at = await self._clock.now()
        written = [
            Recorded(append.event, seq, at, seq) for seq, append in enumerate(everything, first)
        ]
        return written[1:] if fence else written

    async def history(self, key: Key) -> Sequence[Recorded | Unreadable]:
        """See the port."""
        return await self._reading.history(key)

    async def follow(self, filters: Sequence[str], after: int = 0) -> Follower:
        """See the port. No filters: everything."""
        return JetStreamFollower(self._wire, self._stream, filters, after)

    async def end(self) -> int:
        """See the port."""
        return (await self._reading.state())[0]

    async def trim(self, key: Key, before: int) -> None:
        """See the port. Refuses to leave nothing, since an empty key would take a first write."""
        newest = await self._reading.leader_last(key.condition)
        if newest is None or newest.seq < before:
            raise Permanent(f"{before} is beyond the last event of {key.condition}")
        await self._reading.purge(key.condition, before)

    async def timer(self, alarm: Alarm) -> None:
        """See the port."""
        await set_alarm(self._wire, alarm, patience=self._patience)

    async def now(self) -> datetime:
        """See the port."""
        return (await self._reading.state())[1].astimezone(UTC)

    async def close(self) -> None:
        """Give up the subscription for answers; the connection stays open."""
        await self._wire.close()
