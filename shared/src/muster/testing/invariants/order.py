"""I15: among jobs that need the same, the one that stands first in line is placed first."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from muster.domain.facts import Scheduled
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.testing.invariants.base import Invariant, JobChange, Known
from muster.testing.world import World


class FirstInLineFirstServed(Invariant):
    """Compared after each round, with what the round knew."""

    number: ClassVar[str] = "I15"
    text: ClassVar[str] = (
        "Among jobs that need the same, none is placed while another one waits that stands before"
        " it: by guarantee, class, and time in the queue, to which each point of priority adds ten"
        " minutes; where there are shares, of the same tenant."
    )

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._changed: dict[str, int] = {}
        self._placed: list[JobState] = []

    def on_job(self, change: JobChange) -> None:
        self._changed[change.after.job] = change.seq
        if isinstance(change.fact, Scheduled) and change.before is not None:
            self._placed.append(change.before)
            del self._changed[change.after.job]

    def on_step(self, world: World) -> None:
        placed, self._placed = self._placed, []
        for state in placed:
            last = self.known.rounds[state.pool][-1][1]
            for other in self.known.jobs.values():
                if self._waits(other, last.upto, last.at) and self._alike(other, state):
                    self._in_order(state, other)

    def _alike(self, one: JobState, other: JobState) -> bool:
        """Tell whether two jobs need the same, and may have it by the same rights."""
        if self.known.has_shares(one.pool) and one.tenant != other.tenant:
            return False
        listed = any(self.known.tenants.get(job.tenant) for job in (one, other))
        if listed and (one.tenant, one.user) != (other.tenant, other.user):
            return False
        return _needs(one) == _needs(other)

    def _waits(self, state: JobState, upto: int, at: datetime) -> bool:
        if state.phase is not Phase.QUEUED or self._changed.get(state.job, 0) > upto:
            return False
        return state.not_before is None or state.not_before <= at

    def _in_order(self, placed: JobState, waiting: JobState) -> None:
        if _place(waiting) < _place(placed):
            raise self.broken(f"{placed.job} was placed, and stands after it", waiting.job)


def _needs(state: JobState) -> tuple[object, ...]:
    demand = state.demand
    return (
        state.pool,
        demand.roles,
        demand.resource_class,
        demand.guarantee,
        demand.node_policy,
        demand.zone,
        demand.locality,
        demand.tolerations,
        state.avoid,
        # by when it is gone: who is gone in time may use room that is kept for another
        (demand.max_runtime_s, demand.max_restarts - state.ledgers.restarts),
        (demand.start_deadline_s, demand.grace_s, demand.debug_hold_s),
    )


def _place(state: JobState) -> tuple[datetime, int, str, str]:
    priority = state.demand.priority or 0
    since = (state.entered_at or state.since) - timedelta(minutes=10) * priority
    return since, -priority, state.job, state.tenant
