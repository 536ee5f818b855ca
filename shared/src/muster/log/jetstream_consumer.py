"""One ephemeral pull consumer, which delivers each message of a stream once, or is in doubt.

Every doubt is `Unanswered`: then it is to be deleted and another one made. Called by the follower.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import deque
from collections.abc import Sequence

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from muster.log.jetstream_reading import Stored
from muster.log.jetstream_wire import Unanswered, Wire, status_of

PAGE = 256
HEARTBEAT_S = 0.5
SILENCE_S = 1.5
EXPIRES_S = 30.0
INACTIVE_S = 120.0

NOTHING, EXPIRED, HEARTBEAT = "404", "408", "100"


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1_000_000_000)


class Consumer:
    """Made by `create`."""

    def __init__(self, wire: Wire, stream: str, name: str) -> None:
        self._wire, self._stream, self._name = wire, stream, name
        self._inbox = wire.connection.new_inbox()
        self._subscription: Subscription | None = None
        self._asked = 0
        self._delivered = 0
        self._heard = 0.0
        self._came: deque[Stored] = deque()
        self._doubt: Unanswered | None = None
        self._news = asyncio.Event()

    @classmethod
    async def create(cls, wire: Wire, stream: str, filters: Sequence[str], first: int) -> Consumer:
        """Make one that starts at a sequence. Raises Unanswered, Refused."""
        name = f"follow-{secrets.token_hex(8)}"
        config: dict[str, object] = {
            "name": name,
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": first,
            "ack_policy": "none",
            "max_deliver": 1,
            "mem_storage": True,
            "num_replicas": 1,
            "inactive_threshold": _nanoseconds(INACTIVE_S),
        }
        if filters:
            config["filter_subjects"] = list(filters)
        await wire.call(
            f"$JS.API.CONSUMER.CREATE.{stream}.{name}",
            {"stream_name": stream, "config": config, "action": "create"},
            timeout=SILENCE_S,
        )
        return cls(wire, stream, name)

    async def delete(self) -> None:
        """Tell the server, as far as it listens; it forgets by itself what nobody asks for."""
        subscription, self._subscription = self._subscription, None
        try:
            if subscription is not None:
                await subscription.unsubscribe()
            await self._wire.send(f"$JS.API.CONSUMER.DELETE.{self._stream}.{self._name}", b"")
        except (Unanswered, NatsError):
            return

    async def take(self, wait: float) -> Sequence[Stored]:
        """Return what there is, at most a page; wait for the first of it. Raises Unanswered."""
        if page := self._page():
            return page
        if not self._asked:
            await self._ask({"no_wait": True})
            while self._awaits():
                await self._hear(SILENCE_S)
            if page := self._page():
                return page
        self._check()
        return await self._linger(wait) if wait > 0 else ()

    def _awaits(self) -> bool:
        return self._asked > 0

    async def _linger(self, wait: float) -> Sequence[Stored]:
        loop = asyncio.get_running_loop()
        end = loop.time() + wait
        while (left := end - loop.time()) > 0:
            if not self._asked:
                expires, heartbeat = _nanoseconds(EXPIRES_S), _nanoseconds(HEARTBEAT_S)
                await self._ask({"expires": expires, "idle_heartbeat": heartbeat})
            await self._hear(left)
            if page := self._page():
                return page
        return ()

    async def _ask(self, how: dict[str, object]) -> None:
        if self._subscription is None:
            # A delivered message keeps its own subject: only a subscription tells whose it is.
            self._subscription = await self._wire.subscribe(self._inbox, self._receive)
        self._heard = asyncio.get_running_loop().time()
        self._asked = PAGE
        await self._wire.send(
            f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{self._name}",
            json.dumps({"batch": PAGE, **how}).encode(),
            self._inbox,
        )

    async def _receive(self, message: Msg) -> None:
        """Sort what arrives; nothing counts any more after a doubt."""
        self._heard = asyncio.get_running_loop().time()
        self._news.set()
        if self._doubt is not None:
            return
        if message.reply:
            self._keep(message)
            return
        status = status_of(message)
        if status in {NOTHING, EXPIRED}:
            self._asked = 0
        elif status != HEARTBEAT:
            self._asked = 0
            self._doubt = Unanswered(f"{self._name} ended with status {status}")

    def _keep(self, message: Msg) -> None:
        known = message.metadata
        if known.sequence.consumer != self._delivered + 1:
            self._asked = 0
            self._doubt = Unanswered(f"{self._name} skipped after {self._delivered}")
            return
        self._delivered += 1
        self._asked -= 1
        self._came.append(
            Stored(
                message.subject,
                known.sequence.stream,
                known.timestamp,
                message.data,
                message.headers or {},
            )
        )

    def _page(self) -> Sequence[Stored]:
        page = [self._came.popleft() for _ in range(min(PAGE, len(self._came)))]
        if not page and self._doubt is not None:
            raise self._doubt
        return page

    async def _hear(self, seconds: float) -> None:
        """Wait for any sign of life. Raises Unanswered when there has been none for too long."""
        self._news.clear()
        now = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(max(0.0, min(seconds, self._heard + SILENCE_S - now))):
                await self._news.wait()
        except TimeoutError:
            self._check()

    def _check(self) -> None:
        silent = asyncio.get_running_loop().time() - self._heard
        if self._asked and silent >= SILENCE_S:
            raise Unanswered(f"{self._name} is silent for {silent:.1f} s")
