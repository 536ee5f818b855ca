"""A connection for a program outside: reconnects for ever, and says nothing by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import nats
from nats.errors import Error as NatsError

from muster.client.client import MusterClient
from muster.domain.errors import Temporary
from muster.domain.troubles import trouble_of, unreachable

RECONNECT_S = 0.5
PENDING_BYTES = 8 * 1024 * 1024


class _Last:
    """The last error: a lost connection shows in the operation that needs it, and says this."""

    error: Exception | None = None

    async def keep(self, error: Exception) -> None:
        """Say nothing, but keep it; one whose cause is known is not lost for one that is not."""
        if self.error is None or trouble_of(str(error)) is not None:
            self.error = error


@asynccontextmanager
async def connect(
    url: str = "nats://127.0.0.1:4222",
    *,
    credentials: Path | None = None,
    name: str = "muster-client",
    inbox: str = "_INBOX",
    wait: float = 5.0,
) -> AsyncIterator[MusterClient]:
    """Have a client while the block runs.

    url: one or several, comma-separated; may carry a token or a user and password. inbox: prefix of
    reply subjects, where permissions ask for one. wait: seconds for the first connection.
    Raises Temporary when nobody answers.
    """
    last = _Last()
    try:
        async with asyncio.timeout(wait):
            connection = await nats.connect(
                servers=[server.strip() for server in url.split(",")],
                name=name,
                inbox_prefix=inbox,
                user_credentials=str(credentials) if credentials else None,
                max_reconnect_attempts=-1,
                reconnect_time_wait=RECONNECT_S,
                pending_size=PENDING_BYTES,
                error_cb=last.keep,
            )
    except (NatsError, OSError, TimeoutError) as error:
        raise Temporary(unreachable(last.error or error)) from error
    client = MusterClient(connection)
    try:
        yield client
    finally:
        await client.close()
        await connection.close()
