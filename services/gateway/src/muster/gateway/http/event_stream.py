"""The response that carries a stream of events; ends when the client goes or does not read.

Knows nothing of jobs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import structlog
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class EventStream(Response):
    """send_s: seconds that one write may take. done: called when the stream is over."""

    media_type = "text/event-stream"

    def __init__(
        self, chunks: AsyncIterator[bytes], send_s: float, done: Callable[[], None]
    ) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._chunks, self._send_s, self._done = chunks, send_s, done

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the first of: no more events, the client is gone, a write takes too long."""
        pump = asyncio.create_task(self._pump(send))
        gone = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait({pump, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (pump, gone):
                task.cancel()
            await asyncio.wait({pump, gone})
            self._done()
        if not pump.cancelled() and (error := pump.exception()) is not None:
            raise error

    async def _pump(self, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        try:
            async with asyncio.timeout(self._send_s):
                await send(start)
            async for chunk in self._chunks:
                async with asyncio.timeout(self._send_s):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (TimeoutError, OSError):
            structlog.get_logger().info("a stream ended: its client does not read")
        finally:
            await self._close()

    async def _close(self) -> None:
        close = getattr(self._chunks, "aclose", None)
        if close is not None:
            await close()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
