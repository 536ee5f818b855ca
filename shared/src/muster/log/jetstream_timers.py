"""Alarms as scheduled messages of the server: set, replaced by the next of the same subject.

A schedule in the past rings within 250 ms. Nothing depends on an alarm: its owner's index fires
too. Called by the adapter of the log.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from muster.contracts.alarms import Alarm
from muster.domain.errors import Permanent
from muster.log.jetstream_wire import Refused, Unanswered, Wire, parsed
from muster.log.jetstream_writing import is_final

RUNG_IS_KEPT = "24h"
"""How long a message that has rung waits for a service that is away."""

ANSWER_S = 2.0
PAUSE_S = 0.1
MAX_PAUSE_S = 1.0


async def set_alarm(wire: Wire, alarm: Alarm, *, patience: float) -> None:
    """Set one alarm. Raises Unanswered when nobody took it in `patience` seconds."""
    loop = asyncio.get_running_loop()
    end, pause = loop.time() + patience, PAUSE_S
    while True:
        try:
            return await _set(wire, alarm)
        except Unanswered:
            if loop.time() + pause >= end:
                raise
        await asyncio.sleep(pause)
        pause = min(2 * pause, MAX_PAUSE_S)


async def _set(wire: Wire, alarm: Alarm) -> None:
    headers = {
        "Nats-Schedule": f"@at {_rfc3339(alarm.rings_at)}",
        "Nats-Schedule-Target": alarm.rings_on,
        "Nats-Schedule-TTL": RUNG_IS_KEPT,
    }
    body = alarm.to_bytes()
    message = await wire.ask(alarm.waits_on, body, headers, timeout=ANSWER_S)
    try:
        parsed(message.data)
    except Refused as refused:
        if is_final(refused):
            raise Permanent(f"{alarm.waits_on}: {refused}") from refused
        raise Unanswered(f"{alarm.waits_on}: {refused}") from refused


def _rfc3339(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
