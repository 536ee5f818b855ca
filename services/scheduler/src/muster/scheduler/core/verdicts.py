"""What a plan says: which events to append, and for each job that still waits, why."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from muster.domain.facts import Fact, Preempted, Scheduled
from muster.scheduler.core.board import Board
from muster.scheduler.core.placement import Shortfall
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.quota import Short
from muster.scheduler.core.shadow import Reservation
from muster.scheduler.core.snapshot import JobKey, Snapshot
from muster.scheduler.core.stock import Scarce

if TYPE_CHECKING:
    from muster.scheduler.core.standing import Verdicts


@dataclass(frozen=True, slots=True)
class Decision:
    """One event for one job, based on the job as the snapshot has it."""

    job: JobKey
    fact: Fact


@dataclass(frozen=True, slots=True)
class Move:
    """Decisions that make sense only together: who leaves, and for whom.

    A move may rely on the moves before it in the plan, never on those after it.
    """

    decisions: tuple[Decision, ...]

    def count(self, kind: type[Fact]) -> int:
        """Return how many decisions of a kind the move has."""
        return sum(isinstance(decision.fact, kind) for decision in self.decisions)


class Waiting(StrEnum):
    """Why a queued job got nothing in this round."""

    NO_ROOM = "NO_ROOM"
    RESERVED = "RESERVED"
    NEVER_FITS = "NEVER_FITS"
    NO_DOMAIN = "NO_DOMAIN"
    NODES_ABSENT = "NODES_ABSENT"
    NODES_SHUT = "NODES_SHUT"
    NO_NODES = "NO_NODES"
    NOT_BEFORE = "NOT_BEFORE"
    NOT_REACHED = "NOT_REACHED"
    BEHIND = "BEHIND"
    SET_ASIDE = "SET_ASIDE"
    QUOTA = "QUOTA"
    STOCK = "STOCK"
    SPOT_DISABLED = "SPOT_DISABLED"
    SPOT_QUOTA = "SPOT_QUOTA"
    EVICTION_LIMIT = "EVICTION_LIMIT"


@dataclass(frozen=True, slots=True)
class Verdict:
    """short: of the free room, where that is what is missing. nodes: the ones that are absent.

    quota: of the tenant's shares, where that is what is missing; stock: of spot capacity, or of
    what spot jobs may hold elsewhere.
    kept: the room that is kept for this job, or for another one that it stands behind.
    """

    why: Waiting
    short: Shortfall | None = None
    nodes: tuple[str, ...] = ()
    quota: Short | None = None
    stock: Scarce | None = None
    kept: Reservation | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What one round decides.

    verdicts: of every queued job that is not placed, first in the queue first. board: what is left
    when everything is done. next_at: when the same log would give another plan. cursor: see
    Snapshot. reservation: the room that is kept, which counts as free on the board.
    """

    snapshot: Snapshot
    policy: Policy
    moves: tuple[Move, ...]
    verdicts: Verdicts
    board: Board
    next_at: datetime | None
    cursor: JobKey | None
    reservation: Reservation | None = None

    @property
    def unreached(self) -> int:
        """Return how many jobs this round did not get to."""
        return self.verdicts.count(Waiting.NOT_REACHED)

    @property
    def scheduled(self) -> int:
        """Return how many jobs are placed."""
        return sum(move.count(Scheduled) for move in self.moves)

    @property
    def preempted(self) -> int:
        """Return how many jobs are evicted."""
        return sum(move.count(Preempted) for move in self.moves)
