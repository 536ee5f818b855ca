"""Which webhook addresses may be called at all (rule 51). Pure.

A rule names a URL that this service then calls from inside the network, so the hosts are a closed
list. Other origins - a stand-in receiver on this machine, a private gateway - are named by the
operator in the settings, never by a rule.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

FEISHU, LARK = "https://open.feishu.cn", "https://open.larksuite.com"
OFFICIAL = frozenset({FEISHU, LARK})
_PATH = re.compile(r"/open-apis/bot/v2/hook/[A-Za-z0-9._~-]+", re.ASCII)


def is_loopback(host: str) -> bool:
    """Tell whether a host name means this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def origin_of(url: str) -> str | None:
    """Return a bare http(s) origin as `scheme://host[:port]` in canonical form, else None."""
    parts = _split(url)
    if parts is None or parts.path not in {"", "/"}:
        return None
    return _origin(parts)


def _split(url: str) -> SplitResult | None:
    """Split a URL that is nothing but scheme, host, port and path; anything more is refused."""
    if not url.isascii() or not url.isprintable() or any(mark in url for mark in "?#@\\ "):
        return None
    try:
        parts = urlsplit(url)
        known = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if known else None


def _origin(parts: SplitResult) -> str:
    host = parts.hostname or ""
    name = f"[{host}]" if ":" in host else host
    default = 443 if parts.scheme == "https" else 80
    port = "" if parts.port in {None, default} else f":{parts.port}"
    return f"{parts.scheme}://{name}{port}"


@dataclass(frozen=True, slots=True)
class Allowlist:
    """The origins that may be called: the official ones, and `extra` from the settings."""

    extra: frozenset[str] = frozenset()
    official: frozenset[str] = OFFICIAL

    def only(self, origin: str) -> Allowlist:
        """Return the list with one official origin."""
        return Allowlist(self.extra, frozenset({origin}))

    def allows(self, url: str) -> bool:
        """Tell whether `url` is exactly a webhook of an allowed origin."""
        parts = _split(url)
        if parts is None or _PATH.fullmatch(parts.path) is None:
            return False
        return _origin(parts) in self.official | self.extra

    def allows_own(self, url: str) -> bool:
        """Tell whether `url` is any path on an origin that the operator has named."""
        parts = _split(url)
        return parts is not None and _origin(parts) in self.extra
