"""Makes a log again from an export of the archive: the same events on the same sequences.

For an operator, before any service runs on the new log. May be broken off and begun again: it goes
on where it ended. The server's times of storing are new; the events' own times are not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from nats.aio.client import Client
from nats.errors import Error as NatsError

from muster.bus.api import NOT_FOUND, Refused, answered, call
from muster.bus.topology import Stream
from muster.contracts.conditions import RESTORED
from muster.contracts.envelope import CONTENT_TYPE
from muster.domain.errors import Permanent, Temporary

FILLER = "incidents.restore.gap"
"""Stands for a sequence that the archive does not have, and is deleted at once."""
ANSWER_S = 5.0


class CannotRestore(Permanent):
    """The export is not whole text, or the log is another one than it tells of."""


@dataclass(frozen=True, slots=True)
class Exported:
    """One line of an export. body: the event's bytes."""

    seq: int
    id: str
    subject: str
    body: bytes


def read_line(line: str) -> Exported:
    """Read one line. Raises CannotRestore."""
    try:
        value = json.loads(line)
        return Exported(
            int(value["seq"]), str(value["id"]), str(value["subject"]), value["body"].encode()
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CannotRestore(f"not a line of an export: {line[:60]!r}") from error


async def restore(connection: Client, lines: Iterable[str]) -> int:
    """Write the events of an export into the stream EVENTS; returns how many were written.

    A sequence that the export lacks becomes a deleted message. Raises CannotRestore when the stream
    has something else, Temporary when the server is away.
    """
    end = await _end(connection)
    written = 0
    for line in lines:
        exported = read_line(line)
        if exported.seq <= end:
            await _check(connection, exported)
            continue
        while end + 1 < exported.seq:
            end = await _fill(connection, end)
        await _put(connection, exported.subject, exported.body, end, exported.id)
        end, written = exported.seq, written + 1
    return written


async def _end(connection: Client) -> int:
    answer = await _asked(connection, f"STREAM.INFO.{Stream.EVENTS}")
    return int(answer["state"]["last_seq"])


async def _check(connection: Client, exported: Exported) -> None:
    """What is already there must be what the export has on this sequence."""
    question = {"seq": exported.seq}
    try:
        found = await call(connection, f"STREAM.MSG.GET.{Stream.EVENTS}", question)
    except Refused as refused:
        if refused.err_code in NOT_FOUND:
            return  # trimmed since
        raise CannotRestore(f"{Stream.EVENTS}: {refused}") from refused
    if found["message"]["subject"] != exported.subject:
        raise CannotRestore(
            f"sequence {exported.seq} is on {found['message']['subject']}, not on"
            f" {exported.subject}: the stream is not empty, and not from this export"
        )


async def _fill(connection: Client, end: int) -> int:
    await _put(connection, FILLER, b"", end, None)
    await _asked(connection, f"STREAM.MSG.DELETE.{Stream.EVENTS}", {"seq": end + 1})
    return end + 1


async def _put(
    connection: Client, subject: str, body: bytes, end: int, identity: str | None
) -> None:
    headers = {
        "Nats-Expected-Last-Sequence": str(end),
        "Content-Type": CONTENT_TYPE,
        RESTORED: "1",
    }
    if identity is not None:
        headers["Nats-Msg-Id"] = identity
    try:
        message = await connection.request(subject, body, timeout=ANSWER_S, headers=headers)
        answered(message.data)
    except Refused as refused:
        raise CannotRestore(f"sequence {end + 1} on {subject}: {refused}") from refused
    except NatsError as error:
        raise Temporary(f"sequence {end + 1} may not be stored: begin again ({error})") from error


async def _asked(
    connection: Client, subject: str, arguments: dict[str, object] | None = None
) -> dict[str, dict[str, int]]:
    try:
        return await call(connection, subject, arguments)
    except Refused as refused:
        raise CannotRestore(f"{subject}: {refused}") from refused
