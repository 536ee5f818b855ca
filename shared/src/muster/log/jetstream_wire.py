"""Questions to a NATS server and their answers, for the adapter of the log and for nothing else.

One subscription carries the answers to all questions of a log; each question has its own token in
the reply subject. Translates what the client library raises; decides nothing about events.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from nats.errors import MaxPayloadError

from muster.domain.errors import Permanent, Temporary
from muster.domain.troubles import away, explained

STATUS = "Status"
NO_RESPONDERS = "503"
POLL_S = 0.05
SWEEP_S = 0.05
_ACKNOWLEDGED = re.compile(rb'\{"stream":"[\w-]+", *"seq":(\d+)\}')

OnMessage = Callable[[Msg], None]


class Unanswered(Temporary):
    """Nobody answered in time: the server, its stream's leader or the way there is away."""


class Refused(Exception):
    """The server answered with an error of its API."""

    def __init__(self, code: int, err_code: int, description: str) -> None:
        super().__init__(explained(f"{description} ({err_code or code})"))
        self.code, self.err_code, self.description = code, err_code, description


class _Question(NamedTuple):
    """One that waits for its one answer, until a moment of the loop's clock."""

    answer: asyncio.Future[Msg]
    until: float
    subject: str


class Wire:
    """Requests over one connection, which belongs to somebody else."""

    def __init__(self, connection: Client) -> None:
        self.connection = connection
        self._subscription: Subscription | None = None
        self._subscribing = asyncio.Lock()
        self._prefix = ""
        self._count = 0
        self._questions: dict[str, _Question] = {}
        self._inboxes: dict[str, OnMessage] = {}
        self._sweeper: asyncio.TimerHandle | None = None

    async def open_inbox(self, on_message: OnMessage) -> str:
        """Return a reply subject whose messages go to `on_message` until `close_inbox`."""
        inbox = await self._new_inbox()
        self._inboxes[inbox] = on_message
        return inbox

    def close_inbox(self, inbox: str) -> None:
        """Forget a reply subject; what still comes for it is dropped."""
        self._inboxes.pop(inbox, None)

    async def _new_inbox(self) -> str:
        if self._subscription is None:
            await self._subscribe()
        self._count += 1
        return f"{self._prefix}{self._count}"

    async def _subscribe(self) -> None:
        async with self._subscribing:
            if self._subscription is None:
                prefix = f"{self.connection.new_inbox()}."
                self._subscription = await self.subscribe(f"{prefix}*", self._dispatch)
                self._prefix = prefix

    async def subscribe(
        self, inbox: str, on_message: Callable[[Msg], Awaitable[None]]
    ) -> Subscription:
        """Listen on a reply subject of one's own. Raises Unanswered on a closed connection."""
        try:
            return await self.connection.subscribe(inbox, cb=on_message)
        except NatsError as error:
            raise Unanswered(f"not subscribed: {error}") from error

    async def _dispatch(self, message: Msg) -> None:
        question = self._questions.get(message.subject)
        if question is not None:
            if not question.answer.done():
                question.answer.set_result(message)
        elif receive := self._inboxes.get(message.subject):
            receive(message)

    def _sweep(self) -> None:
        """Give up on questions whose time is over. One timer for all: each of its own costs more
        than the rest of asking."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for question in self._questions.values():
            if question.until <= now and not question.answer.done():
                question.answer.set_exception(
                    Unanswered(f"no answer on {question.subject} in time")
                )
        self._sweeper = loop.call_later(SWEEP_S, self._sweep) if self._questions else None

    async def send(
        self, subject: str, body: bytes, reply: str = "", headers: dict[str, str] | None = None
    ) -> None:
        """Hand a message to the connection. Raises Unanswered when it cannot go out now.

        While the connection is away nothing is buffered: a write that nobody waits for any more
        must not reach the log a minute later.
        """
        if not self.connection.is_connected:
            raise Unanswered(away("not connected to NATS", self.connection.last_error))
        try:
            await self.connection.publish(subject, body, reply=reply, headers=headers)
        except MaxPayloadError as error:
            raise Permanent(f"{len(body)} bytes are more than the server takes") from error
        except NatsError as error:
            raise Unanswered(f"not sent: {error}") from error

    async def ask(
        self,
        subject: str,
        body: bytes,
        headers: dict[str, str] | None = None,
        *,
        timeout: float,
    ) -> Msg:
        """Send and return the one answer. Raises Unanswered."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Msg] = loop.create_future()
        inbox = await self._new_inbox()
        self._questions[inbox] = _Question(answer, loop.time() + timeout, subject)
        if self._sweeper is None:
            self._sweeper = loop.call_later(SWEEP_S, self._sweep)
        try:
            await self.send(subject, body, inbox, headers)
            message = await answer
        finally:
            del self._questions[inbox]
            answer.cancel()
        if not message.data and status_of(message) == NO_RESPONDERS:
            raise Unanswered(f"nobody serves {subject} now")
        return message

    async def call(
        self, subject: str, arguments: Mapping[str, object] | None = None, *, timeout: float
    ) -> dict[str, Any]:
        """Ask the JetStream API. Raises Refused with what it refuses, Unanswered."""
        body = json.dumps(arguments).encode() if arguments else b""
        message = await self.ask(subject, body, timeout=timeout)
        return parsed(message.data)

    async def connected(self, seconds: float) -> bool:
        """Wait until the connection is there, at most so long; False if it is not."""
        end = asyncio.get_running_loop().time() + seconds
        while not self.connection.is_connected:
            if self.connection.is_closed or asyncio.get_running_loop().time() >= end:
                return False
            await asyncio.sleep(POLL_S)
        return True

    async def close(self) -> None:
        """Give the subscription back; the connection stays."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        subscription, self._subscription = self._subscription, None
        if subscription is not None and not self.connection.is_closed:
            await subscription.unsubscribe()


def status_of(message: Msg) -> str | None:
    """Return the inline status of a message without a body (404, 408, 503), None if it has none."""
    return message.headers.get(STATUS) if message.headers else None


def stored_seq(body: bytes) -> int:
    """Return the sequence of a plain acknowledgement, 0 for any other answer.

    Written by the server as `{"stream":"EVENTS","seq":12}`; whatever else is in it is for `parsed`.
    """
    found = _ACKNOWLEDGED.fullmatch(body)
    return int(found[1]) if found else 0


def parsed(body: bytes) -> dict[str, Any]:
    """Read an answer of the API. Raises Refused when it is an error."""
    answer: dict[str, Any] = json.loads(body)
    if error := answer.get("error"):
        raise Refused(
            int(error.get("code", 0)),
            int(error.get("err_code", 0)),
            str(error.get("description", "refused")),
        )
    return answer
