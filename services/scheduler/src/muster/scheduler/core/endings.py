"""When the room of those who have it becomes free: by proof, by experience, or by a mere guess.

A limit on the run time proves it: the executor ends the job. `Runtimes` is experience. About the
others nothing is known but their age: they are expected to go on for as long as they have lasted.
Used by reservations and estimates. Faults of machines are beyond every proof here: a restart that
the user's budget does not pay for gives a job its whole run time again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum

from muster.domain.deadlines import VERDICT_S, VICTIM_MARGIN_S
from muster.domain.demand import Demand
from muster.domain.phases import Phase
from muster.domain.state import DeadlineKind, JobState
from muster.scheduler.core.leaving import leaves_by, worth_waiting
from muster.scheduler.core.runtimes import Runtimes
from muster.scheduler.core.snapshot import JobKey, key_of

RESTART_S = VERDICT_S + 300
"""So long a restart in place may take before its launch: the verdict, and a planned wait."""

NEVER = timedelta(days=10_000)
"""Added to the beginning of a job of whose end nothing is known at all."""

_STAYS = frozenset({Phase.STARTING, Phase.RUNNING, Phase.FAULTED, Phase.QUEUED})

SOONEST, LATEST = 10, 90
"""Percentiles of what was learned, for the early and the late guess."""


class Basis(IntEnum):
    """What an instant rests on, the best first."""

    LIMITS = 0
    LEARNED = 1
    UNKNOWN = 2


@dataclass(frozen=True, slots=True)
class Ending:
    """at: by when the room of a job is free again. soon: it is hardly free before that."""

    key: JobKey
    at: datetime
    basis: Basis
    soon: datetime


def run_s(demand: Demand, restarts: int) -> float | None:
    """Return for how long a job of this demand can have nodes at most, from its launch on.

    restarts: how many of the user's restarts it may still use. None: there is no limit.
    """
    if demand.max_runtime_s is None:
        return None
    once = demand.start_deadline_s + demand.max_runtime_s
    return once + restarts * (once + RESTART_S) + demand.grace_s + demand.debug_hold_s


def _restarts_left(state: JobState) -> int:
    return max(0, state.demand.max_restarts - state.ledgers.restarts)


def limit_if_placed(state: JobState, now: datetime) -> datetime | None:
    """Return by when a queued job would be gone for certain if it were placed now."""
    seconds = run_s(state.demand, _restarts_left(state))
    return None if seconds is None else now + timedelta(seconds=seconds + VICTIM_MARGIN_S)


def limit(state: JobState, now: datetime) -> datetime | None:
    """Return by when a job that holds something will be gone for certain, None if nothing says."""
    if worth_waiting(state, now):
        return leaves_by(state)
    match state.phase:
        case Phase.DEBUG_HOLDING:
            return _after(state.due(DeadlineKind.HOLD), state.demand.grace_s)
        case Phase.RUNNING:
            seconds = run_s(state.demand, _restarts_left(state))
            if seconds is None:
                return None
            first = state.demand.start_deadline_s + (state.demand.max_runtime_s or 0)
            return _after(state.due(DeadlineKind.RUN), seconds - first)
        case Phase.STARTING | Phase.FAULTED:
            seconds = run_s(state.demand, _restarts_left(state))
            if seconds is None:
                return None
            start = state.due(DeadlineKind.START)
            if start is not None:
                return _after(start, seconds - state.demand.start_deadline_s)
            plan = state.due(DeadlineKind.PLAN)
            return _after(plan or state.since, seconds + (0 if plan else RESTART_S))
        case _:
            return None


def _after(instant: datetime | None, seconds: float) -> datetime | None:
    return instant + timedelta(seconds=seconds) if instant else None


def ending(state: JobState, known: Runtimes, now: datetime, anchor: datetime) -> Ending:
    """Say when a job's room becomes free. anchor: the instant at which its age is taken.

    Taken at one instant, the guess about a job does not change while it goes on.
    """
    began = state.started_at if state.phase is not Phase.STARTING else None
    began = began or state.since
    gone = max(0.0, (now - began).total_seconds()) if state.phase is Phase.RUNNING else 0.0
    early = known.expected(state, SOONEST, gone)
    soon = max(now, began + timedelta(seconds=early)) if early else now
    certain = limit(state, now)
    if certain is not None:
        return Ending(key_of(state), certain, Basis.LIMITS, min(soon, certain))
    if state.phase not in _STAYS:
        return Ending(key_of(state), began + NEVER, Basis.UNKNOWN, now)
    late = known.expected(state, LATEST, gone)
    if late is not None:
        at = began + timedelta(seconds=late)
        return Ending(key_of(state), at, Basis.LEARNED, soon)
    aged = anchor + (anchor - began) if began < anchor else began + NEVER
    return Ending(key_of(state), aged, Basis.UNKNOWN, now)
