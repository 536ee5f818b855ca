"""The Feishu custom bot: one signed POST to a webhook, judged by the bot's own code.

Every attempt is signed anew, redirects are not followed, the reply is bounded in size and time, and
nothing that leaves this module - outcome, log line, error - contains the address. Two refusals get
one more request at once: a card that the bot cannot read is sent as plain text, and a signature
that it calls too old is repeated with the bot's own time if the clocks differ.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Final

import httpx

from muster.notifier.allowlist import Allowlist
from muster.notifier.channels.port import Address
from muster.notifier.channels.redaction import install, quiet, redact
from muster.notifier.channels.replies import Fault, Reply, read
from muster.notifier.channels.signature import sign
from muster.notifier.core.delivery import Delivery, Outcome
from muster.notifier.core.message import JsonObject, Message, encode

MAX_BODY: Final = 18_000
"""Bytes of a request; the bot refuses more than 20 KB."""
_MAX_REPLY: Final = 64 * 1024
_CLOCK_SLACK: Final = timedelta(minutes=5)
_HEADERS: Final = {
    "content-type": "application/json; charset=utf-8",
    "accept": "application/json",
    "accept-encoding": "identity",
}
_NOTHING_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)


class FeishuChannel:
    """Sends to Feishu and Lark custom bots. `timeout` is seconds for one whole request."""

    def __init__(
        self,
        allowlist: Allowlist,
        *,
        timeout: float = 10.0,
        proxy: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        install()
        self._allowlist = allowlist
        self._timeout = timeout
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(timeout, connect=min(5.0, timeout)),
            follow_redirects=False,
            trust_env=False,
            proxy=proxy,
            transport=transport,
        )

    async def send(self, address: Address | None, message: Message, at: datetime) -> Delivery:
        """Send the card; see the module for the two refusals that are followed up."""
        if address is None or not self._allowlist.allows(address.url.get_secret_value()):
            return Delivery(Outcome.REFUSED, "address", "the webhook address is not allowed")
        reply = await self._post(address, _card(message), at)
        if reply.fault is Fault.SIGNATURE and _clocks_differ(reply, at):
            at = reply.server_time or at
            reply = await self._post(address, _card(message), at)
        if reply.fault is Fault.CONTENT:
            return await self._fall_back(address, message, at, reply)
        return _delivery(reply, address)

    async def close(self) -> None:
        """Close the connections."""
        with quiet():
            await self._client.aclose()

    async def _fall_back(
        self, address: Address, message: Message, at: datetime, refused: Reply
    ) -> Delivery:
        reply = await self._post(address, _text(message), at)
        outcome = _delivery(reply, address)
        if outcome.outcome is not Outcome.DELIVERED:
            return outcome
        note = redact(f"sent as plain text; the card was refused: {refused.text}", address)
        return Delivery(Outcome.DELIVERED, refused.code, note)

    async def _post(self, address: Address, content: JsonObject, at: datetime) -> Reply:
        body = encode({**_signature(address, at), **content}).encode("utf-8", "replace")
        if len(body) > MAX_BODY:
            return Reply(Outcome.REFUSED, "too_large", f"{len(body)} bytes", Fault.CONTENT)
        try:
            with quiet():
                async with asyncio.timeout(self._timeout):
                    return await self._exchange(address, body)
        except _NOTHING_SENT as error:
            return Reply(Outcome.RETRY, "unreachable", type(error).__name__)
        except (httpx.HTTPError, TimeoutError) as error:
            return Reply(Outcome.UNKNOWN, "no_reply", type(error).__name__)
        except httpx.InvalidURL:
            return Reply(Outcome.REFUSED, "address", "the webhook address is not a URL")

    async def _exchange(self, address: Address, body: bytes) -> Reply:
        url = address.url.get_secret_value()
        async with self._client.stream("POST", url, content=body, headers=_HEADERS) as response:
            told = bytearray()
            async for chunk in response.aiter_raw():
                told += chunk
                if len(told) > _MAX_REPLY:
                    told.clear()
                    break
            headers = {name.lower(): value for name, value in response.headers.items()}
            return read(response.status_code, headers, bytes(told))


def _signature(address: Address, at: datetime) -> JsonObject:
    secret = address.secret.get_secret_value() if address.secret else ""
    if not secret.strip():
        return {}
    timestamp = int(at.timestamp())
    return {"timestamp": str(timestamp), "sign": sign(timestamp, secret)}


def _card(message: Message) -> JsonObject:
    return {"msg_type": "interactive", "card": message.card}


def _text(message: Message) -> JsonObject:
    content: JsonObject = {"text": message.text}
    return {"msg_type": "text", "content": content}


def _clocks_differ(reply: Reply, at: datetime) -> bool:
    return reply.server_time is not None and abs(reply.server_time - at) > _CLOCK_SLACK


def _delivery(reply: Reply, address: Address) -> Delivery:
    return Delivery(reply.outcome, reply.code, redact(reply.text, address), reply.retry_after)
