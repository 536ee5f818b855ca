"""The channel that writes notices into the service's log: for a first run without a chat."""

from __future__ import annotations

import logging
from datetime import datetime

from muster.notifier.channels.port import Address
from muster.notifier.core.delivery import Delivery, Outcome
from muster.notifier.core.message import Message

_logger = logging.getLogger(__name__)


class LogChannel:
    """Says each notice as one log record; always delivered."""

    async def send(self, address: Address | None, message: Message, at: datetime) -> Delivery:
        """Write the plain text of the message."""
        _logger.info("notice %s\n%s", message.id, message.text)
        return Delivery(Outcome.DELIVERED, "0", "logged")

    async def close(self) -> None:
        """Nothing to give back."""
