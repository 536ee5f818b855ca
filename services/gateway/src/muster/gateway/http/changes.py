"""One client's stream of changes as server-sent events: bounded, resumable, dropped when too slow.

The id of an event is the sequence of the log, so a client may resume at any replica of the gateway.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from muster.domain.errors import Temporary
from muster.domain.violations import Violation
from muster.gateway.core.filters import JobFilter
from muster.gateway.core.view import SeenJob
from muster.gateway.http.problems import violation
from muster.gateway.http.queries import Language
from muster.gateway.http.rows import job_row
from muster.gateway.http.surface import Surface
from muster.gateway.reading import is_about

RETRY_MS = 2000
HEARTBEAT = b": alive\n\n"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Whose changes. after: the client has everything up to here; None = it has nothing."""

    tenant: str | None
    job: str | None
    after: int | None
    snapshot: bool
    lang: Language

    @property
    def filter(self) -> JobFilter:
        """The same, for view and archive."""
        return JobFilter(tenant=self.tenant)

    def is_about(self, seen: SeenJob) -> bool:
        """Tell whether the client wants to hear of it."""
        return seen.seq > (self.after or 0) and is_about(seen.state, self.filter, self.job)


@dataclass(slots=True)
class Mailbox:
    """What waits for one client. over: why nothing more will come."""

    wanted: Wanted
    limit: int
    _waiting: deque[SeenJob] = field(default_factory=deque)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    over: Violation | None = None

    def hear(self, seen: SeenJob | None) -> None:
        """A listener of the hub: never waits, never holds more than the limit."""
        if seen is None:
            self._end(violation("E_CLOSING", "$"))
        elif self.over is None and self.wanted.is_about(seen):
            if len(self._waiting) >= self.limit:
                self._end(violation("E_SLOW", "$", limit=self.limit))
                return
            self._waiting.append(seen)
            self._news.set()

    def _end(self, why: Violation) -> None:
        self.over = self.over or why
        self._waiting.clear()
        self._news.set()

    async def take(self, wait: float) -> list[SeenJob]:
        """Return what waits, at once or when something comes; nothing after `wait` seconds."""
        try:
            async with asyncio.timeout(wait):
                await self._news.wait()
        except TimeoutError:
            return []
        self._news.clear()
        taken = list(self._waiting)
        self._waiting.clear()
        return taken


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known at one moment. recent: every change after the client's last one, if kept."""

    recent: Sequence[SeenJob] | None
    live: Sequence[SeenJob]
    position: int


async def changes(surface: Surface, wanted: Wanted) -> AsyncIterator[bytes]:
    """Yield the stream's bytes until the client is too slow or the gateway ends."""
    mailbox = Mailbox(wanted, surface.settings.stream_queue)
    leave = surface.hub.join(mailbox.hear)
    # nothing may be awaited between joining and looking: what comes later is in the mailbox
    known = _look(surface, wanted)
    try:
        yield b"retry: %d\n\n" % RETRY_MS
        try:
            async for chunk in _opening(surface, wanted, known):
                yield chunk
        except Temporary:
            yield _note("closing", violation("E_AWAY", "$"))
            return
        async for chunk in _going_on(surface, mailbox):
            yield chunk
    finally:
        leave()


def _look(surface: Surface, wanted: Wanted) -> _Known:
    after, reading = wanted.after, surface.reading
    recent = None if after is None else surface.hub.since(after)
    live = reading.live(wanted.filter, wanted.job, after or 0)
    return _Known(recent, live, reading.view.position)


async def _opening(surface: Surface, wanted: Wanted, known: _Known) -> AsyncIterator[bytes]:
    """Say what the client has missed, or where everything stands."""
    found = known.live if wanted.snapshot else ()
    if wanted.after is not None:
        if known.recent is not None:
            found = [seen for seen in known.recent if wanted.is_about(seen)]
        else:
            yield _note("gap", violation("E_RESUME_GAP", "$.headers.last-event-id"))
            found = await _merged(surface, wanted, wanted.after, known)
    for seen in found:
        yield _status(seen, wanted.lang)


async def _merged(surface: Surface, wanted: Wanted, after: int, known: _Known) -> Sequence[SeenJob]:
    """The view's jobs and those that only the archive has, each once, in the log's order."""
    ended = await surface.reading.ended_after(wanted.filter, wanted.job, after)
    names = {seen.name for seen in known.live}
    old = [seen for seen in ended if seen.name not in names and seen.seq <= known.position]
    return sorted([*known.live, *old], key=lambda seen: seen.seq)


async def _going_on(surface: Surface, mailbox: Mailbox) -> AsyncIterator[bytes]:
    while mailbox.over is None:
        news = await mailbox.take(surface.settings.heartbeat_s)
        if not news and mailbox.over is None:
            yield HEARTBEAT
        for seen in news:
            yield _status(seen, mailbox.wanted.lang)
    slow = mailbox.over.code == "E_SLOW"
    if slow:
        surface.metrics.dropped.inc()
    yield _note("dropped" if slow else "closing", mailbox.over)


def _status(seen: SeenJob, lang: Language) -> bytes:
    data = job_row(seen, lang).model_dump_json()
    return f"id: {seen.seq}\nevent: status\ndata: {data}\n\n".encode()


def _note(event: str, why: Violation) -> bytes:
    return f"event: {event}\ndata: {why.model_dump_json()}\n\n".encode()
