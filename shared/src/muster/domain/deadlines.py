"""Every waiting phase has a clock: which stored instant counts when, and whose it is.

A deadline is a field of the state; an alarm on the bus only wakes its owner, who checks it against
the state like any other trigger. Printed into docs/reference/deadlines.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from muster.domain.edges import Owner
from muster.domain.phases import Phase
from muster.domain.state import DeadlineKind, JobState

ROUND_S = 120
"""A one-shot job that had no round for so long is declined."""
VICTIM_MARGIN_S = 60
"""Added to the victims' grace before their beneficiary's plan is given up."""
RELEASE_MARGIN_S = 300
"""After the kill, so long until a release is overdue."""
SETTLE_S = 10
"""So long after the first report of a failure those that fail with it are waited for."""
VERDICT_S = 60
"""Within this time fault tolerance decides, or a person must."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """phases: where it counts. owner: who acts. event: what follows ("" = an effect only)."""

    phases: frozenset[Phase]
    owner: Owner
    event: str
    launched: bool | None = None


_HELD_BACK = frozenset({Phase.EVICTING, Phase.STOPPING})

DEADLINES: dict[DeadlineKind, Deadline] = {
    DeadlineKind.QUEUE: Deadline(frozenset({Phase.QUEUED}), Owner.REQUEUE, "queue_timed_out"),
    DeadlineKind.ROUND: Deadline(frozenset({Phase.QUEUED}), Owner.REQUEUE, "declined"),
    DeadlineKind.PLAN: Deadline(
        frozenset({Phase.STARTING}), Owner.SCHEDULER, "unscheduled", launched=False
    ),
    DeadlineKind.START: Deadline(frozenset({Phase.STARTING}), Owner.EXECUTOR, "start_failed"),
    DeadlineKind.GRACE: Deadline(_HELD_BACK, Owner.EXECUTOR, ""),
    DeadlineKind.RELEASE: Deadline(_HELD_BACK, Owner.EXECUTOR, "release_overdue"),
    DeadlineKind.SETTLE: Deadline(frozenset({Phase.FAULTED}), Owner.FAULT_TOLERANCE, ""),
    DeadlineKind.VERDICT: Deadline(frozenset({Phase.FAULTED}), Owner.FAULT_TOLERANCE, "escalated"),
    DeadlineKind.HOLD: Deadline(frozenset({Phase.DEBUG_HOLDING}), Owner.EXECUTOR, "hold_ended"),
    DeadlineKind.RUN: Deadline(frozenset({Phase.RUNNING}), Owner.EXECUTOR, "run_timed_out"),
}


def counts(kind: DeadlineKind, state: JobState) -> bool:
    """Tell whether a stored deadline counts in the job's present phase."""
    row = DEADLINES[kind]
    if state.phase not in row.phases:
        return False
    return row.launched is None or row.launched == state.launched


def armed(state: JobState, owner: Owner) -> Iterator[tuple[DeadlineKind, datetime]]:
    """Yield the deadlines of a state that count now and are the owner's."""
    for kind, instant in state.deadlines.items():
        if DEADLINES[kind].owner is owner and counts(kind, state):
            yield kind, instant


def passed(state: JobState, kind: DeadlineKind, now: datetime) -> bool:
    """Tell whether a deadline counts now and is over at `now`."""
    instant = state.due(kind)
    return instant is not None and now >= instant and counts(kind, state)
