"""The bus on NATS JetStream by way of FastStream: the adapter that production, demo and tests run.

The connection belongs to the caller; streams and consumers are made by `provision`, never here.
What becomes of a message whose handler fails is in `delivery` and `retries`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from hashlib import sha256

import structlog
from faststream.nats import NatsMessage, NatsResponse
from faststream.nats.subscriber.usecases import CoreSubscriber
from nats.aio.client import Client
from nats.errors import Error as NatsError

from muster.bus import Responder, Room, Subscription, asking
from muster.bus.answering import Answering
from muster.bus.api import NOT_FOUND, Refused, call
from muster.bus.delivery import Deliveries
from muster.bus.metrics import DROPPED
from muster.bus.provision_configs import REPLAYS_IN_FLIGHT
from muster.bus.publishing import publish_stored
from muster.bus.retries import Retries
from muster.bus.rooms import rooms
from muster.bus.subscribers import BoundedSubscriber, SharedBroker
from muster.bus.topology import Consumer, Stream
from muster.contracts import subjects
from muster.contracts.requests import Answer
from muster.domain.errors import Permanent, Temporary

GRACEFUL_S = 15.0
READY_S = 1.0
BEATS_PER_WAIT = 3

_LOG = structlog.get_logger("muster.bus")


class FastStreamBus:
    """See the port `Bus`."""

    def __init__(
        self,
        connection: Client,
        *,
        retries: Retries | None = None,
        graceful_s: float = GRACEFUL_S,
    ) -> None:
        self._connection = connection
        self._retries = retries or Retries()
        self._broker = SharedBroker(connection, graceful_s)
        self._subscribers: list[BoundedSubscriber] = []
        self._consumers: list[Consumer] = []
        self._desks: list[CoreSubscriber] = []

    async def consume(self, subscription: Subscription) -> None:
        """See the port: returns once the consumer is being pulled, and its replays too."""
        await self._broker.connect()
        consumer = subscription.consumer
        self._consumers.append(consumer)
        again = min(consumer.in_flight, REPLAYS_IN_FLIGHT)
        await self._start(subscription, str(consumer.stream), consumer.in_flight, replays=False)
        await self._start(subscription, str(Stream.REPLAYS), again, replays=True)

    async def _start(
        self, subscription: Subscription, stream: str, limit: int, *, replays: bool
    ) -> None:
        deliveries = Deliveries(self._connection, subscription, self._retries, replays=replays)

        async def handle(message: NatsMessage) -> None:
            await deliveries.handle(message.raw_message)

        subscriber = self._broker.bounded(
            stream,
            subscription.consumer.durable,
            limit=limit,
            beat=subscription.consumer.ack_wait / BEATS_PER_WAIT,
            meter=deliveries.meter,
            handle=handle,
        )
        self._subscribers.append(subscriber)
        await subscriber.start()

    async def answer(self, answer: Answer) -> None:
        """See the port. Raises Temporary when no server took it for some seconds.

        The same answer again is the same message; another answer to the same request is not.
        """
        body = answer.model_dump_json(exclude_none=True).encode()
        await publish_stored(
            self._connection,
            subjects.answer_subject(answer.tenant, answer.request),
            body,
            id=f"answer-{answer.tenant}-{answer.request}-{sha256(body).hexdigest()[:16]}",
        )

    async def broadcast(self, subject: str, body: bytes) -> None:
        """See the port: dropped, and counted, whenever it could not go out at once."""
        connection = self._connection
        if not connection.is_connected or connection.pending_data_size > connection.max_payload:
            DROPPED.inc()
            return
        try:
            await connection.publish(subject, body)
        except NatsError as error:
            DROPPED.inc()
            _LOG.debug("broadcast dropped", subject=subject, why=str(error))

    async def waiting(self, consumer: Consumer) -> int:
        """See the port."""
        try:
            answer = await call(self._connection, _info(consumer), timeout=READY_S)
        except Refused as refused:
            if refused.err_code in NOT_FOUND:
                raise Permanent(f"there is no consumer {consumer.durable}") from refused
            raise Temporary(f"consumer {consumer.durable}: {refused}") from refused
        return int(answer["num_pending"]) + int(answer["num_ack_pending"])

    async def room(self) -> tuple[Room, ...]:
        """See the port."""
        return await rooms(self._connection)

    async def serve(self, responder: Responder) -> None:
        """See the port."""
        await self._broker.connect()
        desk = responder.desk
        answering = Answering(responder, self._connection.max_payload)

        async def handle(message: NatsMessage) -> NatsResponse:
            reply = await answering.handle(message.raw_message)
            return NatsResponse(reply.body, headers=reply.headers)

        for subject in desk.subjects:
            subscriber = self._broker.subscriber(
                subject, queue=desk.group, max_workers=desk.at_once
            )
            subscriber(handle)
            self._desks.append(subscriber)
            await subscriber.start()

    async def ask(self, subject: str, body: bytes, timeout: float) -> bytes:
        """See the port."""
        return await asking.ask(self._connection, subject, body, timeout)

    async def ready(self) -> None:
        """Raise Temporary, with the reason, while a consumer is not there or not served."""
        checks = [self._check(consumer) for consumer in self._consumers]
        found = await asyncio.gather(*checks)
        if missing := [reason for reason in found if reason]:
            raise Temporary("; ".join(missing))

    async def _check(self, consumer: Consumer) -> str | None:
        name = f"{consumer.stream}/{consumer.durable}"
        try:
            await call(self._connection, _info(consumer), timeout=READY_S)
        except (Refused, Temporary) as error:
            return f"consumer {name}: {error}"
        return None

    async def close(self) -> None:
        """Take nothing more and let what is being handled finish; the connection stays open."""
        stopping: Sequence[BoundedSubscriber | CoreSubscriber] = [*self._subscribers, *self._desks]
        await asyncio.gather(*(subscriber.stop() for subscriber in stopping))
        await self._broker.stop()
        self._subscribers, self._consumers, self._desks = [], [], []


def _info(consumer: Consumer) -> str:
    return f"CONSUMER.INFO.{consumer.stream}.{consumer.durable}"
