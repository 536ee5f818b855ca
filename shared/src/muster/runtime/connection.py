"""Opening a connection to NATS with the options that a control plane needs.

It reconnects for ever; a connection that is closed all the same is final, and `on_closed` is told
so that the process can end and be started again. Called by whoever hosts services, and by the CLI.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from muster.bus.provision import check_server
from muster.domain.errors import Permanent, Temporary
from muster.domain.troubles import told, unreachable
from muster.runtime.nats_client import QuickClient

Connection: TypeAlias = Client
"""What `connect` returns, for those who pass it on and do not speak NATS themselves."""

RECONNECT_WAIT_S = 0.5
PING_S = 10
OUTSTANDING_PINGS = 2
PENDING_BYTES = 8 * 1024 * 1024


class NatsSettings(BaseModel):
    """How NATS is reached, and as whom. servers: comma-separated URLs.

    One of these says who we are, or the URL does: credentials (a file with JWT and seed), nkey (a
    file with a seed), or user and password. inbox: prefix of our reply subjects, where permissions
    ask for one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    servers: str = "nats://127.0.0.1:4222"
    name: str = "muster"
    inbox: str = "_INBOX"
    credentials: Path | None = None
    nkey: Path | None = None
    user: str | None = None
    password: SecretStr | None = None
    wait_s: float = Field(default=30.0, gt=0)


def _ignore() -> None: ...


async def connect(settings: NatsSettings, on_closed: Callable[[], None] = _ignore) -> Client:
    """Open a connection. Raises Temporary when nobody answers in `wait_s`, ServerTooOld."""
    connection = QuickClient()
    listener = _Listener(settings.name, connection, on_closed)
    try:
        async with asyncio.timeout(settings.wait_s):
            await connection.connect(**_options(settings, listener))
        check_server(connection)
    except (NatsError, OSError, TimeoutError) as error:
        await connection.close()
        raise Temporary(unreachable(listener.last or error), 2.0) from error
    except Permanent:
        await connection.close()
        raise
    listener.opened = True
    return connection


class _Listener:
    """Hears what becomes of a connection, and logs it.

    opened: `connect` has succeeded. last: the last error. The same cause is told once until the
    connection is there again: a wrong password is not a line twice a second.
    """

    def __init__(self, name: str, connection: QuickClient, on_closed: Callable[[], None]) -> None:
        self._connection, self._on_closed = connection, on_closed
        self._log = structlog.get_logger("muster.nats").bind(connection=name)
        self.opened = False
        self.last: Exception | None = None
        self._told: str | None = None
        self._over: Exception | None = None

    async def on_error(self, error: Exception) -> None:
        """Tell; and end a reconnection that has missed its cancellation when we were closed.

        Whoever closes meets errors, too, as does a connection that never was one: these are told.
        """
        if self._connection.is_closed and self._connection.reconnects_here():
            raise asyncio.CancelledError
        words = f"{type(error).__name__}: {error}"
        meant = told(words)
        if meant or self._told is None:
            self.last = error
        if meant and self._told == meant["trouble"]:
            return
        self._told = meant.get("trouble", self._told)
        self._log.log(40 if meant else 30, "nats error", error=words, **meant)

    async def on_disconnected(self) -> None:
        """Tell."""
        self._log.warning("nats disconnected")

    async def on_reconnected(self) -> None:
        """Tell."""
        self._told, self._over = None, self._connection.last_error
        self._log.info("nats reconnected")

    async def closed(self) -> None:
        """Tell, also whoever opened it. The server closes ours when it stops to accept us."""
        error = self._connection.last_error
        words = str(error or "")
        if error is not self._over and (meant := told(words)):
            self._log.error("nats connection closed", error=words, **meant)
        else:
            self._log.info("nats connection closed")
        if self.opened:
            self._on_closed()


def _options(settings: NatsSettings, listener: _Listener) -> dict[str, Any]:
    options: dict[str, Any] = {
        "servers": [server.strip() for server in settings.servers.split(",")],
        "name": settings.name,
        "inbox_prefix": settings.inbox,
        "max_reconnect_attempts": -1,
        "reconnect_time_wait": RECONNECT_WAIT_S,
        "ping_interval": PING_S,
        "max_outstanding_pings": OUTSTANDING_PINGS,
        "pending_size": PENDING_BYTES,
        "flush_timeout": 10,
        "error_cb": listener.on_error,
        "disconnected_cb": listener.on_disconnected,
        "reconnected_cb": listener.on_reconnected,
        "closed_cb": listener.closed,
    }
    return options | _identity(settings)


def _identity(settings: NatsSettings) -> dict[str, Any]:
    identity: dict[str, Any] = {
        "user_credentials": str(settings.credentials) if settings.credentials else None,
        "nkeys_seed": str(settings.nkey) if settings.nkey else None,
        "user": settings.user,
        "password": settings.password.get_secret_value() if settings.password else None,
    }
    return {name: value for name, value in identity.items() if value is not None}
