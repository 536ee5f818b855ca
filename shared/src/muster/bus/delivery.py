"""One delivery of a message: read it, let the handler look, and say to the server what follows.

This is one of the two places where any exception is caught: what its handler cannot deal with is
tried again or parked, and the stream goes on. Called by the bus for each message.
"""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime

import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from muster.bus import Subscription
from muster.bus.metrics import Meter, Outcome
from muster.bus.parking import ParkedMessage, body_fields
from muster.bus.publishing import publish_stored
from muster.bus.retries import Failures, Retries
from muster.bus.spans import handling
from muster.bus.triggers import Origin, original, replayed, trigger_of
from muster.contracts import subjects
from muster.domain.errors import Conflict, Permanent, Temporary

NOT_PARKED_S = 5.0
HANDED_BACK_S = 0.5
LONGEST_REASON = 2000

_LOG = structlog.get_logger("muster.bus")


class Deliveries:
    """All deliveries of one durable consumer, of its own stream or of its replays."""

    def __init__(
        self, connection: Client, subscription: Subscription, retries: Retries, *, replays: bool
    ) -> None:
        self._connection = connection
        self._consumer, self._handler = subscription.consumer, subscription.handler
        self._stream = str(subscription.consumer.stream)
        self._replays = replays
        self._failures = Failures(retries)
        self.meter = Meter(subscription.consumer.durable)

    async def handle(self, message: Msg) -> None:
        """Handle one message and settle it. Never raises but to be cancelled."""
        started = time.perf_counter()
        try:
            outcome = await self._handled(message)
        except asyncio.CancelledError:
            self.meter.ended(Outcome.CANCELLED)
            await self._settle(message, _nak(HANDED_BACK_S))
            raise
        self.meter.seconds.observe(time.perf_counter() - started)
        self.meter.ended(outcome)

    async def _handled(self, message: Msg) -> Outcome:
        seq = message.metadata.sequence.stream
        origin: Origin | None = None
        try:
            origin = replayed(message) if self._replays else original(self._stream, message)
            trigger = trigger_of(origin)
            with handling(self._consumer.durable, trigger):
                await self._handler(trigger)
        except Exception as error:  # noqa: BLE001 - this is the place that parks
            return await self._failed(message, origin, seq, error)
        self._failures.forget(seq)
        await self._settle(message, b"+ACK")
        return Outcome.DONE

    async def _failed(
        self, message: Msg, origin: Origin | None, seq: int, error: Exception
    ) -> Outcome:
        delay = self._failures.delay(seq, error)
        if delay is None:
            return await self._park(message, origin or original("REPLAYS", message), error)
        self._tell(message, error, delay)
        await self._settle(message, _nak(delay))
        return Outcome.AGAIN

    def _tell(self, message: Msg, error: Exception, delay: float) -> None:
        known = isinstance(error, Temporary | Conflict)
        _LOG.log(
            20 if known else 40,
            "message comes again",
            durable=self._consumer.durable,
            subject=message.subject,
            delay=round(delay, 2),
            error=f"{type(error).__name__}: {error}",
            exc_info=None if known else error,
        )

    async def _park(self, message: Msg, origin: Origin, error: Exception) -> Outcome:
        """Put the message aside; only when that is certain, the server may forget it."""
        parked = self._parked(origin, error)
        try:
            await self._store(parked, origin)
        except (Temporary, Permanent) as failure:
            _LOG.error(
                "message cannot be parked", subject=origin.subject, why=str(failure), exc_info=error
            )
            await self._settle(message, _nak(NOT_PARKED_S))
            return Outcome.NOT_PARKED
        self._failures.forget(message.metadata.sequence.stream)
        _LOG.error(
            "message parked",
            durable=self._consumer.durable,
            subject=origin.subject,
            seq=origin.seq,
            reason=parked.reason,
            exc_info=None if isinstance(error, Permanent) else error,
        )
        await self._settle(message, f"+TERM parked: {parked.error}".encode())
        return Outcome.PARKED

    async def _store(self, parked: ParkedMessage, origin: Origin) -> None:
        body = parked.to_bytes()
        if len(body) > self._connection.max_payload:
            body = parked.model_copy(update={"text": None, "base64": None}).to_bytes()
        await publish_stored(
            self._connection,
            subjects.parked_subject(parked.stream, parked.consumer),
            body,
            id=f"parked-{parked.stream}-{parked.consumer}-{origin.copy}",
        )

    def _parked(self, origin: Origin, error: Exception) -> ParkedMessage:
        return ParkedMessage(
            stream=origin.stream,
            consumer=self._consumer.durable,
            seq=origin.seq,
            subject=origin.subject,
            at=origin.at,
            reason=(str(error) or type(error).__name__)[:LONGEST_REASON],
            error=type(error).__name__,
            deliveries=origin.delivered,
            parked_at=datetime.now(UTC),
            headers=origin.headers,
            **body_fields(origin.body),
        )

    async def _settle(self, message: Msg, word: bytes) -> None:
        """Answer the server. An answer that is lost only means that the message comes again."""
        try:
            await self._connection.publish(message.reply, word)
        except NatsError as error:
            _LOG.warning("answer to the server not sent", subject=message.subject, why=str(error))


def _nak(seconds: float) -> bytes:
    return b"-NAK " + json.dumps({"delay": int(seconds * 1_000_000_000)}).encode()
