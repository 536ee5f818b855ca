"""What a service is to whoever runs it: subscriptions, desks, loops, hooks for start and end.

`host` runs services in a process; the simulation runs the same objects in virtual time. A service
is built by its `build(runtime)` and knows nothing of either.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from muster.bus import Bus, Responder, Subscription
from muster.domain.edges import Owner
from muster.log import EventLog
from muster.runtime.clock import Clock
from muster.runtime.ids import Ids
from muster.runtime.together import Together, one_by_one

if TYPE_CHECKING:
    from muster.runtime.database import Database


@dataclass(frozen=True, slots=True)
class Loop:
    """Something a service does by itself. `step` does one turn and returns; it may wait a little.

    every: seconds between the end of a turn and the next. An exception is logged, counted and
    followed by the next turn after a backoff; it never ends the loop. waits: a turn lasts until
    something happens, which may be never; any other's silence is told (`punctuality`).
    """

    name: str
    step: Callable[[], Awaitable[None]]
    every: float
    waits: bool = False


async def _nothing() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Service:
    """A service, ready to run. ready: raises with the reason while it cannot do its work.

    pages: further pages of metrics by their path, beside `/metrics` of the whole process.
    """

    owner: Owner
    subscriptions: tuple[Subscription, ...] = ()
    loops: tuple[Loop, ...] = ()
    responders: tuple[Responder, ...] = ()
    start: Callable[[], Awaitable[None]] = field(default=_nothing)
    stop: Callable[[], Awaitable[None]] = field(default=_nothing)
    ready: Callable[[], Awaitable[None]] = field(default=_nothing)
    pages: Mapping[str, Callable[[], bytes]] = field(default_factory=dict)


T = TypeVar("T")


class Aside(Protocol):
    """Does a computation of some tenths of a second without holding up what else goes on."""

    async def __call__(self, work: Callable[[], T]) -> T:
        """Return what the work returns."""
        ...


async def at_once(work: Callable[[], T]) -> T:
    """Do the work here and now: for worlds that have one thread."""
    return work()


@dataclass(frozen=True, slots=True)
class Runtime:
    """What a service is given. database: opens the service's own database by its owner's name.

    aside: for computations that would hold up the event loop. together: for much of the same work.
    """

    log: EventLog
    bus: Bus
    clock: Clock
    ids: Ids
    state_dir: Path
    database: Callable[[Owner, str | None], Database]
    aside: Aside = at_once
    together: Together = one_by_one
