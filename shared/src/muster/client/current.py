"""What is the case now: the last message of each subject of a stream, and then what follows.

An ordered consumer of the client library: it is made again by itself when the server was away, and
goes on after the last message it saw.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeout
from nats.js.api import ConsumerConfig, DeliverPolicy
from nats.js.client import JetStreamContext
from nats.js.errors import Error as JetStreamError

from muster.contracts import subjects
from muster.contracts.events import Event, JobData, UnreadableEvent, read_event
from muster.domain.errors import Temporary
from muster.domain.state import JobState
from muster.log import EventLog, Recorded, Unreadable

HEARTBEAT_S = 1.0
WAIT_S = 5.0


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job as its last event left it. at: the server's time when that was stored."""

    event: Event
    at: datetime

    @property
    def job(self) -> JobState:
        """The job's state."""
        state = self.event.data.job
        assert isinstance(state, JobState)
        return state


def status_in(message: Msg) -> JobStatus | Unreadable:
    """Read a message of the stream STATUS, a copy of the job's last event."""
    subject, seq = _origin(message)
    try:
        event = read_event(subject, message.data)
    except UnreadableEvent as error:
        return Unreadable(subject, seq, str(error))
    if not isinstance(event.data, JobData):
        return Unreadable(subject, seq, "no event of a job")
    return JobStatus(event, message.metadata.timestamp)


def _origin(message: Msg) -> tuple[str, int]:
    """Return the subject and the sequence that the copied message has in the log."""
    source = (message.headers or {}).get("Nats-Stream-Source", "").split(" ")
    if len(source) > 4 and source[1].isdigit():
        return source[4], int(source[1])
    return message.subject, message.metadata.sequence.stream


async def behind(log: EventLog, unreadable: Unreadable) -> Recorded | None:
    """Return the last readable event of the same job or node; None when it never had one.

    One message that this version cannot read must not make a running job disappear.
    """
    try:
        return await log.last(subjects.parse(unreadable.subject).key)
    except subjects.BadSubject:
        return None


async def newest(connection: Client, stream: str, pattern: str) -> list[Msg]:
    """Return the last message of every subject that matches, the oldest first. Raises Temporary."""
    try:
        async with _ordered(connection, stream, pattern) as subscription:
            return await _until_now(subscription)
    except (NatsError, JetStreamError) as error:
        raise Temporary(f"{stream} cannot be read: {error}") from error


async def _until_now(subscription: JetStreamContext.PushSubscription) -> list[Msg]:
    info = await subscription.consumer_info()
    delivered = info.delivered.consumer_seq if info.delivered else 0
    if not info.num_pending and not delivered:
        return []
    found: list[Msg] = []
    while not found or found[-1].metadata.num_pending:
        found.append(await subscription.next_msg(timeout=WAIT_S))
    return found


async def newest_and_on(connection: Client, stream: str, pattern: str) -> AsyncIterator[Msg]:
    """Yield the last message of every subject that matches, and then each that follows."""
    try:
        async with _ordered(connection, stream, pattern) as subscription:
            while True:
                try:
                    yield await subscription.next_msg(timeout=WAIT_S)
                except NatsTimeout:
                    continue
    except (NatsError, JetStreamError) as error:
        raise Temporary(f"{stream} cannot be followed: {error}") from error


@asynccontextmanager
async def _ordered(
    connection: Client, stream: str, pattern: str
) -> AsyncIterator[JetStreamContext.PushSubscription]:
    subscription = await connection.jetstream().subscribe(
        pattern,
        stream=stream,
        ordered_consumer=True,
        idle_heartbeat=HEARTBEAT_S,
        config=ConsumerConfig(deliver_policy=DeliverPolicy.LAST_PER_SUBJECT),
    )
    try:
        yield subscription
    finally:
        if not connection.is_closed:
            await subscription.unsubscribe()
