"""A bot that keeps its limits as documented, and knows what it was told of which job."""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from muster.notifier.sandbox import Received, Receiver

SECOND, MINUTE = 5, 100
RATE = (11232, "frequency limited psm[lark.oapi.app_platform_runtime]appID[1500]")
_LINE = re.compile(r"\d\d:\d\d:\d\d (?P<job>[\w-]+) · \w+(?: · (?P<word>\w+))?")
_NOTICE = re.compile(r"Notice (n-[0-9a-f]+)")
_REPEAT = "Sent again"


@dataclass
class LimitedBot(Receiver):
    """Refuses the sixth request within a second and the 101st within a minute, of each address.

    Refused requests count too. arriving, answering: called before and after one is judged.
    """

    arriving: Callable[[], None] = lambda: None
    answering: Callable[[], None] = lambda: None
    refused: int = 0
    _seen: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque))

    def take(self, token: str, body: bytes, peer: str = "") -> tuple[int, str]:
        """Judge one message as the bot does."""
        self.arriving()
        try:
            if self._too_many(self._seen[token], self.clock()):
                self.refused += 1
                return RATE
            return super().take(token, body, peer)
        finally:
            self.answering()

    @staticmethod
    def _too_many(seen: deque[float], now: float) -> bool:
        while seen and seen[0] <= now - 60:
            seen.popleft()
        seen.append(now)
        return len(seen) > MINUTE or sum(at > now - 1 for at in seen) > SECOND


@dataclass
class Seen:
    """What a person has read. twice: messages that came again; marked: and said so."""

    words: dict[str, list[str]]
    at: dict[str, list[float]]
    messages: int = 0
    digests: int = 0
    twice: int = 0
    marked: int = 0
    kinds: Counter[str] = field(default_factory=Counter)


def read(received: list[Received]) -> Seen:
    """Return what messages say of each job, in the order of arrival; a repeat counts once."""
    seen = Seen(defaultdict(list), defaultdict(list))
    known: set[str] = set()
    for message in received:
        seen.messages += 1
        found = _NOTICE.search(message.text)
        name = found.group(1) if found else message.text
        if name in known:
            seen.twice += 1
            seen.marked += _REPEAT in message.text
            continue
        known.add(name)
        told = list(_told(message))
        seen.digests += len(told) > 1
        seen.kinds[message.title.partition(" · ")[0]] += 1
        for job, word in told:
            seen.words[job].append(word)
            seen.at[job].append(message.at)
    return seen


def _told(message: Received) -> Iterator[tuple[str, str]]:
    state, _, name = message.title.partition(" · ")
    lines = [_LINE.fullmatch(line) for line in message.text.splitlines()]
    found = [line for line in lines if line]
    if not found:
        yield name, state
    for line in found:
        yield line.group("job"), line.group("word") or state
