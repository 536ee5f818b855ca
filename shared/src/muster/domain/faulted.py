"""Every failure that a job was judged for, as its history tells it: for people who ask why.

Pure: read from the events of one job in order. Nothing here is kept anywhere else.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from muster.domain import facts as f
from muster.domain.diagnosis import Diagnosis
from muster.domain.model import Frozen, Instant
from muster.domain.phases import Phase
from muster.domain.reasons import Reason
from muster.domain.state import JobState


class Faulted(Frozen):
    """One failed attempt and what was decided about it.

    started_at, failed_at: of the attempt; None where the history does not tell. event: the verdict.
    diagnosis: None in events of a time that had none. not_before: the next attempt waits until
    then. next_attempt: the one that followed; ran: it came to run. phase: where the job stands if
    none followed.
    """

    attempt: int
    started_at: Instant | None = None
    failed_at: Instant | None = None
    judged_at: Instant
    event: str
    reason: Reason
    nodes: tuple[str, ...] = ()
    diagnosis: Diagnosis | None = None
    not_before: Instant | None = None
    next_attempt: int | None = None
    ran: bool = False
    phase: Phase | None = None


Step = tuple[f.Fact, JobState, datetime]
"""A fact, the state after it, and when."""


def faulted(history: Iterable[Step]) -> tuple[Faulted, ...]:
    """Return every judged failure of a job, the oldest first."""
    found: list[Faulted] = []
    before: JobState | None = None
    failed_at: datetime | None = None
    for fact, state, at in history:
        if isinstance(fact, f.WorkersFailed | f.Hung):
            failed_at = at
        if isinstance(fact, f.Judged) and before is not None:
            found.append(_of(fact, before, at, failed_at))
        elif found:
            found[-1] = _followed(found[-1], fact, state)
        before = state
    if found and found[-1].next_attempt is None and before is not None:
        found[-1] = found[-1].model_copy(update={"phase": before.phase})
    return tuple(found)


def _of(fact: f.Judged, before: JobState, at: datetime, failed_at: datetime | None) -> Faulted:
    again = isinstance(fact, f.Restarted)
    waits = fact.not_before if isinstance(fact, f.Restarted | f.ReplacementOrdered) else None
    return Faulted(
        attempt=before.attempt,
        started_at=before.started_at,
        failed_at=failed_at,
        judged_at=at,
        event=fact.event,
        reason=fact.reason,
        nodes=tuple(sorted(before.held)),
        diagnosis=fact.diagnosis,
        not_before=waits,
        next_attempt=before.attempt + 1 if again else None,
    )


def _followed(last: Faulted, fact: f.Fact, state: JobState) -> Faulted:
    """Return what is known of a failure once something more has happened."""
    if isinstance(fact, f.Scheduled) and last.next_attempt is None:
        return last.model_copy(update={"next_attempt": state.attempt})
    if isinstance(fact, f.Started) and state.attempt == last.next_attempt:
        return last.model_copy(update={"ran": True})
    return last
