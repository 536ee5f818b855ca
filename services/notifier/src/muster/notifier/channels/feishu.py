"""Feishu and Lark custom bots: one signed POST to a webhook, judged by the bot's own code.

Every request is signed anew. What a refusal leads to - plain text instead of the card, the bot's
own time in the signature - is decided elsewhere, so that it keeps to the limits like any request.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

from muster.notifier.allowlist import FEISHU, LARK, Allowlist
from muster.notifier.channels.kinds import ChannelKind, Means
from muster.notifier.channels.port import Address
from muster.notifier.channels.posting import Post
from muster.notifier.channels.redaction import redact
from muster.notifier.channels.replies import read
from muster.notifier.channels.signature import sign
from muster.notifier.core.delivery import Delivery, Fault, Form
from muster.notifier.core.limits import CHAT_BOT
from muster.notifier.core.message import JsonObject, Message, encode
from muster.notifier.core.notice import Language

MAX_BODY: Final = 18_000
"""Bytes of a request; the bot refuses more than 20 KB."""
_HEADERS: Final = {
    "content-type": "application/json; charset=utf-8",
    "accept": "application/json",
    "accept-encoding": "identity",
}


class FeishuChannel:
    """Sends to custom bots of one origin, and of the operator's own."""

    limits = CHAT_BOT

    def __init__(self, post: Post, allowlist: Allowlist) -> None:
        self._post, self._allowlist = post, allowlist

    async def send(
        self, address: Address | None, message: Message, at: datetime, form: Form
    ) -> Delivery:
        """Send the card, or its text."""
        if address is None or not self._allowlist.allows(address.url.get_secret_value()):
            return Delivery(Fault.ADDRESS, "address", "the webhook address is not allowed")
        content = _card(message) if form is Form.CARD else _text(message)
        body = encode({**_signature(address, at), **content}).encode("utf-8", "replace")
        if len(body) > MAX_BODY:
            return Delivery(Fault.CONTENT, "too_large", f"{len(body)} bytes")
        told = await self._post(address, body, _HEADERS, read)
        return replace(told, text=redact(told.text, address))

    async def close(self) -> None:
        """Close the connections."""
        await self._post.close()


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


def _kind(name: str, language: Language, origin: str) -> ChannelKind:
    def build(means: Means) -> FeishuChannel:
        return FeishuChannel(means.post(), means.allowlist.only(origin))

    def allows(url: str, allowlist: Allowlist) -> bool:
        return allowlist.only(origin).allows(url)

    return ChannelKind(name, language, build, allows)


KINDS = (_kind("feishu", "zh", FEISHU), _kind("lark", "en", LARK))
