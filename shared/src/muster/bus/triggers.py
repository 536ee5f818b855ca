"""From a message as it arrived to the trigger that a handler gets, for originals and for replays.

Called by the bus for each delivery. Knows which streams carry events and which alarms.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from nats.aio.msg import Msg
from pydantic import ValidationError

from muster.bus import Trigger
from muster.bus.parking import ParkedMessage
from muster.bus.topology import Stream
from muster.contracts.alarms import Alarm
from muster.contracts.conditions import require_condition
from muster.contracts.events import first_error, read_event
from muster.domain.errors import Permanent


class UnreadableAlarm(Permanent):
    """The message is not an alarm that this version understands."""


class UnreadableReplay(Permanent):
    """The message on a subject for replays is no parked message."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a message first stood, and where this copy of it stands.

    copy: names this copy for ever; a message that is replayed and parked again is another copy.
    """

    stream: str
    subject: str
    seq: int
    at: datetime
    delivered: int
    body: bytes
    headers: tuple[tuple[str, str], ...]
    copy: str


def original(stream: str, message: Msg) -> Origin:
    """Describe a message that came from its own stream."""
    known = message.metadata
    return Origin(
        stream,
        message.subject,
        known.sequence.stream,
        known.timestamp,
        known.num_delivered,
        message.data,
        tuple(message.headers.items()) if message.headers else (),
        str(known.sequence.stream),
    )


def replayed(message: Msg) -> Origin:
    """Describe the original of a replayed message. Raises UnreadableReplay."""
    try:
        parked = ParkedMessage.model_validate_json(message.data)
    except ValidationError as error:
        raise UnreadableReplay(f"{message.subject}: {first_error(error)}") from error
    known = message.metadata
    return Origin(
        parked.stream,
        parked.subject,
        parked.seq,
        parked.at,
        known.num_delivered,
        parked.body,
        parked.headers,
        f"{parked.seq}-replay-{known.sequence.stream}",
    )


def trigger_of(origin: Origin) -> Trigger:
    """Return the trigger. Raises UnreadableEvent, UnreadableAlarm."""
    event = alarm = None
    if origin.stream == Stream.EVENTS:
        event = read_event(origin.subject, origin.body)
        require_condition(origin.subject, dict(origin.headers))
    elif origin.stream == Stream.TIMERS:
        alarm = _alarm(origin)
    return Trigger(
        origin.subject,
        origin.seq,
        origin.at,
        origin.delivered,
        origin.body,
        event,
        alarm,
        origin.headers,
    )


def _alarm(origin: Origin) -> Alarm:
    try:
        alarm = Alarm.model_validate_json(origin.body)
    except ValidationError as error:
        raise UnreadableAlarm(f"{origin.subject}: {first_error(error)}") from error
    if alarm.rings_on != origin.subject:
        raise UnreadableAlarm(f"an alarm for {alarm.rings_on} rang on {origin.subject}")
    return alarm


def traceparent_of(trigger: Trigger) -> str | None:
    """Return the trace that the message belongs to."""
    if trigger.event is not None:
        return trigger.event.traceparent
    return next((value for name, value in trigger.headers if name == "traceparent"), None)
