"""The one way to subscribe, and the three ways to speak that are not the log.

This module is the port; `faststream` is the real adapter, and the simulation has its own. What a
consumer is (stream, filters, limits) is data in `topology`; a service's `stream.py` only ties a
handler to it.

A handler may be called twice, late and out of order. What it raises decides what follows:
Permanent = parked at once with its reason; Temporary, Conflict = again after a delay, for ever;
anything else = again with backoff, parked after five deliveries.

A question is no message: whoever answers says so at once, or why not, and nothing of it is kept.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from muster.bus.topology import Consumer, Desk
from muster.contracts.alarms import Alarm
from muster.contracts.events import Event
from muster.contracts.requests import Answer
from muster.domain.errors import Temporary


@dataclass(frozen=True, slots=True)
class Trigger:
    """A message that woke a handler: a reason to look, never an instruction.

    at: the server's time when it was stored. delivered: 1 for the first delivery.
    event or alarm is set for the streams that carry them; body is the raw message.
    """

    subject: str
    seq: int
    at: datetime
    delivered: int
    body: bytes
    event: Event | None = None
    alarm: Alarm | None = None
    headers: tuple[tuple[str, str], ...] = ()


Handler = Callable[[Trigger], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Subscription:
    """A durable consumer and what handles its messages."""

    consumer: Consumer
    handler: Handler


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody wants to know now."""

    subject: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Room:
    """How full something is. name: of a stream, or ACCOUNT for all of them. limit: 0 = none."""

    name: str
    messages: int
    bytes: int
    limit: int = 0

    @property
    def full(self) -> float | None:
        """The part of its room that is used; None where there is no limit."""
        return self.bytes / self.limit if self.limit > 0 else None


ACCOUNT = "account"

Answerer = Callable[[Question], Awaitable[bytes]]
"""Temporary = not now, ask again; Permanent = refused; anything else is a fault, and refused."""


@dataclass(frozen=True, slots=True)
class Responder:
    """A desk and what answers the questions there."""

    desk: Desk
    answer: Answerer


class NobodyAnswers(Temporary):
    """Nobody serves this subject now, or who does said nothing for so long."""

    def __init__(self, subject: str, seconds: float) -> None:
        super().__init__(f"nobody answered {subject} within {seconds:.1f} s")
        self.subject, self.seconds = subject, seconds


class Bus(Protocol):
    """The port."""

    async def consume(self, subscription: Subscription) -> None:
        """Handle a durable consumer's messages until the bus is closed; returns once it does."""
        ...

    async def answer(self, answer: Answer) -> None:
        """Tell the sender of a request what became of it; told twice, it is kept once."""
        ...

    async def broadcast(self, subject: str, body: bytes) -> None:
        """Send to whoever listens now (telemetry, log lines); may be lost, must never block."""
        ...

    async def waiting(self, consumer: Consumer) -> int:
        """Return how many messages a durable consumer has still to handle.

        Raises Permanent when the server has no such consumer, Temporary when nobody can say.
        """
        ...

    async def room(self) -> tuple[Room, ...]:
        """Return how full each stream is, and the account. Raises Temporary when nobody can say."""
        ...

    async def serve(self, responder: Responder) -> None:
        """Answer a desk's questions until the bus is closed; returns once it does."""
        ...

    async def ask(self, subject: str, body: bytes, timeout: float) -> bytes:
        """Return somebody's answer. Raises NobodyAnswers, Temporary, Permanent."""
        ...
