"""Who watches the sweeps: how many of its turns each loop has missed since the last that worked.

A loop that hangs raises nothing, and what it repairs is then repaired by nobody. So its silence is
counted from outside: by a task of its own, and at each scrape. Called by `loops`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import structlog
from prometheus_client import Gauge

from muster.runtime.clock import ticks
from muster.runtime.service import Loop

MISSED = 2
"""Turns missed in a row from which on it is told: one may fall to a server that starts again."""
SHORTEST_S = 15.0
"""A turn may take this long: below it the time between two says nothing of a loop that hangs."""
LOOK_S = 5.0

_TURNS = Gauge(
    "muster_loop_missed_turns",
    "Turns that a service's loop has missed since the last that worked; 2 is an alarm",
    ["service", "loop"],
)


@dataclass(slots=True)
class _Watched:
    period: float
    since: float
    told: bool = False


class Punctuality:
    """The loops of one service. ticks: seconds that never step."""

    def __init__(self, service: str, clock: Callable[[], float] = ticks) -> None:
        self._service, self._clock = service, clock
        self._watched: dict[str, _Watched] = {}

    def watch(self, loops: Iterable[Loop]) -> None:
        """Count from now on. A loop whose turn lasts until something happens has none to miss."""
        for loop in loops:
            if loop.waits:
                continue
            period = max(loop.every, SHORTEST_S)
            self._watched[loop.name] = _Watched(period, self._clock())
            gauge = _TURNS.labels(self._service, loop.name)
            gauge.set_function(partial(self.missed, loop.name))

    def forget(self) -> None:
        """The loops have ended: nobody is told of them any more."""
        for name in self._watched:
            with contextlib.suppress(KeyError):  # of another of the same name in this process
                _TURNS.remove(self._service, name)
        self._watched.clear()

    def worked(self, name: str) -> None:
        """A turn was done, to its end."""
        if name in self._watched:
            self._watched[name].since = self._clock()

    def missed(self, name: str) -> int:
        """Return the turns that a loop has missed since the last that worked."""
        watched = self._watched[name]
        return int((self._clock() - watched.since) / watched.period)

    def look(self) -> None:
        """Say once when a loop misses its turns, and once when it is back."""
        for name, watched in self._watched.items():
            missed = self.missed(name)
            late = missed >= MISSED
            if late == watched.told:
                continue
            watched.told = late
            self._say(name, missed, watched)

    def _say(self, name: str, missed: int, watched: _Watched) -> None:
        log = structlog.get_logger().bind(service=self._service, loop=name)
        if watched.told:
            silent = self._clock() - watched.since
            log.error("loop misses its turns", missed=missed, silent_s=round(silent, 1))
        else:
            log.info("loop is back in time")

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.look()
