"""Asking a question on core NATS until somebody answers: request and reply, nothing is stored.

Called by the bus of a service and by the client. Who answers may be just starting, may lag behind
what the asker knows, or may die with the question: it is asked again while there is time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import MaxPayloadError, NoRespondersError
from nats.errors import TimeoutError as NatsTimeout
from opentelemetry import trace

from muster.bus import NobodyAnswers
from muster.contracts.tracing import traceparent
from muster.domain.errors import Permanent, Temporary

NOT_NOW, REFUSED = "Muster-Not-Now", "Muster-Refused"
"""Headers of a reply that is no answer: ask again, or do not. The body says why."""

TRY_S = 5.0
"""So long for one who answers; then another one is asked."""
NOBODY_S = 1.0
"""So long it is looked whether somebody comes up who could answer."""
PAUSE_S = 0.1

_TRACER = trace.get_tracer("muster.bus")


async def ask(connection: Client, subject: str, body: bytes, timeout: float) -> bytes:
    """Return the answer. Raises NobodyAnswers, Temporary (asked, and not answerable in time),
    Permanent (refused: it would be refused again).
    """
    kind = subject.rpartition(".")[2]
    with _TRACER.start_as_current_span(f"ask {kind}", kind=trace.SpanKind.CLIENT):
        return await _Asking(connection, subject, body, timeout).answer()


class _Asking:
    def __init__(self, connection: Client, subject: str, body: bytes, timeout: float) -> None:
        self._connection, self._subject, self._body = connection, subject, body
        self._clock = asyncio.get_running_loop().time
        self._timeout = timeout
        self._began = self._clock()
        self._why: Temporary = NobodyAnswers(subject, timeout)

    @property
    def _left(self) -> float:
        return self._began + self._timeout - self._clock()

    async def answer(self) -> bytes:
        while self._left > 0:
            reply = await self._try()
            if reply is not None:
                return reply
            await asyncio.sleep(max(0.0, min(PAUSE_S, self._left)))
        raise self._why

    async def _try(self) -> bytes | None:
        try:
            reply = await self._connection.request(
                self._subject,
                self._body,
                timeout=max(0.01, min(TRY_S, self._left)),
                headers=_headers(),
            )
        except NoRespondersError:
            if self._clock() - self._began >= min(NOBODY_S, self._timeout):
                raise NobodyAnswers(self._subject, self._clock() - self._began) from None
            return None
        except NatsTimeout:
            return None
        except MaxPayloadError as error:
            raise Permanent(f"{len(self._body)} bytes for {self._subject} are too many") from error
        except NatsError as error:
            raise Temporary(f"{self._subject} cannot be asked: {error}") from error
        return self._read(reply)

    def _read(self, reply: Msg) -> bytes | None:
        headers: Mapping[str, str] = reply.headers or {}
        if REFUSED in headers:
            raise Permanent(_words(reply))
        if NOT_NOW in headers:
            self._why = Temporary(_words(reply))
            return None
        return bytes(reply.data)


def _headers() -> dict[str, str]:
    found = traceparent()
    return {"traceparent": found} if found else {}


def _words(reply: Msg) -> str:
    return reply.data.decode("utf-8", "replace")
