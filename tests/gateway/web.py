"""The application without a socket: a client for plain answers, and a reader of one stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from starlette.types import ASGIApp, Message

from muster.gateway.http.app import create
from muster.gateway.http.surface import Surface
from tests.gateway.worlds import Gateway

HOST = "127.0.0.1:8420"


def application(gateway: Gateway) -> ASGIApp:
    """The application over a gateway's parts."""
    return create(
        Surface(gateway.reading, gateway.hub, gateway.readiness, gateway.bus, gateway.settings)
    )


def client(app: ASGIApp) -> httpx.AsyncClient:
    """A client of it; errors of the application are answers, as over a socket."""
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}")


@dataclass
class Event:
    """One server-sent event; name "" and data None for a comment."""

    name: str = ""
    id: int | None = None
    data: Any = None


@dataclass
class Connection:
    """One open stream as its client sees it. blocked: the client does not read."""

    app: ASGIApp
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 0
    over: bool = False

    def __post_init__(self) -> None:
        self._came: asyncio.Queue[bytes] = asyncio.Queue()
        self._reads = asyncio.Event()
        self._reads.set()
        self._gone = asyncio.Event()
        self._text = ""

    def block(self) -> None:
        """Stop reading: what is sent from now on waits."""
        self._reads.clear()

    def unblock(self) -> None:
        self._reads.set()

    def leave(self) -> None:
        """The client closes its end."""
        self._gone.set()

    async def run(self) -> None:
        path, _, query = self.path.partition("?")
        headers = {"host": HOST, **self.headers}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(k.lower().encode(), v.encode()) for k, v in headers.items()],
            "server": ("127.0.0.1", 8420),
            "client": ("127.0.0.1", 50000),
        }
        sent = False

        async def receive() -> Message:
            nonlocal sent
            if not sent:
                sent = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await self._gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            await self._reads.wait()
            if message["type"] == "http.response.start":
                self.status = message["status"]
            else:
                self._came.put_nowait(message["body"])

        try:
            await self.app(scope, receive, send)
        finally:
            self.over = True
            self._came.put_nowait(b"")

    async def next(self, *names: str) -> Event:
        """The next event, of these names if some are given (heartbeats have none)."""
        async with asyncio.timeout(10):
            while True:
                event = await self._any()
                if event.name in names or (not names and event.name):
                    return event

    async def _any(self) -> Event:
        while "\n\n" not in self._text:
            chunk = await self._came.get()
            if not chunk and self.over:
                raise EOFError("the stream is over")
            self._text += chunk.decode()
        block, _, self._text = self._text.partition("\n\n")
        event = Event()
        for line in block.split("\n"):
            name, _, value = line.partition(": ")
            match name:
                case "event":
                    event.name = value
                case "id":
                    event.id = int(value)
                case "data":
                    event.data = json.loads(value)
        return event

    async def beat(self) -> None:
        """Wait for a sign of life."""
        async with asyncio.timeout(10):
            while (await self._any()).name:
                pass


@asynccontextmanager
async def stream(
    app: ASGIApp, query: str = "", headers: dict[str, str] | None = None
) -> AsyncIterator[Connection]:
    """An open stream; left at the end."""
    connection = Connection(app, f"/api/v1/stream{query}", headers or {})
    running = asyncio.create_task(connection.run())
    try:
        yield connection
    finally:
        connection.unblock()
        connection.leave()
        await running
