"""A job as a round sees it: whole where something is decided about it, small where it only waits.

A queue may be a hundred thousand jobs long. So a waiting job is known by what its place in the
queue needs (`Waiter`); whoever decides about it reads the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import datetime

from muster.domain.demand import Role
from muster.domain.state import DeadlineKind, JobState
from muster.domain.tenants import TenantView

JobKey = tuple[str, str]
"""(tenant, job)."""

LineKey = Hashable
"""Equal for queued jobs about which every decision is the same, but for the place in the queue."""

Place = tuple[datetime, str, str]
"""The place of a job among its equals: the longest in the queue first."""


def key_of(state: JobState) -> JobKey:
    """Return the identity of a job."""
    return state.tenant, state.job


@dataclass(frozen=True, slots=True)
class Listed:
    """A job that is queued or holds something.

    seq: its last event. stay: the attempt with which its present stay on nodes began; a restart in
    place raises the attempt without giving anything back. key: the identity of the job, made once:
    every index of those who hold something is built on it.
    """

    state: JobState
    seq: int
    stay: int
    key: JobKey = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Make the key."""
        object.__setattr__(self, "key", key_of(self.state))


def line_of(state: JobState, tenant: TenantView | None = None) -> LineKey:
    """Return everything of a queued job that a decision looks at, but not when it came.

    tenant: what is recorded of it; a user matters only where a block list is that user's own.
    """
    demand = state.demand
    nodes, near = demand.node_policy, demand.locality
    return (
        state.tenant,
        state.user if tenant and state.user in tenant.listed_users else None,
        state.one_shot,
        (demand.type, demand.resource_class, demand.priority, demand.guarantee),
        tuple(sorted(role_shape(role) for role in demand.roles)),
        (nodes.type, nodes.nodes) if nodes else None,
        (near.mode, near.level) if near else None,
        tuple((taint.key, taint.value) for taint in demand.tolerations),
        (demand.zone, demand.stability_level, _limits(state)),
        (state.avoid, state.since) if state.avoid else None,
    )


def _limits(state: JobState) -> tuple[int, ...]:
    """Return all that says by when a job is gone for certain; nothing if nothing does."""
    demand = state.demand
    if demand.max_runtime_s is None:
        return ()
    restarts = demand.max_restarts - state.ledgers.restarts
    once = (demand.max_runtime_s, demand.start_deadline_s, demand.grace_s, demand.debug_hold_s)
    return *once, restarts


def role_shape(role: Role) -> tuple[object, ...]:
    """Return all of a role that decides where its workers fit. Sortable."""
    extended = tuple(sorted(role.extended.items()))
    gpus = (role.gpus, role.gpu_milli, role.gpu_model or "")
    return role.name, role.replicas, gpus, role.cpus, role.memory_mib, extended


class Waiter(ABC):
    """A queued job, as far as the order of the queue and its deadlines need it. Never changes."""

    __slots__ = ("due", "key", "line", "not_before", "seq", "since", "stay")

    def __init__(self, state: JobState, seq: int, stay: int, line: LineKey) -> None:
        self.key = key_of(state)
        self.line = line
        self.seq, self.stay = seq, stay
        self.since = state.entered_at or state.since
        self.not_before = state.not_before
        self.due = state.due(DeadlineKind.QUEUE)

    @property
    def place(self) -> Place:
        """Return the place among its equals."""
        return self.since, *self.key

    def sleeps(self, now: datetime) -> bool:
        """Tell whether the job must not be placed yet."""
        return self.not_before is not None and self.not_before > now

    def overdue(self, now: datetime) -> bool:
        """Tell whether its queue deadline is over."""
        return self.due is not None and self.due <= now

    @abstractmethod
    def read(self) -> Listed:
        """Return the whole of it."""


class Read(Waiter):
    """A queued job that is at hand as a whole."""

    __slots__ = ("_listed",)

    def __init__(self, listed: Listed, line: LineKey) -> None:
        super().__init__(listed.state, listed.seq, listed.stay, line)
        self._listed = listed

    def read(self) -> Listed:
        """See Waiter."""
        return self._listed
