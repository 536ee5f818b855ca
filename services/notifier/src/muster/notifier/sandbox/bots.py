"""A bot as its owner has set it up, its limits, and what it has received. Values, two windows."""

from __future__ import annotations

import ipaddress
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

PER_SECOND, PER_MINUTE = 5, 100


@dataclass(frozen=True, slots=True)
class Received:
    """One accepted message. text is every line that a person would read, top to bottom."""

    token: str
    at: float
    kind: str
    colour: str
    title: str
    text: str
    body: Mapping[str, Any]

    def summary(self) -> dict[str, object]:
        """Return the message as it is listed at /received."""
        shown = {"at": self.at, "kind": self.kind, "colour": self.colour, "title": self.title}
        return {**shown, "text": self.text, "body": self.body}


@dataclass(slots=True)
class Windows:
    """How many requests came in the last second and the last minute; refused ones count too."""

    seen: deque[float] = field(default_factory=deque)

    def full(self, now: float) -> bool:
        """Count one request, and tell whether it is one too many."""
        while self.seen and self.seen[0] <= now - 60:
            self.seen.popleft()
        self.seen.append(now)
        return len(self.seen) > PER_MINUTE or sum(at > now - 1 for at in self.seen) > PER_SECOND


@dataclass(slots=True)
class Bot:
    """secret: "" checks no signature. keywords, addresses: () lets everything through.

    addresses: IPv4, `123.12.1.*` or CIDR. limited: the documented limits are kept. skew_s: by how
    much its clock is ahead. mode: how it answers from now on; next: how it answers first. slow_s:
    what `slow` waits.
    """

    secret: str = ""
    keywords: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    enabled: bool = True
    limited: bool = False
    skew_s: float = 0.0
    mode: str = "ok"
    next: list[str] = field(default_factory=list)
    slow_s: float = 3.0
    windows: Windows = field(default_factory=Windows)

    def turn(self) -> str:
        """Return how this request is answered."""
        return self.next.pop(0) if self.next else self.mode


def network(entry: str) -> ipaddress.IPv4Network:
    """Read an entry of the list of addresses. Raises ValueError."""
    if entry.endswith(".*"):
        return ipaddress.IPv4Network(f"{entry.removesuffix('.*')}.0/24")
    return ipaddress.IPv4Network(entry, strict=False)


def may_come_from(bot: Bot, peer: str) -> bool:
    """Tell whether the bot's list of addresses, if it has one, names the sender."""
    if not bot.addresses:
        return True
    try:
        address = ipaddress.IPv4Address(peer)
    except ValueError:
        return False
    return any(address in network(entry) for entry in bot.addresses)


def texts(node: object) -> Iterator[str]:
    """Yield every text of a card's elements in reading order."""
    if isinstance(node, dict):
        if isinstance(node.get("content"), str):
            yield node["content"]
        for value in node.values():
            yield from texts(value)
    elif isinstance(node, list):
        for value in node:
            yield from texts(value)
