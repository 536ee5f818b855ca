"""The headers of an event's message, built in one piece.

The client library cleans each value of each header by itself, which takes longer than all the rest
of sending it. Here the lines are put together at once and checked at once, and go out as they are.
"""

from __future__ import annotations

from typing import Any

from muster.contracts.conditions import BATCH_SEQUENCE, EXPECTED, EXPECTED_FILTER
from muster.contracts.envelope import CONTENT_TYPE
from muster.contracts.events import Event
from muster.domain.errors import Permanent
from muster.log import Basis

MSG_ID = "Nats-Msg-Id"
BATCH_ID = "Nats-Batch-Id"
BATCH_COMMIT = "Nats-Batch-Commit"


class _Lines(str):
    """A value that holds further header lines. Only `_block` makes one, from clean values."""

    __slots__ = ()

    def strip(self, chars: str | None = None, /) -> str:
        return self

    def translate(self, table: Any, /) -> str:
        return self


def headers_of(
    event: Event, basis: Basis | None, batch: tuple[str, int, bool] | None = None
) -> dict[str, str]:
    """Return the headers: identity, type, trace, the condition, and the place in a batch.

    batch: its id, the number of the message in it from 1 on, and whether it is the last.
    """
    values = [event.id, event.type]
    lines = f"{event.id}\r\nContent-Type: {CONTENT_TYPE}\r\nce-type: {event.type}"
    if event.traceparent:
        values.append(event.traceparent)
        lines += f"\r\ntraceparent: {event.traceparent}"
    if basis is not None:
        condition = basis.key.condition
        values.append(condition)
        lines += f"\r\n{EXPECTED}: {basis.seq}\r\n{EXPECTED_FILTER}: {condition}"
    if batch is not None:
        name, number, is_last = batch
        lines += f"\r\n{BATCH_ID}: {name}\r\n{BATCH_SEQUENCE}: {number}"
        if is_last:
            lines += f"\r\n{BATCH_COMMIT}: 1"
    # A line break in a value would be a header of somebody else's making.
    if not "".join(values).isprintable():
        raise Permanent(f"{event.subject}: a control character in {values!r}")
    return {MSG_ID: _Lines(lines)}
