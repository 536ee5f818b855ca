"""The channel that writes notices into the service's log: for a first run without a chat."""

from __future__ import annotations

import logging
from datetime import datetime

from muster.notifier.channels.kinds import ChannelKind
from muster.notifier.channels.port import Address
from muster.notifier.core.delivery import Delivery, Fault, Form
from muster.notifier.core.message import Message

_logger = logging.getLogger(__name__)


class LogChannel:
    """Says each notice as one log record; always delivered."""

    limits = None

    async def send(
        self, address: Address | None, message: Message, at: datetime, form: Form
    ) -> Delivery:
        """Write the plain text of the message."""
        _logger.info("notice %s\n%s", message.id, message.text)
        return Delivery(Fault.NONE, "0", "logged")

    async def close(self) -> None:
        """Nothing to give back."""


KINDS = (ChannelKind("log", "zh", lambda means: LogChannel(), addressed=False),)
