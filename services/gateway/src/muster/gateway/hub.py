"""Tells every open stream what changed, and remembers the last changes for those who come back.

Calls plain functions and never waits: how a change reaches a client is the listener's business.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from muster.gateway.core.view import SeenJob

Listener = Callable[[SeenJob | None], None]
"""Called with each change in the log's order; with None when there is nothing more to hear."""


class Hub:
    """keep: changes that are remembered."""

    def __init__(self, keep: int) -> None:
        self._recent: deque[SeenJob] = deque(maxlen=keep)
        self._listeners: dict[int, Listener] = {}
        self._next = 0
        self._floor = 0

    @property
    def listeners(self) -> int:
        """How many listen."""
        return len(self._listeners)

    def tell(self, seen: SeenJob) -> None:
        """A job changed."""
        if len(self._recent) == self._recent.maxlen:
            self._floor = self._recent[0].seq
        self._recent.append(seen)
        for listener in list(self._listeners.values()):
            listener(seen)

    def since(self, seq: int) -> Sequence[SeenJob] | None:
        """Return every change after a sequence, None when some are no longer remembered."""
        if seq < self._floor:
            return None
        return [seen for seen in self._recent if seen.seq > seq]

    def join(self, listener: Listener) -> Callable[[], None]:
        """Hear every change from now on. Returns how to leave."""
        number = self._next
        self._next += 1
        self._listeners[number] = listener

        def leave() -> None:
            self._listeners.pop(number, None)

        return leave

    def clear(self) -> None:
        """Send every listener away and forget what was told: it was another log."""
        listeners, self._listeners = self._listeners, {}
        self._recent.clear()
        self._floor = 0
        for listener in listeners.values():
            listener(None)
