"""The other end of a line that answers as it is told to: whole replies, or none."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import httpx


@dataclass(frozen=True)
class Reply:
    """What comes back; lost: the error that comes instead."""

    body: object = field(default_factory=lambda: {"code": 0, "msg": "success"})
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    lost: type[httpx.HTTPError] | None = None


OK = Reply()


def code(number: int, text: str = "", **more: Any) -> Reply:
    """A refusal, as the bot words it: with HTTP 200."""
    return Reply({"code": number, "msg": text, "data": {}}, **more)


@dataclass
class Wire(httpx.AsyncBaseTransport):
    """Answers with `replies`, one after another, and then with `rest`. Notes what was sent when."""

    now: Callable[[], datetime]
    replies: list[Reply] = field(default_factory=list)
    rest: Reply = OK
    at: list[datetime] = field(default_factory=list)
    sent: list[dict[str, Any]] = field(default_factory=list)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.at.append(self.now())
        self.sent.append(json.loads(await request.aread()))
        reply = self.replies.pop(0) if self.replies else self.rest
        if reply.lost is not None:
            raise reply.lost("away")
        body = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
        return httpx.Response(reply.status, headers=reply.headers, content=_stream(body))

    @property
    def gaps(self) -> list[float]:
        """Seconds from each request to the next."""
        return [
            (after - before).total_seconds()
            for before, after in zip(self.at, self.at[1:], strict=False)
        ]

    @property
    def forms(self) -> list[str]:
        """Whether each was a card or text."""
        return [body["msg_type"] for body in self.sent]


async def _stream(body: str) -> AsyncIterator[bytes]:
    yield body.encode()
