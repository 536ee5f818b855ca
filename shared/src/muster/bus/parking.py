"""Messages that nobody could handle: kept with the reason, listed, replayed, dropped.

A parked message is known by its number, its sequence in the stream PARKED. Called by the bus, which
parks, and by the CLI.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nats.aio.client import Client
from pydantic import ValidationError

from muster.bus.api import NOT_FOUND, Refused, call
from muster.bus.publishing import publish_stored
from muster.bus.topology import Stream
from muster.contracts import subjects
from muster.domain.errors import Permanent, Temporary
from muster.domain.model import Frozen, Instant

ALL_PARKED = "parked.>"


class ParkedMessage(Frozen):
    """A message as it came, and why it was put aside.

    at: the server's time when the original was stored. text or base64: its body, whichever fits;
    neither where it was too large to be carried along.
    """

    stream: str
    consumer: str
    seq: int
    subject: str
    at: Instant
    reason: str
    error: str
    deliveries: int
    parked_at: Instant
    headers: tuple[tuple[str, str], ...] = ()
    text: str | None = None
    base64: str | None = None

    @property
    def body(self) -> bytes:
        """The original's body."""
        return base64.b64decode(self.base64) if self.base64 is not None else _bytes(self.text)

    @property
    def has_body(self) -> bool:
        """Whether the body is in here."""
        return self.text is not None or self.base64 is not None

    @property
    def replays_on(self) -> str:
        """Subject on which its handler hears it again."""
        return f"replays.{subjects.token(self.stream)}.{subjects.token(self.consumer)}"

    def to_bytes(self) -> bytes:
        """Return the JSON."""
        return self.model_dump_json(exclude_none=True).encode()


def _bytes(text: str | None) -> bytes:
    return (text or "").encode()


def body_fields(body: bytes) -> dict[str, str]:
    """Return the body as the field that can hold it."""
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}


@dataclass(frozen=True, slots=True)
class Parked:
    """A parked message and its number."""

    number: int
    message: ParkedMessage


class NotParked(Permanent):
    """There is no parked message of that number (any more)."""


class Parking:
    """The stream PARKED, for people."""

    def __init__(self, connection: Client) -> None:
        self._connection = connection

    async def list(
        self, *, consumer: str | None = None, after: int = 0, limit: int = 100
    ) -> Sequence[Parked]:
        """Return what is parked, the oldest first, from the number after `after` on."""
        pattern = f"parked.*.{subjects.token(consumer)}" if consumer else ALL_PARKED
        found: list[Parked] = []
        while len(found) < limit:
            parked = await self._get({"seq": after + 1, "next_by_subj": pattern})
            if parked is None:
                break
            found.append(parked)
            after = parked.number
        return found

    async def show(self, number: int) -> Parked:
        """Return one. Raises NotParked."""
        parked = await self._get({"seq": number})
        if parked is None:
            raise NotParked(f"no message {number} is parked")
        return parked

    async def replay(self, number: int) -> Parked:
        """Give a message to its handler again, and take it out. Raises NotParked."""
        parked = await self.show(number)
        if not parked.message.has_body:
            raise Permanent(f"message {number} was too large to be parked with its body")
        await publish_stored(
            self._connection,
            parked.message.replays_on,
            parked.message.to_bytes(),
            id=f"replay-{number}",
        )
        await self.drop(number)
        return parked

    async def drop(self, number: int) -> None:
        """Forget a message. Raises NotParked."""
        subject = f"STREAM.MSG.DELETE.{Stream.PARKED}"
        try:
            await call(self._connection, subject, {"seq": number, "no_erase": True})
        except Refused as refused:
            if await self._get({"seq": number}) is None:
                raise NotParked(f"no message {number} is parked") from refused
            raise Temporary(f"message {number} cannot be dropped: {refused}") from refused

    async def _get(self, question: dict[str, object]) -> Parked | None:
        try:
            answer = await call(self._connection, f"STREAM.MSG.GET.{Stream.PARKED}", question)
        except Refused as refused:
            if refused.err_code in NOT_FOUND:
                return None
            raise Temporary(f"{Stream.PARKED}: {refused}") from refused
        return _read(answer["message"])


def _read(message: dict[str, Any]) -> Parked:
    body = base64.b64decode(message.get("data", ""))
    try:
        return Parked(int(message["seq"]), ParkedMessage.model_validate_json(body))
    except ValidationError as error:
        raise Permanent(f"{message['seq']} in {Stream.PARKED} is no parked message") from error
