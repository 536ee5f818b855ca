"""The flap guard: a job that goes back and forth is told of once, and then how it came out. Pure.

Only news that nobody must act on is held back. The youngest is kept until the job has been calm
for a while, so the state that it ended in is always told; older ones that wait behind it are
written down as damped. Called by the ledger for every notice that it is about to store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from muster.notifier.core.notice import Facts, Key, Kind, Notice, Trigger

WINDOW = timedelta(minutes=10)
ROUNDS = 3
"""So often within the window a job may come back to the same state and be told of each time."""
_FLAPS = frozenset(
    {Trigger.JOB_QUEUED, Trigger.JOB_RUNNING, Trigger.JOB_PREEMPTED, Trigger.JOB_RESTARTED}
)
_ENDS = frozenset({Trigger.JOB_ABNORMAL, Trigger.JOB_FAILED, Trigger.JOB_SUCCEEDED})


@dataclass(frozen=True, slots=True)
class Recent:
    """A row of the same job on the same lane. held: pending, and not due before later."""

    key: Key
    trigger: Trigger
    kind: Kind
    transition: str
    at: datetime
    version: int
    held: bool = False


@dataclass(frozen=True, slots=True)
class Damping:
    """What to store, and which rows end as damped."""

    store: tuple[Notice, ...]
    damped: tuple[Key, ...] = ()


def damp(notice: Notice, recent: Sequence[Recent]) -> Damping:
    """Return what to do with a notice, given its job's rows of the last while on its lane."""
    if notice.kind is not Kind.NEWS or notice.trigger not in _FLAPS | _ENDS:
        return Damping((notice,))
    older = tuple(row.key for row in recent if row.held and (row.at, row.version) < _order(notice))
    rounds = _rounds(notice, recent)
    if notice.trigger in _ENDS or rounds <= ROUNDS:
        return Damping((notice,), older)
    held = replace(notice, due=notice.at + WINDOW)
    if _told_of_flapping(notice, recent):
        return Damping((held,), older)
    return Damping((_flapping(notice, rounds), held), older)


def _order(notice: Notice) -> tuple[datetime, int]:
    return notice.at, notice.version


def _rounds(notice: Notice, recent: Sequence[Recent]) -> int:
    """How often the job has come back to this state within the window, this time included."""
    times = {
        row.transition
        for row in recent
        if row.trigger is notice.trigger and row.kind is Kind.NEWS and _within(notice, row)
    }
    return len(times - {notice.transition})


def _within(notice: Notice, row: Recent) -> bool:
    return notice.at - WINDOW < row.at <= notice.at


def _told_of_flapping(notice: Notice, recent: Sequence[Recent]) -> bool:
    mine = (row for row in recent if row.key[0] == notice.rule and row.kind is Kind.FLAPPING)
    return any(_within(notice, row) for row in mine)


def _flapping(notice: Notice, rounds: int) -> Notice:
    assert isinstance(notice.facts, Facts)  # only jobs flap
    facts = replace(notice.facts, flips=rounds)
    return replace(
        notice, kind=Kind.FLAPPING, transition=f"flapping:{notice.transition}", facts=facts
    )
