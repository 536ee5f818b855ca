"""Sending a request, and getting its answer whenever it was or will be given.

The request is published until its stream has it, with its own id, so that it is carried out once.
The answer is listened for before that, and read back from its stream in between: whichever comes
first is it, also for who asks again tomorrow with the same id.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeout
from pydantic import ValidationError

from muster.bus.api import NOT_FOUND, Refused, call, why_away
from muster.bus.publishing import publish_stored
from muster.bus.topology import Stream
from muster.contracts import subjects
from muster.contracts.envelope import CONTENT_TYPE, Envelope
from muster.contracts.requests import Answer, request_type
from muster.domain.errors import Permanent, Temporary

LOOK_S = 0.25
MAX_LOOK_S = 2.0
STORED_S = 1.0
SOURCE = "muster/client"

_LAST = f"STREAM.MSG.GET.{Stream.ANSWERS}"


class NoAnswer(Temporary):
    """The request is stored, its answer has not come yet: ask again with the same id."""

    def __init__(self, request: str, seconds: float) -> None:
        super().__init__(f"no answer to request {request} within {seconds:g} s")
        self.request = request


@dataclass(frozen=True, slots=True)
class Message:
    """A request as it is published. id: its identity; a token."""

    tenant: str
    verb: str
    id: str
    data: Mapping[str, Any]
    traceparent: str

    @property
    def subject(self) -> str:
        """Where it goes."""
        return subjects.request_subject(self.tenant, self.verb)

    def to_bytes(self) -> bytes:
        """Return the CloudEvents envelope."""
        envelope = Envelope[dict[str, Any]](
            id=self.id,
            source=SOURCE,
            type=request_type(self.verb),
            subject=self.subject,
            time=datetime.now(UTC),
            traceparent=self.traceparent,
            data=dict(self.data),
        )
        return envelope.to_bytes()

    @property
    def headers(self) -> dict[str, str]:
        """Headers beside the id, which deduplicates."""
        return {"Content-Type": CONTENT_TYPE, "traceparent": self.traceparent}


class Answers:
    """The stream ANSWERS and what is published to get something into it."""

    def __init__(self, connection: Client) -> None:
        self._connection = connection

    async def ask(self, message: Message, timeout: float) -> Answer:
        """Publish a request and return its answer.

        Raises Permanent (the request can never be stored), Temporary (it may not be), NoAnswer (it
        is).
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        listening = await self._listen(message.tenant, message.id)
        try:
            await publish_stored(
                self._connection,
                message.subject,
                message.to_bytes(),
                id=message.id,
                headers=message.headers,
                patience=timeout,
            )
            answer = await self._wait(listening, message.tenant, message.id, end)
        finally:
            await _stop(listening)
        if answer is None:
            raise NoAnswer(message.id, timeout)
        return answer

    async def get(self, tenant: str, request: str, timeout: float = 0.0) -> Answer | None:
        """Return the answer to an earlier request; None when there is none within `timeout` s."""
        end = asyncio.get_running_loop().time() + timeout
        listening = await self._listen(tenant, request)
        try:
            return await self._wait(listening, tenant, request, end)
        finally:
            await _stop(listening)

    async def _listen(self, tenant: str, request: str) -> Subscription:
        subject = subjects.answer_subject(tenant, request)
        try:
            return await self._connection.subscribe(subject)
        except NatsError as error:
            why = f"cannot listen for the answer: {error}"
            raise Temporary(why_away(self._connection, why)) from error

    async def _wait(
        self, listening: Subscription, tenant: str, request: str, end: float
    ) -> Answer | None:
        """Listen, look, listen longer. Who may not look, as many outside, hears it all the same."""
        look = LOOK_S
        while True:
            left = max(0.0, end - asyncio.get_running_loop().time())
            answer = await _heard(listening, min(look, left)) or await self._stored(tenant, request)
            if answer is not None or not left:
                return answer
            look = min(2 * look, MAX_LOOK_S)

    async def _stored(self, tenant: str, request: str) -> Answer | None:
        """Ask the stream's leader; None when it has no answer, or cannot be asked just now."""
        question = {"last_by_subj": subjects.answer_subject(tenant, request)}
        try:
            found = await call(self._connection, _LAST, question, timeout=STORED_S)
        except Refused as refused:
            if refused.err_code in NOT_FOUND or not refused.is_final:
                return None
            raise Permanent(f"{Stream.ANSWERS}: {refused}") from refused
        except Temporary:
            return None
        return _read(base64.b64decode(found["message"].get("data", "")))


async def _heard(listening: Subscription, seconds: float) -> Answer | None:
    try:
        message = await listening.next_msg(timeout=max(seconds, 0.001))
    except NatsTimeout:
        return None
    except NatsError as error:
        raise Temporary(f"cannot listen for the answer: {error}") from error
    return _read(message.data)


def _read(body: bytes) -> Answer | None:
    try:
        return Answer.model_validate_json(body)
    except ValidationError:
        return None  # not from this version's admission: nothing that could be passed on


async def _stop(listening: Subscription) -> None:
    try:
        await listening.unsubscribe()
    except NatsError:
        return
