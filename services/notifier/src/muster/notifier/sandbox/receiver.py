"""The ASGI application: bots that are spoken to, what they got, and how they are set up.

POST of a webhook's path is judged; everything else is for whoever rehearses: `GET /` is the page,
`GET /received` the list, `/sandbox/bots` the bots (see `control.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import InitVar, dataclass, field, replace
from typing import Any

from muster.notifier.sandbox import control
from muster.notifier.sandbox.answers import KEPT, REFUSED, TEXTS, Answer, of_code, told
from muster.notifier.sandbox.bots import Bot, Received
from muster.notifier.sandbox.judging import MAX_BODY, Refused, judge
from muster.notifier.sandbox.page import page_html

HOOK = "/open-apis/bot/v2/hook/"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


@dataclass
class Receiver:
    """named: token -> bot, or its signing secret ("" = the bot checks no signature).

    clock gives seconds since the epoch. refuse_next: codes and texts to answer with before normal
    service, whichever bot is asked. cut: resets the connection of a peer, where there is one.
    """

    named: InitVar[Mapping[str, Bot | str]]
    clock: Callable[[], float]
    received: list[Received] = field(default_factory=list)
    refuse_next: list[tuple[int, str]] = field(default_factory=list)
    bots: MutableMapping[str, Bot] = field(init=False, default_factory=dict)
    cut: Callable[[object], None] | None = field(init=False, default=None)

    def __post_init__(self, named: Mapping[str, Bot | str]) -> None:
        for token, bot in named.items():
            self.bots[token] = bot if isinstance(bot, Bot) else Bot(secret=bot)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Serve one HTTP request; the ASGI entry."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "http":
            body = await _read(receive)
            answer = self._route(scope, body)
            if answer.cut:
                if self.cut is None:
                    raise ConnectionResetError
                self.cut(scope["client"])
            elif answer.wait_s is None:
                await _gone(receive)
            else:
                await asyncio.sleep(answer.wait_s)
                await _reply(send, answer)

    def _route(self, scope: Mapping[str, Any], body: bytes) -> Answer:
        method, path = scope["method"], scope["path"]
        peer = (scope.get("client") or ("", 0))[0]
        match method, path:
            case "GET", "/":
                page = page_html(self.received, self.bots).encode("utf-8", "replace")
                return Answer(
                    page, 200, "text/html; charset=utf-8", {"content-security-policy": _POLICY}
                )
            case "GET", "/received":
                return told({"received": [message.summary() for message in self.received]})
            case "DELETE", "/received":
                self.received.clear()
                return told({})
            case "POST", _ if path.startswith(HOOK):
                return self.answer(path.removeprefix(HOOK), body, peer)
            case _ if path.startswith(control.PATH):
                return control.answer(self.bots, method, path.removeprefix(control.PATH), body)
            case _:
                return told({"code": 404, "msg": "not found"}, 404)

    def answer(self, token: str, body: bytes, peer: str) -> Answer:
        """Judge a message, and answer in the mode that the bot is in."""
        bot = self.bots.get(token)
        mode = "ok" if bot is None else bot.turn()
        if mode in REFUSED:
            return REFUSED[mode]
        code, text = self.take(token, body, peer)
        if code or mode == "ok":
            return of_code(code, text)
        if bot is not None and mode == "slow":
            return replace(KEPT[mode], wait_s=bot.slow_s)
        return KEPT[mode]

    def take(self, token: str, body: bytes, peer: str = "127.0.0.1") -> tuple[int, str]:
        """Judge one message as the bot does; keep it if it is accepted. Returns code and text."""
        bot = self.bots.get(token)
        if bot is None:
            return 19001, TEXTS[19001]
        try:
            found = judge(bot, token, body, self.clock(), peer)
        except Refused as refused:
            return refused.code, TEXTS[refused.code] if refused.text is None else refused.text
        if self.refuse_next:
            return self.refuse_next.pop(0)
        self.received.append(found)
        return 0, TEXTS[0]


async def _read(receive: Receive) -> bytes:
    body = b""
    while len(body) <= MAX_BODY:
        event = await receive()
        body += event.get("body", b"")
        if not event.get("more_body", False):
            break
    return body


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _reply(send: Send, answer: Answer) -> None:
    named = {"content-type": answer.type, "content-length": str(len(answer.body)), **answer.headers}
    headers = [(name.encode(), value.encode()) for name, value in named.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        event = await receive()
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return
