"""Whether workers only wait for one that has ended well: sights of a gang in, an instant out.

Pure. A gang of a training ends together. Where one worker has ended with 0 and nothing of the
others moves for the whole bound, they are left behind: that is a failure, and no hang. Whoever
computes, reads, writes or prints is left alone, and so is one of whom nobody can say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from muster.domain.demand import JobType
from muster.domain.phases import Phase
from muster.domain.state import JobState

IDLE_CORES = 0.1
"""CPU seconds in a second up to which a worker only waits."""
IDLE_BYTES = 16_384
"""Bytes in a second up to which it does, read, written and printed together: a pulse is no work."""


@dataclass(frozen=True, slots=True)
class Sight:
    """Those of a gang that live, at one moment. cpu_s, moved: of all of them together, so far."""

    at: datetime
    living: frozenset[str]
    cpu_s: float
    moved: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """since: from then on nothing of the living has moved. last: the newest sight."""

    since: datetime
    last: Sight


def is_of_interest(state: JobState) -> bool:
    """Tell whether a job's workers should end together, and nobody else watches it.

    Where hang detection is on, fault tolerance sees this, too, and knows more of the job.
    """
    return (
        state.phase is Phase.RUNNING
        and state.type is not JobType.RAY
        and len(state.placed_on) > 1
        and state.demand.hang is None
    )


def sight_of(at: datetime, living: Iterable[tuple[str, float | None, int | None]]) -> Sight | None:
    """Return the sight of living workers: name, CPU seconds, bytes; None if one is unseen."""
    names, total_s, total = set[str](), 0.0, 0
    for name, cpu_s, moved in living:
        if cpu_s is None or moved is None:
            return None
        names.add(name)
        total_s, total = total_s + cpu_s, total + moved
    return Sight(at, frozenset(names), total_s, total) if names else None


def waits(before: Waiting | None, now: Sight | None) -> Waiting | None:
    """Return for how long the living have waited; None where nobody can say."""
    if now is None:
        return None
    if before is None or before.last.living != now.living or _moves(before.last, now):
        return Waiting(now.at, now)
    return Waiting(before.since, now)


def _moves(before: Sight, now: Sight) -> bool:
    seconds = max((now.at - before.at).total_seconds(), 0.001)
    cores = (now.cpu_s - before.cpu_s) / seconds / len(now.living)
    return cores > IDLE_CORES or (now.moved - before.moved) / seconds > IDLE_BYTES
