"""The last event of a job, kept so that nothing is lost and little room is taken.

Of a long queue most events are kept packed and parsed again when somebody asks: for a decision, a
batch, a checkpoint or an explanation. The `Shelf` keeps the ones that were asked for last at hand.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from datetime import datetime
from typing import NamedTuple

from muster.contracts.events import read_event
from muster.log import Recorded
from muster.scheduler.core.jobs import JobKey, LineKey, Listed, Waiter

AT_HAND = 2048
"""So many queued jobs are kept as they are; a queue that is no longer costs no packing."""

_ENOUGH = 3
"""Level of compression: the field names that all share go, little else is worth the time."""


class Written(NamedTuple):
    """An event as text, with where it stands in the log."""

    seq: int
    head: int
    at: str
    subject: str
    body: str


def written(recorded: Recorded) -> Written:
    """Return an event as text."""
    event = recorded.event
    body = event.to_bytes().decode()
    return Written(recorded.seq, recorded.head, recorded.at.isoformat(), event.subject, body)


class Kept(Waiter):
    """See the module. Waiter is what the queue needs of it."""

    __slots__ = ("_packed", "_recorded", "_shelf")

    def __init__(self, recorded: Recorded, stay: int, line: LineKey, shelf: Shelf) -> None:
        super().__init__(recorded.job, recorded.head, stay, line)
        self._shelf = shelf
        self._packed = b""
        self._recorded: Recorded | None = recorded

    @property
    def waits(self) -> bool:
        """Tell whether the job is queued."""
        return self.line is not None

    @property
    def recorded(self) -> Recorded:
        """Return the event."""
        found = self._recorded
        if found is None:
            found = self._recorded = self._shelf.unpack(self._packed, self.seq)
            self._shelf.put(self)
        return found

    def read(self) -> Listed:
        """See Waiter."""
        return Listed(self.recorded.job, self.seq, self.stay)

    def written(self) -> Written:
        """Return the event as text, without parsing it."""
        if self._recorded is not None:
            return written(self._recorded)
        return self._shelf.text(self._packed, self.seq)

    def pack(self) -> None:
        """Take as little room as can be."""
        if self._recorded is not None:
            self._packed = self._packed or self._shelf.pack(self._recorded)
            self._recorded = None


class Shelf:
    """The queued jobs of a pool that are at hand, the newest last."""

    def __init__(self) -> None:
        self._at_hand: OrderedDict[JobKey, Kept] = OrderedDict()
        self._common = b""

    def put(self, kept: Kept) -> None:
        """Note that a job is at hand."""
        self._at_hand[kept.key] = kept
        self._at_hand.move_to_end(kept.key)
        if len(self._at_hand) > 2 * AT_HAND:
            self.tidy()

    def drop(self, kept: Kept) -> None:
        """Forget a job that is no longer queued."""
        if self._at_hand.get(kept.key) is kept:
            del self._at_hand[kept.key]

    def tidy(self) -> None:
        """Pack what was not asked for lately."""
        while len(self._at_hand) > AT_HAND:
            self._at_hand.popitem(last=False)[1].pack()

    def pack(self, recorded: Recorded) -> bytes:
        """Return an event as bytes that only this shelf can read."""
        one = written(recorded)
        text = f"{one.seq} {one.at} {one.subject}\n{one.body}".encode()
        self._common = self._common or text
        packer = zlib.compressobj(_ENOUGH, wbits=-15, zdict=self._common)
        return packer.compress(text) + packer.flush()

    def unpack(self, packed: bytes, head: int) -> Recorded:
        """Return the event again."""
        one = self.text(packed, head)
        event = read_event(one.subject, one.body.encode())
        return Recorded(event, one.seq, datetime.fromisoformat(one.at), head)

    def text(self, packed: bytes, head: int) -> Written:
        """Return the event as text."""
        text = zlib.decompressobj(wbits=-15, zdict=self._common).decompress(packed)
        first, _, body = text.decode().partition("\n")
        seq, at, subject = first.split(" ")
        return Written(int(seq), head, at, subject, body)
