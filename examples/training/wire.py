"""Frames over a TCP connection: one byte of kind, four of length, then the payload.

It must not know who talks to whom or why; `gang.py` calls it. The end of a connection is always
the exception `Closed`, whatever the system calls it, so that nobody waits for the dead.
"""

import select
import socket
import struct
import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum

HEADER = struct.Struct("!BI")
LARGEST_PAYLOAD = 1 << 26  # bytes; more than this is not one of us, and is not stored
CHUNK = 1 << 18


class Kind(IntEnum):
    """What a frame says."""

    HELLO = 1  # worker to hub: who I am
    WELCOME = 2  # hub to worker: you are one of us
    REFUSED = 3  # hub to worker: you are not, and why
    STATE = 4  # hub to worker: begin from here
    SHARE = 5  # worker to hub: my part of this step
    SUM = 6  # hub to worker: all parts together, go on
    LAST_SUM = 7  # hub to worker: all parts together, and stop after this step
    STOP = 8  # worker to hub: I was asked to stop
    LOST = 9  # hub to worker: the gang is broken, and why


class Closed(Exception):
    """The other side is gone, or does not speak this protocol."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message."""

    kind: Kind
    payload: bytes = b""

    @property
    def text(self) -> str:
        return self.payload.decode(errors="replace")


class Connection:
    """One side of a connection, and the frames that have arrived on it."""

    def __init__(self, sock: socket.socket, patience: float) -> None:
        """`patience`: seconds that a send may take before the other side counts as gone."""
        sock.settimeout(patience)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = sock
        self._buffer = bytearray()
        self._frames: deque[Frame] = deque()

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, kind: Kind, payload: bytes = b"") -> None:
        try:
            self._socket.sendall(HEADER.pack(kind, len(payload)) + payload)
        except OSError as error:
            raise Closed(str(error)) from error

    def read(self) -> None:
        """Take in what has arrived; blocks unless select() named this connection."""
        try:
            chunk = self._socket.recv(CHUNK)
        except OSError as error:
            raise Closed(str(error)) from error
        if not chunk:
            raise Closed("connection closed")
        self._buffer += chunk
        while (frame := self._cut()) is not None:
            self._frames.append(frame)

    def next(self) -> Frame | None:
        """The oldest frame not yet taken."""
        return self._frames.popleft() if self._frames else None

    def wait(self, seconds: float) -> Frame | None:
        """The next frame, or None when none is complete after about this time."""
        if not self._frames and select.select([self], [], [], seconds)[0]:
            self.read()
        return self.next()

    def end(self, last_words: Frame | None) -> None:
        """Send no more after this; what the other side sends can still be read."""
        with suppress(Closed, OSError):
            if last_words is not None:
                self.send(last_words.kind, last_words.payload)
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._socket.close()

    def _cut(self) -> Frame | None:
        """The first complete frame of the buffer."""
        if len(self._buffer) < HEADER.size:
            return None
        kind, length = HEADER.unpack_from(self._buffer)
        if length > LARGEST_PAYLOAD or kind not in Kind._value2member_map_:
            raise Closed("the other side does not speak this protocol")
        end = HEADER.size + length
        if len(self._buffer) < end:
            return None
        payload = bytes(self._buffer[HEADER.size : end])
        del self._buffer[:end]
        return Frame(Kind(kind), payload)


def part(connections: Iterable[Connection], last_words: Frame | None, seconds: float) -> None:
    """Say the last words, wait at most this long until the others have left as well, then close.

    Closing with unread bytes would reset the connection, and the last words could be lost.
    """
    open_ones = set(connections)
    for connection in open_ones:
        connection.end(last_words)
    deadline = time.monotonic() + seconds
    while open_ones and (left := deadline - time.monotonic()) > 0:
        for connection in select.select(list(open_ones), [], [], left)[0]:
            try:
                connection.read()
            except Closed:
                open_ones.discard(connection)
                connection.close()
    for connection in open_ones:
        connection.close()
