"""Reminders of a job that waits for a person: at intervals, a few times, until somebody acts. Pure.

A reminder is a notice of its own, due later. The next one is made when one has been told, so a
service that was down for a day reminds once and not six times. Called by the ledger.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.notifier.core.notice import Kind, Notice, Trigger

EVERY = timedelta(hours=4)
MOST = 6
_NAME = ":reminder:"
_ACTS = frozenset({"resumed", "stop_requested", "stopped"})


def reminder_after(notice: Notice, now: datetime) -> Notice | None:
    """Return the reminder that follows a notice that was told now; None if none does."""
    if notice.trigger is not Trigger.JOB_ABNORMAL or notice.kind is Kind.FLAPPING:
        return None
    told, _, number = notice.transition.partition(_NAME)
    count = int(number or 0) + 1
    if count > MOST:
        return None
    return replace(notice, kind=Kind.REMINDER, transition=f"{told}{_NAME}{count}", due=now + EVERY)


def somebody_acted(event: str, state: JobState) -> bool:
    """Tell whether the job need not be reminded of any more."""
    return event in _ACTS and state.phase is not Phase.ABNORMAL
