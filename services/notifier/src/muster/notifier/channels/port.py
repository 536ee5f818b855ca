"""The port that every channel implements, and the address that it sends to.

A channel reports what the receiver's protocol said; it raises nothing for a failed send, does not
wait between attempts, and writes no address into a log, a text or an error. Called by the handler.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from pydantic import SecretStr

from muster.notifier.core.delivery import Delivery
from muster.notifier.core.message import Message


@dataclass(frozen=True, slots=True)
class Address:
    """Where to send. The URL is itself the credential, so it is a secret like the signing key."""

    url: SecretStr
    secret: SecretStr | None = None
    keywords: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The only name of this address that may be logged."""
        return hashlib.sha256(self.url.get_secret_value().encode()).hexdigest()[:12]


class Channel(Protocol):
    """One way out to people."""

    async def send(self, address: Address | None, message: Message, at: datetime) -> Delivery:
        """Try once, now (`at`, the sender's time), and report the outcome."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...
