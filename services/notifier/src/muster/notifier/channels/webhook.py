"""A signed webhook for whatever else wants to know, by the Standard Webhooks specification.

The body is a JSON document, not a card; the same `webhook-id` is the same message, so a receiver
can drop repeats. The secret may be given as `whsec_` and base64, or as plain text. Addresses are
on origins that the operator has named. https://www.standardwebhooks.com
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from muster.notifier.channels.kinds import ChannelKind, Means
from muster.notifier.channels.port import Address
from muster.notifier.channels.posting import Post
from muster.notifier.channels.redaction import redact
from muster.notifier.channels.replies import moment, seconds
from muster.notifier.core.delivery import Delivery, Fault, Form
from muster.notifier.core.message import Message, encode

_PREFIX = "whsec_"
_AGAIN = frozenset({408, 425, 429})


class WebhookChannel:
    """Sends documents; any 2xx is a delivery."""

    limits = None

    def __init__(self, post: Post, means: Means) -> None:
        self._post, self._allowlist = post, means.allowlist

    async def send(
        self, address: Address | None, message: Message, at: datetime, form: Form
    ) -> Delivery:
        """Send the message's document."""
        if address is None or not self._allowlist.allows_own(address.url.get_secret_value()):
            return Delivery(Fault.ADDRESS, "address", "the webhook address is not allowed")
        body = encode(message.document).encode("utf-8", "replace")
        headers = {"content-type": "application/json", **_headers(address, message.id, at, body)}
        told = await self._post(address, body, headers, _read)
        return replace(told, text=redact(told.text, address))

    async def close(self) -> None:
        """Close the connections."""
        await self._post.close()


def signature(secret: str, message: str, timestamp: int, body: bytes) -> str:
    """Return the value of `webhook-signature`; timestamp: whole seconds since the epoch."""
    signed = f"{message}.{timestamp}.".encode() + body
    digest = hmac.new(_key(secret.strip()), signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode('ascii')}"


def _key(secret: str) -> bytes:
    if secret.startswith(_PREFIX):
        with suppress(ValueError):  # no base64, or no ASCII
            return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    return secret.encode()


def _headers(address: Address, message: str, at: datetime, body: bytes) -> Mapping[str, str]:
    timestamp = int(at.timestamp())
    headers = {"webhook-id": message, "webhook-timestamp": str(timestamp)}
    secret = address.secret.get_secret_value() if address.secret else ""
    if secret.strip():
        headers["webhook-signature"] = signature(secret, message, timestamp, body)
    return headers


def _read(status: int, headers: Mapping[str, str], body: bytes) -> Delivery:
    """410: the receiver wants nothing any more."""
    when, wait = moment(headers.get("date")), seconds(headers.get("retry-after"))
    code = f"http_{status}"
    if 200 <= status < 300:
        return Delivery(Fault.NONE, "0", code, server_time=when)
    if status in _AGAIN or status >= 500:
        fault = Fault.RATE if status == 429 else Fault.SERVER
        return Delivery(fault, code, "", wait, when)
    closed = {401: Fault.SIGNATURE, 403: Fault.SIGNATURE, 404: Fault.ADDRESS, 410: Fault.ADDRESS}
    return Delivery(closed.get(status, Fault.REFUSED), code, "", server_time=when)


KINDS = (
    ChannelKind(
        "webhook",
        "en",
        lambda means: WebhookChannel(means.post(), means),
        lambda url, allowlist: allowlist.allows_own(url),
    ),
)
