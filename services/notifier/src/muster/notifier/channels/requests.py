"""One request over a channel, which ends with an outcome whatever the channel does."""

from __future__ import annotations

from datetime import datetime

import structlog

from muster.notifier.channels.port import Address, Channel
from muster.notifier.core.delivery import Delivery, Fault, Form
from muster.notifier.core.message import Message

_log = structlog.get_logger(__name__)


async def request(
    channel: Channel, address: Address | None, message: Message, at: datetime, form: Form
) -> Delivery:
    """Send one request; a channel that breaks has told nobody what it knows.

    What it raised may hold the address, so only its kind is written down.
    """
    try:
        return await channel.send(address, message, at, form)
    except Exception as error:  # noqa: BLE001 - it would hold up its address until the lease ends
        _log.error("channel broke", channel=type(channel).__name__, why=type(error).__name__)
        return Delivery(Fault.NO_REPLY, "broke", type(error).__name__)
