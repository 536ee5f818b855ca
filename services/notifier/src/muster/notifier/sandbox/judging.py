"""Judges a message as the bot does, in this order: who, whence, form, sign, word, card. Pure."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from typing import Any, Final

from muster.notifier.channels.signature import sign
from muster.notifier.sandbox.bots import Bot, Received, may_come_from, texts
from muster.notifier.sandbox.cards import faults

MAX_BODY: Final = 20 * 1024
CLOCK_SLACK_S: Final = 3600


class Refused(Exception):
    """code: the bot's. text: instead of the usual one of this code."""

    def __init__(self, code: int, text: str | None = None) -> None:
        super().__init__(code)
        self.code, self.text = code, text


def judge(bot: Bot, token: str, body: bytes, now: float, peer: str) -> Received:
    """Return the message as it is kept. Raises Refused."""
    if not bot.enabled:
        raise Refused(19007)
    if not may_come_from(bot, peer):
        raise Refused(19022)
    message = _parsed(body)
    if not _is_signed(message, bot.secret, now + bot.skew_s):
        raise Refused(19021)
    if bot.limited and bot.windows.full(now):
        raise Refused(11232)
    found = _read(token, now, message)
    if bot.keywords and not any(word in found.text for word in bot.keywords):
        raise Refused(19024)
    return found


def _parsed(body: bytes) -> Mapping[str, Any]:
    if len(body) > MAX_BODY:
        raise Refused(9499)
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(9499) from None
    if not isinstance(value, dict):
        raise Refused(9499)
    return value


def _is_signed(message: Mapping[str, Any], secret: str, now: float) -> bool:
    if not secret:
        return True
    timestamp, given = message.get("timestamp"), message.get("sign")
    if not isinstance(timestamp, str) or not timestamp.isascii() or not timestamp.isdigit():
        return False
    if abs(now - int(timestamp)) > CLOCK_SLACK_S or not isinstance(given, str):
        return False
    return hmac.compare_digest(sign(int(timestamp), secret).encode(), given.encode())


def _read(token: str, at: float, message: Mapping[str, Any]) -> Received:
    match message:
        case {"msg_type": "interactive", "card": dict() as card}:
            return _card(token, at, card, message)
        case {"msg_type": "text", "content": {"text": str() as text}}:
            return Received(token, at, "text", "", text.partition("\n")[0], text, message)
        case _:
            raise Refused(19002)


def _card(token: str, at: float, card: dict[str, Any], message: Mapping[str, Any]) -> Received:
    found = faults(card)
    if found:
        code = found[0].code
        raise Refused(code, f"{found[0].text}; path: {found[0].path}")
    header = card["header"]
    title = header["title"]["content"]
    lines = "\n".join((title, *texts(card["body"]["elements"])))
    return Received(token, at, "interactive", header.get("template", ""), title, lines, message)
