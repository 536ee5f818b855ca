"""How the processes of one attempt find each other.

Rank 0 listens, the others connect and say who they are; they may start in any order and at any
pace within a limit. A stranger, or a straggler of an earlier attempt, is turned away without
disturbing the rest. It must not know what is exchanged afterwards; `gang.py` calls it.
"""

import errno
import os
import select
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

from stopping import Stopped
from wire import Closed, Connection, Frame, Kind, part

POLL = 0.1  # seconds between two looks at the wish to stop, wherever something waits
CONNECT_WITHIN = 1.0  # seconds for one try to connect
ANSWER_WITHIN = 5.0  # seconds for the answer to HELLO
GOODBYE = 0.5  # seconds for the others to take in the last frame
FIRST_DELAY, LONGEST_DELAY = 0.05, 0.5  # seconds between two tries
HELLO = struct.Struct("!III")


class PeerLost(Exception):
    """The gang is not complete, or not any more; the text says who is missing and why."""


@dataclass(frozen=True, slots=True)
class Hello:
    """What a worker says about itself; all but the rank must be the same everywhere."""

    rank: int
    world_size: int
    attempt: int

    def pack(self) -> bytes:
        return HELLO.pack(self.rank, self.world_size, self.attempt)

    @classmethod
    def unpack(cls, payload: bytes) -> "Hello":
        """The reverse of `pack`; struct.error when it is something else."""
        return cls(*HELLO.unpack(payload))


@dataclass(frozen=True, slots=True)
class Place:
    """This process in its gang, and how patient it is (seconds)."""

    me: Hello
    address: str
    port: int
    join_timeout: float
    peer_timeout: float

    @classmethod
    def from_environment(cls, join_timeout: float, peer_timeout: float) -> "Place":
        """As torchrun sets it; alone when nothing is set. ValueError when it makes no sense."""
        env = os.environ
        me = Hello(
            rank=int(env.get("RANK", "0")),
            world_size=int(env.get("WORLD_SIZE", "1")),
            attempt=int(env.get("MUSTER_ATTEMPT", "1")),
        )
        if not 0 <= me.rank < me.world_size:
            raise ValueError(f"RANK={me.rank} is not within WORLD_SIZE={me.world_size}")
        address = env.get("MASTER_ADDR", "127.0.0.1")
        port = int(env.get("MASTER_PORT", "29500"))
        return cls(me, address, port, join_timeout, peer_timeout)


def admit(place: Place, asked: Callable[[], bool]) -> dict[int, Connection]:
    """Rank 0's side: the connection to each other rank, once all have come."""
    door = Door(place)
    try:
        door.admit_all(asked)
    except PeerLost as lost:
        part(door.members.values(), Frame(Kind.LOST, str(lost).encode()), GOODBYE)
        raise
    except Stopped:
        part(door.members.values(), Frame(Kind.STOP), GOODBYE)
        raise
    return door.members


