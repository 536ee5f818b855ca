"""Which instant of Muster a notice of reclaim means. Pure.

A cluster names it by the world's clock, which is the server's as far as is known. It is turned
into Muster's time once: a step of the server's clock neither moves a notice that stands nor makes
it new.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from muster.domain.nodes import NodeState


class Notices:
    """The notice that each node shows, and what it was taken to mean."""

    def __init__(self, of_server: Callable[[datetime], datetime]) -> None:
        self._of_server = of_server
        self._read: dict[str, tuple[datetime, datetime]] = {}

    def read(self, node: str, shown: datetime | None, known: NodeState | None) -> datetime | None:
        """Return what a node's notice means; known: the node as the log has it."""
        if shown is None:
            self._read.pop(node, None)
            return None
        before = self._read.get(node)
        if before is None or before[0] != shown:
            self._read[node] = before = shown, self._meant(shown, known)
        return before[1]

    def _meant(self, shown: datetime, known: NodeState | None) -> datetime:
        # another executor has read it before the clock was moved
        recorded = known is not None and shown in {known.deadline, known.lapsed}
        return shown if recorded else self._of_server(shown)
