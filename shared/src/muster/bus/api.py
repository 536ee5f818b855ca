"""The JetStream API as the bus uses it: one question, one answer, errors that say what they are.

Called by what provisions, publishes and checks; not for messages themselves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nats.aio.client import Client
from nats.errors import Error as NatsError

from muster.domain.errors import Temporary
from muster.domain.troubles import LIMITS, away, explained

PREFIX = "$JS.API"
STREAM_NOT_FOUND = 10059
CONSUMER_NOT_FOUND = 10014
MESSAGE_NOT_FOUND = 10037
NOT_FOUND = frozenset({STREAM_NOT_FOUND, CONSUMER_NOT_FOUND, MESSAGE_NOT_FOUND})
NO_SUITABLE_PEERS = 10005
INVALID_CONFIGURATION = 10052
ANSWER_S = 5.0


class Refused(Exception):
    """The server answered with an error of its API."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        self.code = int(error.get("code", 0))
        self.err_code = int(error.get("err_code", 0))
        words = f"{error.get('description', 'refused')} ({self.err_code or self.code})"
        super().__init__(explained(words))

    @property
    def is_final(self) -> bool:
        """Whether the same question would be refused again.

        409 (another copy is being stored), 429 and 5xx may be over soon. Some errors have a code
        that misleads: a young cluster finds its peers in a moment, a bad configuration stays one,
        and a limit of the account is no fault of what was sent.
        """
        if self.err_code in LIMITS:
            return False
        if self.err_code in {NO_SUITABLE_PEERS, INVALID_CONFIGURATION}:
            return self.err_code == INVALID_CONFIGURATION
        return 400 <= self.code < 500 and self.code not in {408, 409, 429}


async def call(
    connection: Client,
    subject: str,
    arguments: Mapping[str, object] | None = None,
    *,
    timeout: float = ANSWER_S,
) -> dict[str, Any]:
    """Ask `$JS.API.<subject>`. Raises Refused, Temporary when nobody answers."""
    body = json.dumps(arguments).encode() if arguments else b""
    try:
        message = await connection.request(f"{PREFIX}.{subject}", body, timeout=timeout)
    except NatsError as error:
        why = f"JetStream does not answer {subject}: {error}"
        raise Temporary(why_away(connection, why)) from error
    return answered(message.data)


def why_away(connection: Client, why: str) -> str:
    """Return the words for a question that got no answer, with why the connection is not there."""
    return why if connection.is_connected else away(why, connection.last_error)


def answered(body: bytes) -> dict[str, Any]:
    """Read an answer. Raises Refused when it is an error."""
    answer: dict[str, Any] = json.loads(body)
    if error := answer.get("error"):
        raise Refused(error)
    return answer
