"""The port that every channel implements, and the address that it sends to.

A channel makes one request and reports what the receiver's protocol said; it raises nothing for a
failed send, tries nothing twice, and writes no address into a log, a text or an error.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from pydantic import SecretStr

from muster.notifier.core.delivery import Delivery, Form
from muster.notifier.core.limits import Limits
from muster.notifier.core.message import Message

_SHOWN = 4


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

    @property
    def shown(self) -> str:
        """The address as its owner may see it: where to, and the end of the token."""
        url = self.url.get_secret_value()
        place, _, token = url.rpartition("/")
        return f"{place}/****{token[-_SHOWN:] if len(token) > 2 * _SHOWN else ''}"


class Channel(Protocol):
    """One way out to people. limits: of each address; None for one that has none."""

    @property
    def limits(self) -> Limits | None:
        """How fast one address may be written to."""
        ...

    async def send(
        self, address: Address | None, message: Message, at: datetime, form: Form
    ) -> Delivery:
        """Try once, now (`at`, the receiver's time), and report the outcome."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...
