"""One question and its reply: let the responder look, and say so when it cannot answer.

A question is never parked: who asked is still there, and hears why. Called by the bus.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum

import structlog
from nats.aio.msg import Msg
from prometheus_client import Counter, Histogram

from muster.bus import Question, Responder
from muster.bus.asking import NOT_NOW, REFUSED
from muster.bus.spans import answering
from muster.domain.errors import Conflict, Permanent, Temporary

LONGEST_REASON = 2000
ANSWER_MARGIN = 4096
"""Bytes of a message that are not the answer."""

_LOG = structlog.get_logger("muster.bus")


class Outcome(StrEnum):
    """How a question ended."""

    ANSWERED = "answered"
    NOT_NOW = "not_now"
    REFUSED = "refused"
    FAILED = "failed"


ASKED = Counter("muster_bus_questions", "Questions, by how they ended", ["desk", "outcome"])
SECONDS = Histogram(
    "muster_bus_answering_seconds",
    "Seconds until a question was answered",
    ["desk"],
    buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back."""

    body: bytes
    headers: dict[str, str]


class Answering:
    """Everything that one responder is asked. most: bytes of a message on this connection."""

    def __init__(self, responder: Responder, most: int) -> None:
        self._desk, self._answer = responder.desk, responder.answer
        self._most = most - ANSWER_MARGIN

    async def handle(self, message: Msg) -> Reply:
        """Answer one question. Never raises but to be cancelled."""
        began = time.perf_counter()
        outcome, reply = await self._handled(message)
        SECONDS.labels(self._desk.group).observe(time.perf_counter() - began)
        ASKED.labels(self._desk.group, outcome).inc()
        return reply

    async def _handled(self, message: Msg) -> tuple[Outcome, Reply]:
        headers = tuple(message.headers.items()) if message.headers else ()
        question = Question(message.subject, message.data, headers)
        try:
            self._check(len(message.data), self._desk.most_bytes, "question")
            with answering(self._desk.group, question):
                body = await self._answer(question)
            self._check(len(body), self._most, "answer")
        except (Temporary, Conflict) as error:
            return Outcome.NOT_NOW, _no(NOT_NOW, error)
        except Permanent as error:
            return Outcome.REFUSED, _no(REFUSED, error)
        except Exception as error:  # noqa: BLE001 - who asked must hear of it
            _LOG.error("question failed", subject=message.subject, exc_info=error)
            return Outcome.FAILED, _no(REFUSED, error)
        return Outcome.ANSWERED, Reply(body, {})

    def _check(self, size: int, most: int, what: str) -> None:
        if size > most:
            raise Permanent(f"the {what} has {size} bytes; {most} are the most: ask for less")


def _no(header: str, error: Exception) -> Reply:
    why = (str(error) or type(error).__name__)[:LONGEST_REASON]
    return Reply(why.encode(), {header: type(error).__name__})
