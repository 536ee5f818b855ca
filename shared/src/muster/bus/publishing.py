"""Publishing to a stream until it is certain that the message is stored, and once only.

Called by the bus for answers, parked messages and replays. Events are the log's to write.
"""

from __future__ import annotations

import asyncio

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.errors import MaxPayloadError

from muster.bus.api import Refused, answered, why_away
from muster.domain.errors import Permanent, Temporary

MSG_ID = "Nats-Msg-Id"
ANSWER_S = 2.0
PATIENCE_S = 20.0
PAUSE_S = 0.05
MAX_PAUSE_S = 1.0


async def publish_stored(
    connection: Client,
    subject: str,
    body: bytes,
    *,
    id: str,  # noqa: A002 - what the header calls it
    headers: dict[str, str] | None = None,
    patience: float = PATIENCE_S,
) -> None:
    """Publish and wait for the stream's word; again with the same id while there is none.

    Raises Permanent when the stream refuses it, Temporary when nobody took it in `patience` s.
    """
    headers = {**(headers or {}), MSG_ID: id}
    loop = asyncio.get_running_loop()
    end, pause = loop.time() + patience, PAUSE_S
    while True:
        try:
            message = await connection.request(subject, body, timeout=ANSWER_S, headers=headers)
            answered(message.data)
            return
        except MaxPayloadError as error:
            raise Permanent(f"{len(body)} bytes for {subject} are too many") from error
        except Refused as refused:
            if refused.is_final:
                raise Permanent(f"{subject}: {refused}") from refused
            reason: Exception = refused
        except NatsError as error:
            reason = error
        if loop.time() + pause >= end:
            raise Temporary(why_away(connection, f"{subject}: {reason}")) from reason
        await asyncio.sleep(pause)
        pause = min(2 * pause, MAX_PAUSE_S)
