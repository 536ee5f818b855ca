"""A Feishu bot on this machine: the other end of the line, for the demo and for tests.

It checks what the real bot checks - address, signature, clock, form - and answers as it does, with
HTTP 200 even for a refusal. Whatever it accepts stays readable at `GET /received` and as
`received`. For loopback only; it must never stand in for the real receiver in production.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from muster.notifier.channels.signature import sign

HOOK = "/open-apis/bot/v2/hook/"
CLOCK_SLACK_S = 3600
MAX_BODY = 20 * 1024

_Receive = Callable[[], Awaitable[dict[str, Any]]]
_Send = Callable[[dict[str, Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Received:
    """One accepted message. text is every line that a person would read, top to bottom."""

    token: str
    at: float
    kind: str
    colour: str
    title: str
    text: str
    body: Mapping[str, Any]

    def summary(self) -> dict[str, object]:
        """Return the message as it is listed at /received."""
        shown = {"at": self.at, "kind": self.kind, "colour": self.colour, "title": self.title}
        return {**shown, "text": self.text, "body": self.body}


@dataclass
class Receiver:
    """An ASGI application. bots: token -> signing secret ("" = the bot checks no signature).

    clock gives seconds since the epoch. refuse_next: codes to answer with before normal service,
    so that a rehearsal can show refusals.
    """

    bots: Mapping[str, str]
    clock: Callable[[], float]
    received: list[Received] = field(default_factory=list)
    refuse_next: list[tuple[int, str]] = field(default_factory=list)

    async def __call__(self, scope: dict[str, Any], receive: _Receive, send: _Send) -> None:
        """Serve one HTTP request; the ASGI entry."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "http":
            body = await _read(receive)
            status, answer = self._route(scope["method"], scope["path"], body)
            await _reply(send, status, answer)

    def _route(self, method: str, path: str, body: bytes) -> tuple[int, object]:
        if method == "GET" and path == "/received":
            return 200, {"received": [message.summary() for message in self.received]}
        if method == "POST" and path.startswith(HOOK):
            code, text = self.take(path.removeprefix(HOOK), body)
            return 200, _answer(code, text)
        return 404, {"code": 404, "msg": "not found"}

    def take(self, token: str, body: bytes) -> tuple[int, str]:
        """Judge one message as the bot does; keep it if it is accepted. Returns code and text."""
        if token not in self.bots:
            return 19001, "param invalid: incoming webhook access token invalid"
        message = _parse(body)
        if message is None:
            return 9499, "Bad Request"
        if not self._signed(message, self.bots[token]):
            return 19021, "sign match fail or timestamp is not within one hour from current time"
        if self.refuse_next:
            return self.refuse_next.pop(0)
        accepted = _accept(token, self.clock(), message)
        if accepted is None:
            return 19002, "param invalid: msg_type or its content"
        self.received.append(accepted)
        return 0, "success"

    def _signed(self, message: Mapping[str, Any], secret: str) -> bool:
        if not secret:
            return True
        timestamp, given = message.get("timestamp"), message.get("sign")
        if not isinstance(timestamp, str) or not timestamp.isascii() or not timestamp.isdigit():
            return False
        if abs(self.clock() - int(timestamp)) > CLOCK_SLACK_S or not isinstance(given, str):
            return False
        return hmac.compare_digest(sign(int(timestamp), secret).encode(), given.encode())


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
        config = uvicorn.Config(receiver, log_config=None, access_log=False, ws="none")
        server = _Server(config)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        await server.listening.wait()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await task


def _parse(body: bytes) -> Mapping[str, Any] | None:
    if len(body) > MAX_BODY:
        return None
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _accept(token: str, at: float, message: Mapping[str, Any]) -> Received | None:
    kind = message.get("msg_type")
    if kind == "interactive" and _is_card(message.get("card")):
        card = message["card"]
        title = card["header"]["title"]["content"]
        colour = str(card["header"].get("template", "default"))
        lines = "\n".join((title, *_lines(card["body"]["elements"])))
        return Received(token, at, "interactive", colour, title, lines, message)
    content = message.get("content")
    if kind == "text" and isinstance(content, dict) and isinstance(content.get("text"), str):
        text = content["text"]
        return Received(token, at, "text", "", text.partition("\n")[0], text, message)
    return None


def _is_card(card: object) -> bool:
    match card:
        case {
            "schema": "2.0",
            "header": {"title": {"content": str()}},
            "body": {"elements": list()},
        }:
            return True
        case _:
            return False


def _lines(node: object) -> Iterator[str]:
    """Yield every text of a card's elements in reading order."""
    if isinstance(node, dict):
        if isinstance(node.get("content"), str):
            yield node["content"]
        for value in node.values():
            yield from _lines(value)
    elif isinstance(node, list):
        for value in node:
            yield from _lines(value)


def _answer(code: int, text: str) -> dict[str, object]:
    if code:
        return {"code": code, "msg": text, "data": {}}
    legacy = {"Extra": None, "StatusCode": 0, "StatusMessage": "success"}
    return {"code": 0, "msg": text, "data": {}, **legacy}


async def _read(receive: _Receive) -> bytes:
    body = b""
    while len(body) <= MAX_BODY:
        event = await receive()
        body += event.get("body", b"")
        if not event.get("more_body", False):
            break
    return body


async def _reply(send: _Send, status: int, answer: object) -> None:
    body = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")
    headers = [(b"content-type", b"application/json; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _lifespan(receive: _Receive, send: _Send) -> None:
    while True:
        event = await receive()
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return
