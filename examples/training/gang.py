"""The processes of one attempt, acting as one: they begin alike, add up alike and stop alike.

Rank 0 is the hub: it adds up what all contribute to a step, sends the sum back, and decides after
which step everybody stops. Whoever dies takes the gang with it: its connection closes, the hub
tells the others, and no rank waits for one that will not answer. It must not know what the bytes
mean; `train.py` calls it.
"""

import select
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from joining import GOODBYE, POLL, PeerLost, Place, admit, knock
from stopping import Stopped
from wire import Closed, Connection, Frame, Kind, part

Add = Callable[[list[bytes]], bytes]
Asked = Callable[[], bool]

HUB_STOP_GRACE = 0.6  # seconds for the missing parts of a step once a stop is known
MEMBER_STOP_GRACE = 5.0  # seconds for the hub's sum, or its checkpoint, once a stop is known


@dataclass(frozen=True, slots=True)
class Round:
    """The outcome of a step: all parts added up, and whether it is the last before a stop."""

    total: bytes
    stop: bool


class Gang(Protocol):
    """What a training loop needs; both sides raise PeerLost when somebody is missing."""

    def begin(self, state: bytes) -> bytes:
        """Return rank 0's state on every rank, once all have come."""

    def add_up(self, mine: bytes, not_before: float) -> Round:
        """Add up the parts of all ranks; not done before this monotonic time, except to stop."""

    def stopping(self) -> bool:
        """Whether a stop is known here."""

    def leave(self, reason: str = "") -> None:
        """Part from the others, after the work or for the reason given."""


def join(place: Place, add: Add, asked: Asked) -> Gang:
    """Find the others; PeerLost when they do not come, Stopped when asked to stop meanwhile.

    `add` adds up parts in the order of their ranks; `asked` says whether to stop.
    """
    if place.me.rank == 0:
        return Hub(place, admit(place, asked), add, asked)
    return Member(place, knock(place, asked), asked)


class Hub:
    """Rank 0's side, also for a gang of one."""

    def __init__(
        self, place: Place, members: dict[int, Connection], add: Add, asked: Asked
    ) -> None:
        self._place = place
        self._members = members
        self._add = add
        self._asked = asked
        self._told = False

    def begin(self, state: bytes) -> bytes:
        self._send(Kind.STATE, state)
        return state

    def add_up(self, mine: bytes, not_before: float) -> Round:
        parts = {0: mine}
        give_up = time.monotonic() + self._place.peer_timeout
        while not self._done(parts, not_before):
            if self.stopping():
                give_up = min(give_up, time.monotonic() + HUB_STOP_GRACE)
            for rank, frame in self._arrivals(self._pause(parts, not_before, give_up)):
                if frame.kind is Kind.SHARE:
                    parts[rank] = frame.payload
                self._told = self._told or frame.kind is Kind.STOP
        stop = self.stopping()
        total = self._add([parts[rank] for rank in sorted(parts)])
        self._send(Kind.LAST_SUM if stop else Kind.SUM, total)
        return Round(total, stop)

    def stopping(self) -> bool:
        return self._told or self._asked()

    def leave(self, reason: str = "") -> None:
        last_words = Frame(Kind.LOST, reason.encode()) if reason else None
        part(self._members.values(), last_words, GOODBYE)

    def _done(self, parts: dict[int, bytes], not_before: float) -> bool:
        if len(parts) < self._place.me.world_size:
            return False
        return time.monotonic() >= not_before or self.stopping()

    def _pause(self, parts: dict[int, bytes], not_before: float, give_up: float) -> float:
        """How long to listen before the next look; PeerLost when a part is overdue."""
        now = time.monotonic()
        missing = sorted(set(self._members) - set(parts))
        if not missing:
            return min(POLL, max(0.0, not_before - now))
        if now > give_up:
            raise PeerLost(f"{', '.join(f'rank {rank}' for rank in missing)} stopped answering")
        return POLL

    def _arrivals(self, seconds: float) -> Iterator[tuple[int, Frame]]:
        ready = select.select(list(self._members.values()), [], [], seconds)[0]
        for rank, member in self._members.items():
            if member in ready:
                try:
                    member.read()
                except Closed as error:
                    raise PeerLost(f"rank {rank} is gone: {error}") from error
            while (frame := member.next()) is not None:
                yield rank, frame

    def _send(self, kind: Kind, payload: bytes) -> None:
        for rank, member in self._members.items():
            try:
                member.send(kind, payload)
            except Closed as error:
                raise PeerLost(f"rank {rank} is gone: {error}") from error


class Member:
    """Every other rank's side."""

    def __init__(self, place: Place, hub: Connection, asked: Asked) -> None:
        self._place = place
        self._hub = hub
        self._asked = asked
        self._told_hub = False

    def begin(self, state: bytes) -> bytes:
        give_up = time.monotonic() + 2 * self._place.join_timeout
        while (frame := self._listen(give_up)) is None:
            if self._asked():
                raise Stopped
        if frame.kind is Kind.STOP:
            raise Stopped
        return frame.payload

    def add_up(self, mine: bytes, not_before: float) -> Round:
        self._tell()
        self._send(Kind.SHARE, mine)
        give_up = max(time.monotonic(), not_before) + self._place.peer_timeout
        while (frame := self._listen(give_up)) is None:
            if self._tell():
                give_up = min(give_up, time.monotonic() + MEMBER_STOP_GRACE)
        return Round(frame.payload, frame.kind is Kind.LAST_SUM)

    def stopping(self) -> bool:
        return self._asked()

    def leave(self, reason: str = "") -> None:
        """After the work, stay until the hub has saved it: a launcher may end all with the first.

        After trouble leave at once, so that the hub notices.
        """
        part([self._hub], None, 0.0 if reason else MEMBER_STOP_GRACE)

    def _tell(self) -> bool:
        """Pass the wish to stop on to the hub, once; whether there is one."""
        if self._asked() and not self._told_hub:
            self._send(Kind.STOP)
            self._told_hub = True
        return self._told_hub

    def _listen(self, give_up: float) -> Frame | None:
        """The hub's next frame, or None after a short while; PeerLost when it has bad news."""
        try:
            frame = self._hub.wait(POLL)
        except Closed as error:
            raise PeerLost(f"rank 0 is gone: {error}") from error
        if frame is None and time.monotonic() > give_up:
            raise PeerLost("rank 0 stopped answering")
        if frame is not None and frame.kind is Kind.LOST:
            raise PeerLost(frame.text)
        return frame

    def _send(self, kind: Kind, payload: bytes = b"") -> None:
        # A broken connection shows when listening, where the hub's last words can still be read.
        with suppress(Closed):
            self._hub.send(kind, payload)
