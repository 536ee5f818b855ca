"""Keeps webhook addresses out of logs and texts.

The HTTP client's own loggers name the full URL of each request. `quiet()` drops their records for
the calls made inside it and only for those, so other users of the client keep their logs.
"""

from __future__ import annotations

import base64
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final
from urllib.parse import quote

from muster.notifier.channels.port import Address
from muster.notifier.core.plain import clean

_LOGGERS = (
    "httpx",
    "httpcore.connection",
    "httpcore.http11",
    "httpcore.http2",
    "httpcore.proxy",
    "httpcore.socks",
)
_TEXT_LIMIT = 200
_READ: Final = 4_000
"""Characters of a text that are looked at; what follows is not told anyway."""
_LONG: Final = 6
_HIDDEN: Final = "****"
_TWINS: Final = {"+": r"+\-", "-": r"+\-", "/": "/_", "_": "/_"}
_calling: ContextVar[bool] = ContextVar("muster_notifier_calling", default=False)


class _Mute(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return not _calling.get()


_MUTE = _Mute()


def install() -> None:
    """Put the filter on the client's loggers; safe to call again."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_MUTE)


@contextmanager
def quiet() -> Iterator[None]:
    """Drop the client's log records of the calls made inside."""
    token = _calling.set(True)
    try:
        yield
    finally:
        _calling.reset(token)


def redact(text: str, address: Address) -> str:
    """Return a short line of `text` without the address, its token or its signing secret.

    A receiver's reply is untrusted: it may echo what it was sent, as it came or in some other form.
    """
    url = address.url.get_secret_value()
    secret = address.secret.get_secret_value().strip() if address.secret else ""
    text = text[:_READ].replace(url, _HIDDEN)
    for hidden in (url.rpartition("/")[2], secret):
        if len(hidden) >= _LONG:
            text = _disguises(hidden).sub(_HIDDEN, text)
        elif hidden:
            text = text.replace(hidden, _HIDDEN)
    return clean(text, _TEXT_LIMIT)


def _disguises(hidden: str) -> re.Pattern[str]:
    """Return what finds a text in any case, broken, encoded or backwards."""
    spelled = (_spelled(hidden), _spelled(hidden[::-1]), hidden.encode().hex())
    return re.compile(f"(?i:{'|'.join(spelled)})|{'|'.join(_in_base64(hidden.encode()))}")


def _spelled(text: str) -> str:
    """Return the pattern of a text: each character as it is or in percents, with gaps between."""
    return r"\s*".join(
        f"(?:{re.escape(char)}|{re.escape(quote(char, safe='') if char.isascii() else char)}"
        f"|{''.join(f'%{byte:02x}' for byte in char.encode())})"
        for char in text
    )


def _in_base64(raw: bytes) -> Iterator[str]:
    """Yield what of a text stands inside base64, whatever came before and comes after it."""
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + raw).rstrip(b"=")
        whole = coded[(8 * before + 5) // 6 : 8 * (before + len(raw)) // 6].decode("ascii")
        yield r"[\r\n]*".join(f"[{_TWINS.get(char, char)}]" for char in whole)
