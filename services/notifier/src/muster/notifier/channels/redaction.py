"""Keeps webhook addresses out of logs and texts.

The HTTP client's own loggers name the full URL of each request. `quiet()` drops their records for
the calls made inside it and only for those, so other users of the client keep their logs.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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

    A receiver's reply is untrusted: it may echo what it was sent.
    """
    url = address.url.get_secret_value()
    secret = address.secret.get_secret_value() if address.secret else ""
    for hidden in (url, url.rpartition("/")[2], secret.strip()):
        if hidden:
            text = text.replace(hidden, "****")
    return clean(text, _TEXT_LIMIT)
