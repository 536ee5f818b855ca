"""Every combination of the auto-queue contract: which job, with which limits, and what happens.

Values only. `auto_queue_cores` finds out what becomes of each, `auto_queue_page` prints it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from muster.domain.demand import ResourceClass

MOST_REQUEUES = 3
HOURS = 2
"""The limit of each queueing of the jobs in the table."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Who asks, and on what it runs. on_spot: its machine is spot capacity."""

    name: str
    resource_class: ResourceClass
    guarantee: bool = False
    on_spot: bool = False


KINDS = (
    Kind("reserved", ResourceClass.RESERVED),
    Kind("guaranteed reserved", ResourceClass.RESERVED, guarantee=True),
    Kind("on_demand", ResourceClass.ON_DEMAND),
    Kind("guaranteed on_demand", ResourceClass.ON_DEMAND, guarantee=True),
    Kind("spot", ResourceClass.SPOT, on_spot=True),
    Kind("spot on other capacity", ResourceClass.SPOT),
    Kind("idle", ResourceClass.IDLE),
    Kind("idle on spot capacity", ResourceClass.IDLE, on_spot=True),
)


@dataclass(frozen=True, slots=True)
class Auto:
    """Auto-queue that is on. used: of the requeues, before anything happens."""

    max_requeues: int
    used: int = 0

    @property
    def left(self) -> int:
        """Return how many requeues are left."""
        return self.max_requeues - self.used


class Stage(StrEnum):
    """How far the job has come when it happens; said as a person would."""

    QUEUED = "queued"
    PLACED = "starting (nothing launched)"
    LAUNCHED = "starting (launched)"
    RUNNING = "running"


class Event(StrEnum):
    """What happens to it."""

    NO_ROOM = "there is no room"
    DEADLINE = "the queue clock is over"
    BOUNCED = "the queue clock is over while it starts, then its place is lost"
    DOWN_FULL = "the queue clock is over while Muster is down; then there is no room"
    DOWN_ROOM = "the queue clock is over while Muster is down; then there is room"
    HIGHER = "a higher job needs its room"
    LENDER = "a lender takes its share back"
    RECLAIM = "the cloud takes its node back"
    DRAIN = "an operator drains its node"
    LOST = "its node is lost"
    REFUSED = "the cluster cannot complete the start"


WAITING = (Event.NO_ROOM, Event.DEADLINE, Event.BOUNCED, Event.DOWN_FULL, Event.DOWN_ROOM)
LEAVING = (Event.HIGHER, Event.LENDER, Event.RECLAIM, Event.DRAIN, Event.LOST)


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happens at a stage."""

    stage: Stage
    event: Event


HAPPENINGS: tuple[Happening, ...] = (
    *(Happening(Stage.QUEUED, event) for event in WAITING),
    *(Happening(Stage.PLACED, event) for event in LEAVING),
    *(Happening(Stage.LAUNCHED, event) for event in (*LEAVING, Event.REFUSED)),
    *(Happening(Stage.RUNNING, event) for event in LEAVING),
)


@dataclass(frozen=True, slots=True)
class Case:
    """One combination. auto: None when auto-queue is off."""

    kind: Kind
    auto: Auto | None
    happening: Happening

    @property
    def name(self) -> str:
        """Return the combination in words, for reports."""
        limits = "off" if self.auto is None else f"{self.auto.used}/{self.auto.max_requeues} used"
        return f"{self.happening.stage}: {self.happening.event} ({self.kind.name}; {limits})"


def limits(kind: Kind) -> Iterator[Auto | None]:
    """Yield off, and every number of requeues allowed and used.

    A guaranteed job is nobody's victim, so it never gets to use one.
    """
    yield None
    for most in range(MOST_REQUEUES + 1):
        for used in range(1 if kind.guarantee else most + 1):
            yield Auto(most, used)


def every_case() -> Iterator[Case]:
    """Yield every combination, happening by happening."""
    for happening in HAPPENINGS:
        for kind in KINDS:
            for auto in limits(kind):
                yield Case(kind, auto, happening)
