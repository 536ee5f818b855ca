"""Health and metrics of a process over HTTP: `/healthz`, `/readyz`, `/metrics`.

healthz: the event loop turns. readyz: every service can do its work now, or the body says which
cannot and why. The gateway has its own server for people; this one is for the platform.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

CHECK_S = 3.0

Check = Callable[[], Awaitable[None]]
Page = Callable[[], bytes]
NO_PAGES: Mapping[str, Page] = {}

_REASONS = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


class HealthServer:
    """A few fixed GET pages; not a web framework's job. checks: name -> raises when not ready.

    pages: path -> metrics that are not this process's own, as a job's are.
    """

    def __init__(self, checks: Mapping[str, Check], pages: Mapping[str, Page] = NO_PAGES) -> None:
        self._checks, self._pages = checks, pages
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen; returns the port."""
        self._server = await asyncio.start_server(self._serve, host, port, limit=8192)
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def stop(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(CHECK_S * 2):
                request = (await reader.readline()).decode("latin-1").split()
                while (await reader.readline()).strip():
                    pass
                status, kind, body = await self._page(request)
                writer.write(_response(status, kind, body))
                await writer.drain()
        except (TimeoutError, ConnectionError, ValueError):
            pass
        finally:
            writer.close()

    async def _page(self, request: list[str]) -> tuple[int, str, bytes]:
        if len(request) < 2 or request[0] not in {"GET", "HEAD"}:
            return 405, "text/plain", b"only GET\n"
        match request[1].partition("?")[0]:
            case "/healthz":
                return 200, "text/plain", b"ok\n"
            case "/readyz":
                return await self._ready()
            case "/metrics":
                return 200, CONTENT_TYPE_LATEST, generate_latest()
            case path if path in self._pages:
                return 200, CONTENT_TYPE_LATEST, self._pages[path]()
            case _:
                return 404, "text/plain", b"try /healthz, /readyz or /metrics\n"

    async def _ready(self) -> tuple[int, str, bytes]:
        found = {name: await _problem(check) for name, check in self._checks.items()}
        body = {name: problem or "ready" for name, problem in found.items()}
        status = 503 if any(found.values()) else 200
        return status, "application/json", json.dumps(body).encode() + b"\n"


async def _problem(check: Check) -> str | None:
    try:
        await asyncio.wait_for(check(), CHECK_S)
    except TimeoutError:
        return f"no answer within {CHECK_S:g} s"
    except Exception as error:  # noqa: BLE001 - whatever is wrong is the answer
        return str(error) or type(error).__name__
    return None


def _response(status: int, kind: str, body: bytes) -> bytes:
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