class Door:
    """Where rank 0 listens, and lets in one process for each other rank."""

    def __init__(self, place: Place) -> None:
        self.members: dict[int, Connection] = {}
        self._place = place
        self._newcomers: list[Connection] = []

    def admit_all(self, asked: Callable[[], bool]) -> None:
        """Return when every rank is there; PeerLost when one leaves or the time is over."""
        deadline = time.monotonic() + self._place.join_timeout
        with _listen(self._place, deadline, asked) as listener:
            while missing := self._missing():
                if time.monotonic() > deadline:
                    raise PeerLost(f"{missing} did not come within {self._place.join_timeout:g} s")
                _check(asked)
                self._look(listener)
        for stranger in self._newcomers:
            stranger.close()

    def _missing(self) -> str:
        ranks = set(range(1, self._place.me.world_size)) - set(self.members)
        return ", ".join(f"rank {rank}" for rank in sorted(ranks))

    def _look(self, listener: socket.socket) -> None:
        waiting: list[socket.socket | Connection] = [
            listener,
            *self._newcomers,
            *self.members.values(),
        ]
        ready = select.select(waiting, [], [], POLL)[0]
        for rank, member in self.members.items():
            if member in ready:
                _still_there(rank, member)
        for newcomer in [one for one in self._newcomers if one in ready]:
            self._hear(newcomer)
        if listener in ready:
            self._newcomers.append(Connection(listener.accept()[0], self._place.peer_timeout))

    def _hear(self, newcomer: Connection) -> None:
        """Admit or turn away one connection, once it has said who it is."""
        try:
            newcomer.read()
            frame = newcomer.next()
            if frame is None:
                return
            rank, refusal = self._judge(frame)
            newcomer.send(Kind.REFUSED if refusal else Kind.WELCOME, refusal.encode())
        except Closed:
            rank, refusal = 0, "gone already"
        self._newcomers.remove(newcomer)
        if refusal:
            newcomer.close()
        else:
            self.members[rank] = newcomer

    def _judge(self, frame: Frame) -> tuple[int, str]:
        """The rank of a newcomer, and why it is refused (empty: it is not)."""
        try:
            hello = Hello.unpack(frame.payload)
        except struct.error:
            return 0, "this is not a worker's hello"
        me = self._place.me
        if hello.attempt != me.attempt:
            return 0, f"this is attempt {me.attempt}, not {hello.attempt}"
        if hello.world_size != me.world_size:
            return 0, f"this gang has {me.world_size} ranks, not {hello.world_size}"
        if hello.rank in self.members or not 0 < hello.rank < me.world_size:
            return 0, f"rank {hello.rank} is taken"
        return hello.rank, ""


def knock(place: Place, asked: Callable[[], bool]) -> Connection:
    """A worker's side: connect to rank 0, again and again until it lets us in or time is over."""
    deadline = time.monotonic() + place.join_timeout
    delay = FIRST_DELAY
    while True:
        try:
            return _introduce(place)
        except (OSError, Closed) as error:
            if time.monotonic() + delay > deadline:
                where = f"rank 0 at {place.address}:{place.port}"
                text = f"{where} did not let us in within {place.join_timeout:g} s: {error}"
                raise PeerLost(text) from error
        _check(asked)
        time.sleep(delay)  # noqa: TID251 - a process of its own, no event loop behind it
        delay = min(2 * delay, LONGEST_DELAY)


def _introduce(place: Place) -> Connection:
    """One try: connect, say who we are, hear WELCOME; OSError or Closed otherwise."""
    sock = socket.create_connection((place.address, place.port), timeout=CONNECT_WITHIN)
    connection = Connection(sock, place.peer_timeout)
    try:
        if sock.getsockname() == sock.getpeername():
            # Nobody listens, and the system chose the very port that we try to reach.
            raise Closed("connected to itself")
        connection.send(Kind.HELLO, place.me.pack())
        frame = connection.wait(ANSWER_WITHIN)
        if frame is None or frame.kind is not Kind.WELCOME:
            raise Closed(frame.text if frame else "no answer")
    except (OSError, Closed):
        connection.close()
        raise
    return connection


def _listen(place: Place, deadline: float, asked: Callable[[], bool]) -> socket.socket:
    """Listen on MASTER_PORT; the rank 0 of the attempt before may hold it for a moment."""
    while True:
        try:
            return _bind(place)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                where = f"{place.address}:{place.port}"
                raise PeerLost(f"rank 0 cannot listen on {where}: {error}") from error
        _check(asked)
        time.sleep(POLL)  # noqa: TID251 - as above


def _bind(place: Place) -> socket.socket:
    """On MASTER_ADDR when it is an address of this machine, otherwise on every interface."""
    try:
        family, *_, address = socket.getaddrinfo(
            place.address, place.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        if not isinstance(error, socket.gaierror) and error.errno != errno.EADDRNOTAVAIL:
            raise
    return socket.create_server(("", place.port))


def _still_there(rank: int, member: Connection) -> None:
    try:
        member.read()
    except Closed as error:
        raise PeerLost(f"rank {rank} is gone: {error}") from error


def _check(asked: Callable[[], bool]) -> None:
    if asked():
        raise Stopped
