"""What Muster adds to FastStream: a broker on a connection that is there, and a bounded subscriber.

FastStream's own pull subscriber waits for the slowest message of a batch, or pulls more than it can
work on; and it spins when the connection is closed. Ours pulls what it has room for, one task a
message. Called by `faststream`; the only module that derives from FastStream's classes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any

from faststream import AckPolicy
from faststream._internal.endpoint.subscriber.call_item import CallsCollection
from faststream.nats import JStream, NatsBroker, NatsMessage, PullSub
from faststream.nats.broker.registrator import NatsRegistrator
from faststream.nats.subscriber.config import (
    NatsSubscriberConfig,
    NatsSubscriberSpecificationConfig,
)
from faststream.nats.subscriber.specification import NatsSubscriberSpecification
from faststream.nats.subscriber.usecases import PullStreamSubscriber
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import ConsumerConfig

from muster.bus.heartbeats import Heartbeats
from muster.bus.metrics import Meter
from muster.bus.pulling import Puller


async def undecoded(message: NatsMessage) -> NatsMessage:
    """The decoder: whatever the content type, the handler gets the message as it came."""
    return message


class SharedBroker(NatsBroker):
    """A broker on a connection that somebody else opened and will close."""

    def __init__(self, connection: Client, graceful_timeout: float) -> None:
        super().__init__(
            decoder=undecoded,
            apply_types=False,
            logger=None,
            graceful_timeout=graceful_timeout,
        )
        self._shared = connection

    async def _connect(self) -> Client:
        self.config.connect(self._shared)
        return self._shared

    async def stop(
        self,
        exc_type: type[BaseException] | None = None,
        exc_val: BaseException | None = None,
        exc_tb: TracebackType | None = None,
    ) -> None:
        """Stop the subscribers; the connection stays."""
        self._connection = None
        await super().stop(exc_type, exc_val, exc_tb)

    def bounded(
        self,
        stream: str,
        durable: str,
        *,
        limit: int,
        beat: float,
        meter: Meter,
        handle: Callable[[NatsMessage], Awaitable[None]],
    ) -> BoundedSubscriber:
        """Register a subscriber on a durable consumer that exists already; `start` starts it."""
        calls = CallsCollection[Any]()
        config: Any = self.config
        shape = NatsSubscriberSpecificationConfig(
            subject="", queue=None, title_=durable, description_=None, include_in_schema=False
        )
        subscriber = BoundedSubscriber(
            NatsSubscriberConfig(
                subject="",
                sub_config=ConsumerConfig(durable_name=durable, filter_subjects=[]),
                no_reply=True,
                _outer_config=config,
                _ack_policy=AckPolicy.MANUAL,
            ),
            NatsSubscriberSpecification(
                _outer_config=config, calls=calls, specification_config=shape
            ),
            calls,
            queue="",
            pull_sub=PullSub(batch_size=limit),
            stream=JStream(stream, declare=False),
        )
        subscriber.bound(durable, limit, beat, meter)
        super(NatsRegistrator, self).subscriber(subscriber)
        subscriber(handle)
        return subscriber


class BoundedSubscriber(PullStreamSubscriber):
    """Runs at most `limit` handlers, each message in a task of its own, with heartbeats."""

    def bound(self, durable: str, limit: int, beat: float, meter: Meter) -> None:
        """Say how much of what; before the start."""
        self._durable, self._limit, self._beat, self._meter = durable, limit, beat, meter
        self._handling: set[asyncio.Task[None]] = set()
        self._puller: Puller | None = None

    async def _create_subscription(self) -> None:
        if self._puller is not None:
            return
        self._heartbeats = Heartbeats(self.connection, self._beat)
        self._puller = Puller(
            self.connection, self.stream.name, self._durable, self._limit, self._begin, self._meter
        )
        self.add_task(self._puller.run)
        self.add_task(self._heartbeats.run)

    def _begin(self, message: Msg) -> None:
        task = asyncio.create_task(self._one(message))
        self._handling.add(task)
        task.add_done_callback(self._handling.discard)

    async def _one(self, message: Msg) -> None:
        assert self._puller is not None
        self._heartbeats.begin(message)
        self._meter.in_flight.inc()
        try:
            await self.consume(message)
        finally:
            self._meter.in_flight.dec()
            self._heartbeats.end(message)
            self._puller.done()

    async def stop(self) -> None:
        """Pull nothing more, let the handlers finish, hand back what does not finish in time."""
        if self._puller is not None:
            await self._puller.stop()
        if self._handling:
            await asyncio.wait(self._handling, timeout=self._outer_config.graceful_timeout)
        left = tuple(self._handling)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await super().stop()
