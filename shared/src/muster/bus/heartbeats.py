"""Telling the server that messages are still being worked on, before it gives them to others.

Called by the bus, once for each consumer.
"""

from __future__ import annotations

import asyncio

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError


class Heartbeats:
    """every: seconds between two signs of life of the same message."""

    def __init__(self, connection: Client, every: float) -> None:
        self._connection, self._every = connection, every
        self._working: set[str] = set()

    def begin(self, message: Msg) -> None:
        """The message is being worked on."""
        self._working.add(message.reply)

    def end(self, message: Msg) -> None:
        """It is not any more."""
        self._working.discard(message.reply)

    async def run(self) -> None:
        """Beat until cancelled. A beat that cannot be sent is not worth an error."""
        while True:
            await asyncio.sleep(self._every)
            for reply in tuple(self._working):
                try:
                    await self._connection.publish(reply, b"+WPI")
                except NatsError:
                    break
