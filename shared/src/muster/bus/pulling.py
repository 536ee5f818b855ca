"""Pulling a durable consumer's messages, never more of them than there is room for.

A message that waits here for a handler would be delivered to somebody else when its time is over;
so each request asks for free places only. Heartbeats tell a quiet server from a lost one. Called by
the bus; knows nothing of what the messages are.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from muster.bus.metrics import Meter

EXPIRES_S = 30.0
HEARTBEAT_S = 1.0
SILENCE_S = 2.2
GATHER_S = 0.002
HAND_BACK_S = 1.0
PAUSE_S = 0.1
MAX_PAUSE_S = 5.0

NOTHING, EXPIRED, HEARTBEAT = "404", "408", "100"

_LOG = structlog.get_logger("muster.bus")


class _Lost(Exception):
    """What was asked for will not come: ask anew."""


class Puller:
    """One durable consumer of a stream. start: called with each message; `done` frees its place."""

    def __init__(
        self,
        connection: Client,
        stream: str,
        durable: str,
        limit: int,
        start: Callable[[Msg], None],
        meter: Meter,
    ) -> None:
        self._connection, self._start, self._meter = connection, start, meter
        self._name, self._limit = f"{stream}/{durable}", limit
        self._next = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{durable}"
        self._subscription: Subscription | None = None
        self._inbox = ""
        self._asked = 0
        self._busy = 0
        self._heard = 0.0
        self._lost: str | None = None
        self._stopped = False
        self._news = asyncio.Event()

    def done(self) -> None:
        """A message has been handled: its place is free."""
        self._busy -= 1
        self._news.set()

    async def run(self) -> None:
        """Pull until stopped; ask anew whenever the server lets a request drop."""
        pause = PAUSE_S
        while not self._stopped and not self._connection.is_closed:
            self._heard = 0.0
            try:
                await self._session()
            except (_Lost, NatsError) as error:
                self._meter.lost_pulls.inc()
                pause = PAUSE_S if self._heard else min(2 * pause, MAX_PAUSE_S)
                _LOG.warning("asking for messages again", consumer=self._name, why=str(error))
            finally:
                await self._unsubscribe()
            await asyncio.sleep(pause)

    async def stop(self) -> None:
        """Ask for nothing more, and hand back what is still on its way to us."""
        self._stopped = True
        self._news.set()
        subscription, self._subscription = self._subscription, None
        if subscription is None or not self._connection.is_connected:
            return
        try:
            async with asyncio.timeout(HAND_BACK_S):
                await subscription.drain()  # type: ignore[no-untyped-call]
        except (NatsError, TimeoutError) as error:
            _LOG.info("not everything was handed back", consumer=self._name, why=str(error))

    async def unsubscribe(self) -> None:
        """The same, by the name that FastStream knows."""
        await self.stop()

    async def _unsubscribe(self) -> None:
        subscription, self._subscription = self._subscription, None
        if subscription is not None and not self._connection.is_closed:
            await subscription.unsubscribe()

    async def _session(self) -> None:
        """Pull through one inbox, which is thrown away with everything that is still under way."""
        self._inbox, self._asked, self._lost = self._connection.new_inbox(), 0, None
        self._subscription = await self._connection.subscribe(self._inbox, cb=self._receive)
        asked_at = asyncio.get_running_loop().time()
        while not self._stopped:
            self._news.clear()
            if await self._fill():
                asked_at = asyncio.get_running_loop().time()
            await self._listen(asked_at)

    async def _fill(self) -> bool:
        """Ask for what there is room for; not for every single place, while there are others."""
        free = self._limit - self._busy - self._asked
        if free <= 0 or (self._asked and free < self._limit // 2):
            return False
        if free < self._limit // 2:
            await asyncio.sleep(GATHER_S)
            free = self._limit - self._busy - self._asked
        request = {
            "batch": free,
            "expires": int(EXPIRES_S * 1_000_000_000),
            "idle_heartbeat": int(HEARTBEAT_S * 1_000_000_000),
        }
        self._asked += free
        await self._connection.publish(self._next, json.dumps(request).encode(), self._inbox)
        return True

    async def _listen(self, asked_at: float) -> None:
        loop = asyncio.get_running_loop()
        silent_at = max(self._heard, asked_at) + SILENCE_S
        try:
            async with asyncio.timeout_at(silent_at if self._asked else None):
                await self._news.wait()
        except TimeoutError:
            if self._asked and loop.time() >= max(self._heard, asked_at) + SILENCE_S:
                raise _Lost("no sign of life from the server") from None
        if self._lost is not None:
            raise _Lost(self._lost)

    async def _receive(self, message: Msg) -> None:
        if message.reply and self._stopped:
            await self._connection.publish(message.reply, b"-NAK")
        elif message.reply:
            self._heard = asyncio.get_running_loop().time()
            self._asked -= 1
            self._busy += 1
            self._start(message)
        else:
            self._note_status(message)
        if not self._asked or self._lost is not None:
            self._news.set()

    def _note_status(self, message: Msg) -> None:
        headers = message.headers or {}
        status = headers.get("Status")
        if status == HEARTBEAT:
            self._heard = asyncio.get_running_loop().time()
        elif status in {NOTHING, EXPIRED}:
            self._heard = asyncio.get_running_loop().time()
            self._asked -= int(headers.get("Nats-Pending-Messages", self._asked))
        else:
            self._lost = f"status {status} {headers.get('Description', '')}".strip()
