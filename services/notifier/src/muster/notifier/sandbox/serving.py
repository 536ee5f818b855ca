"""Serves a stand-in on loopback, with connections that can be reset."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from muster.notifier.sandbox.receiver import Receiver


def new_token() -> str:
    """Return a fresh webhook token."""
    return secrets.token_hex(16)


class _Server(uvicorn.Server):
    """Says when it listens, and leaves the process's signals to whoever runs the process."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serving(receiver: Receiver, port: int = 0) -> AsyncIterator[str]:
    """Serve on loopback while the block runs; yields the origin, e.g. `http://127.0.0.1:40123`.

    Raises OSError if the port is taken. No access log: each path is a bot's credential.
    """
    with socket.create_server(("127.0.0.1", port)) as listener:
        config = uvicorn.Config(
            receiver,
            http=_protocol(receiver),
            log_config=None,
            access_log=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=1,
        )
        server = _Server(config)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        await server.listening.wait()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await task


def _protocol(receiver: Receiver) -> type[H11Protocol]:
    """Return a protocol that knows its connections by their peers, so that one can be reset."""
    wires: dict[object, asyncio.Transport] = {}

    class Wire(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            wires[self.client] = transport

        def connection_lost(self, exc: Exception | None) -> None:
            wires.pop(self.client, None)
            super().connection_lost(exc)

    receiver.cut = lambda peer: _reset(wires[peer])
    return Wire


def _reset(wire: asyncio.Transport) -> None:
    """Close with a reset, as a process that dies does, not with an orderly end."""
    raw = wire.get_extra_info("socket")
    if raw is not None:
        linger = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    wire.abort()
