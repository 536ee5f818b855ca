"""Jobs that are on their way out: until when their room is worth waiting for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from muster.domain.deadlines import VICTIM_MARGIN_S
from muster.domain.phases import PARKED, TERMINAL, Phase
from muster.domain.state import DeadlineKind, JobState
from muster.scheduler.core.snapshot import Listed

_LEAVING = TERMINAL | PARKED | {Phase.EVICTING, Phase.STOPPING, Phase.INTERRUPTED}


@dataclass(frozen=True, slots=True)
class Parting:
    """A job that leaves, with the seconds that it may still take."""

    job: Listed
    seconds: int


def leaves_by(state: JobState) -> datetime | None:
    """Return when a job that holds something will be gone, if it obeys; None if it stays."""
    if not state.held or state.phase not in _LEAVING:
        return None
    grace = state.due(DeadlineKind.GRACE)
    return grace or state.since + timedelta(seconds=state.demand.grace_s)


def hopeless_at(state: JobState) -> datetime | None:
    """Return when nobody should count on its room any more: it is overdue."""
    by = leaves_by(state)
    return by + timedelta(seconds=VICTIM_MARGIN_S) if by else None


def worth_waiting(state: JobState, now: datetime) -> bool:
    """Tell whether a placement may be planned on the room of this job."""
    end = hopeless_at(state)
    return end is not None and now < end


def seconds_left(state: JobState, now: datetime) -> int:
    """Return how long a leaving job may still take, in whole seconds."""
    by = leaves_by(state)
    return max(0, math.ceil((by - now).total_seconds())) if by else 0
