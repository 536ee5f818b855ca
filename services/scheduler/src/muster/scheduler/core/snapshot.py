"""What a round looks at: one pool, frozen at one sequence of the log and one instant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from muster.domain.causes import EvictionCause
from muster.domain.nodes import NodeState
from muster.domain.phases import Phase
from muster.domain.state import DeadlineKind, JobState
from muster.domain.tenants import TenantView
from muster.scheduler.core.runtimes import UNTAUGHT, Runtimes

JobKey = tuple[str, str]
"""(tenant, job)."""


def key_of(state: JobState) -> JobKey:
    """Return the identity of a job."""
    return state.tenant, state.job


@dataclass(frozen=True, slots=True)
class Listed:
    """A job that is queued or holds something.

    seq: its last event. stay: the attempt with which its present stay on nodes began; a restart in
    place raises the attempt without giving anything back.
    """

    state: JobState
    seq: int
    stay: int

    @property
    def key(self) -> JobKey:
        """Return the identity of the job."""
        return key_of(self.state)


@dataclass(frozen=True, slots=True)
class LastRound:
    """The last recorded round: the instant it was for, and what it knew of the log."""

    at: datetime
    upto: int


@dataclass(frozen=True, slots=True)
class Eviction:
    """A job was told to leave for another one. by: the id of the job that benefits."""

    at: datetime
    victim: JobKey
    by: str
    cause: EvictionCause


@dataclass(frozen=True, slots=True)
class Snapshot:
    """upto: the last sequence known. cursor: where a search for victims that was cut goes on.

    runtimes: how long jobs ran that have succeeded.
    set_aside: jobs about which a decision could not be written: counted, and left alone.
    tenants: what is recorded of their shares and block lists. evictions: for the sake of others,
    in this pool, the newest last; how far back, the fold decides.
    """

    pool: str
    now: datetime
    upto: int
    nodes: tuple[NodeState, ...]
    jobs: tuple[Listed, ...]
    last_round: LastRound | None = None
    cursor: JobKey | None = None
    set_aside: frozenset[JobKey] = frozenset()
    runtimes: Runtimes = UNTAUGHT
    tenants: Mapping[str, TenantView] = field(default_factory=dict)
    evictions: tuple[Eviction, ...] = ()

    @property
    def queued(self) -> Iterator[Listed]:
        """Yield the jobs that wait for a placement."""
        return (job for job in self.jobs if job.state.phase is Phase.QUEUED)

    @property
    def holding(self) -> Iterator[Listed]:
        """Yield the jobs that hold something, in whatever phase."""
        return (job for job in self.jobs if job.state.held)


def is_hold(state: JobState) -> bool:
    """Tell whether the job has nodes on paper only: placed, nothing of this stay was launched.

    A restart in place is no hold: the processes of its last attempt may still be there.
    """
    return (
        state.phase is Phase.STARTING
        and not state.launched
        and state.due(DeadlineKind.PLAN) is not None
    )
