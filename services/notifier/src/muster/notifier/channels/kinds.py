"""Every kind of channel there is. Another one is one more file in this folder with `KINDS`.

A module of this package that has a `KINDS` says there which channels it offers; nothing else needs
to know of it: rules and addresses may name it, and the service builds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import httpx

from muster.notifier.allowlist import Allowlist
from muster.notifier.channels.port import Channel
from muster.notifier.channels.posting import Post
from muster.notifier.core.notice import Language


@dataclass(frozen=True, slots=True)
class Means:
    """What channels are built with. timeout: seconds of one request. transport: for tests."""

    allowlist: Allowlist
    timeout: float = 10.0
    proxy: str | None = None
    transport: httpx.AsyncBaseTransport | None = None

    def post(self) -> Post:
        """Return a way to send requests, with connections of its own."""
        return Post(timeout=self.timeout, proxy=self.proxy, transport=self.transport)


def _nowhere(url: str, allowlist: Allowlist) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class ChannelKind:
    """A way out to people. language: of its notices unless a rule says otherwise.

    allows: which URLs its addresses may have. addressed: whether it has addresses at all.
    """

    name: str
    language: Language
    build: Callable[[Means], Channel]
    allows: Callable[[str, Allowlist], bool] = _nowhere
    addressed: bool = True


@cache
def kinds() -> Mapping[str, ChannelKind]:
    """Return every kind by its name."""
    return {kind.name: kind for kind in sorted(_found(), key=lambda kind: kind.name)}


def _found() -> Iterator[ChannelKind]:
    package = import_module(__package__)
    for module in iter_modules(package.__path__, f"{__package__}."):
        yield from getattr(import_module(module.name), "KINDS", ())
