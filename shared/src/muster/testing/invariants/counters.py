"""I5, I6, I18: counters rise once for a cause, each entry has its clock, budgets are separate."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from muster.domain.causes import PREEMPTIONS
from muster.domain.edges import IllegalEdge
from muster.domain.evolve import evolve
from muster.domain.facts import (
    CheckpointSaved,
    Fact,
    Hung,
    QueueTimedOut,
    ReplacementOrdered,
    Requeued,
    Respecified,
    Restarted,
    Resumed,
    WorkersFailed,
)
from muster.domain.phases import Phase
from muster.domain.state import DeadlineKind, JobState, Ledgers
from muster.testing.invariants.base import Invariant, JobChange, Known


class CountersAreRight(Invariant):
    number: ClassVar[str] = "I5"
    text: ClassVar[str] = (
        "Each event moves at most one ledger, by one; a requeue counts exactly when its cause is a"
        " preemption and never past the limit; and what an event carries is what the log folds to."
    )

    def on_job(self, change: JobChange) -> None:
        before, after, fact = change.before, change.after, change.fact
        if _folded(change) != after:
            raise self.broken(f"{fact.event} carries what the log does not fold to", after.job)
        old = before.ledgers if before else Ledgers()
        risen = _risen(old, after.ledgers)
        if sum(risen.values()) > 1:
            raise self.broken(f"{fact.event} moved {risen}", after.job)
        if isinstance(fact, Requeued):
            self._requeue(fact, risen["requeues"], after)
        elif risen["requeues"]:
            raise self.broken(f"{fact.event} counted as a requeue", after.job)
        self._not_lost(change, old)

    def _requeue(self, fact: Requeued, risen: int, after: JobState) -> None:
        if (fact.cause in PREEMPTIONS) != bool(risen):
            raise self.broken(f"requeue after {fact.cause} counted {risen}", after.job)
        limit = after.demand.queue.max_requeues if after.demand.queue else 0
        if risen and after.ledgers.requeues > limit:
            raise self.broken(f"{after.ledgers.requeues} requeues, limit {limit}", after.job)

    def _not_lost(self, change: JobChange, old: Ledgers) -> None:
        new = change.after.ledgers
        if isinstance(change.fact, CheckpointSaved):
            fell = new.requeues < old.requeues or new.restarts < old.restarts - 1
        else:
            fell = any(getattr(new, name) < getattr(old, name) for name in _KEPT)
        if fell and not isinstance(change.fact, Resumed):
            raise self.broken(f"{change.fact.event} lost a count", change.after.job)


_KEPT = ("requeues", "restarts", "hangs")
"""Counts that only a person, or new work that is safe, makes smaller."""


def _folded(change: JobChange) -> JobState | None:
    try:
        return evolve(change.before, change.fact, change.at)
    except IllegalEdge:
        return None


def _risen(old: Ledgers, new: Ledgers) -> dict[str, int]:
    return {
        "requeues": max(0, new.requeues - old.requeues),
        "restarts": max(0, new.restarts - old.restarts),
        "starts": max(0, new.starts - old.starts),
        "hangs": max(0, new.hangs - old.hangs),
        "infrastructure": len(set(new.infrastructure) - set(old.infrastructure)),
    }


class EveryEntryHasItsClock(Invariant):
    number: ClassVar[str] = "I6"
    text: ClassVar[str] = (
        "A new queue entry has a fresh deadline, the same entry keeps its own, and it times out at"
        " most once: not before the deadline, nor before a round has run after it."
    )

    def on_job(self, change: JobChange) -> None:
        before, after = change.before, change.after
        if isinstance(change.fact, QueueTimedOut):
            self._timed_out(change)
        if after.phase is not Phase.QUEUED or after.demand.queue is None:
            return
        due = after.due(DeadlineKind.QUEUE)
        hours = timedelta(hours=after.demand.queue.max_queue_hours)
        if after.entered_at is None or due != after.entered_at + hours:
            raise self.broken(f"entry {after.queue_entry} is due at {due}", after.job)
        if before is not None and after.queue_entry != before.queue_entry:
            if after.entered_at != change.at or after.queue_entry != before.queue_entry + 1:
                raise self.broken(f"entry {after.queue_entry} has an old clock", after.job)
            return
        may_move = before is None or isinstance(change.fact, Respecified)
        if not may_move and before and before.due(DeadlineKind.QUEUE) != due:
            raise self.broken(f"{change.fact.event} moved the entry's deadline", after.job)

    def _timed_out(self, change: JobChange) -> None:
        before, fact = change.before, change.fact
        assert before is not None
        assert isinstance(fact, QueueTimedOut)
        due = before.due(DeadlineKind.QUEUE)
        if fact.entry != before.queue_entry or due is None or change.at < due:
            raise self.broken(f"entry {fact.entry} timed out at {change.at}", before.job)
        if not self._had_a_round(before, due):
            raise self.broken("timed out before a round ran after the deadline", before.job)

    def _had_a_round(self, state: JobState, due: datetime) -> bool:
        return any(decided.at >= due for _, decided in self.known.rounds[state.pool])


class BudgetsAreSeparate(Invariant):
    number: ClassVar[str] = "I18"
    text: ClassVar[str] = (
        "A restart follows a failure that the user wanted retried, within the user's own budget; a"
        " lost node, an eviction, a hang or a failed start never costs a restart, and only a hang"
        " costs one of those after hangs."
    )

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._failed: dict[str, WorkersFailed | Hung] = {}

    def on_job(self, change: JobChange) -> None:
        before, after, fact = change.before, change.after, change.fact
        if isinstance(fact, WorkersFailed | Hung):
            self._failed[after.job] = fact
        self._hangs(before, after, fact)
        counts = (isinstance(fact, Restarted) and not (fact.infrastructure or fact.hang)) or (
            isinstance(fact, ReplacementOrdered) and fact.restart
        )
        risen = after.ledgers.restarts - (before.ledgers.restarts if before else 0)
        if max(0, risen) != int(counts):
            raise self.broken(f"{fact.event} moved restarts by {risen}", after.job)
        if not counts:
            return
        if after.ledgers.restarts > after.demand.max_restarts:
            limit = after.demand.max_restarts
            raise self.broken(f"{after.ledgers.restarts} restarts, limit {limit}", after.job)
        self._wanted(after)

    def _hangs(self, before: JobState | None, after: JobState, fact: Fact) -> None:
        if before is None or after.ledgers.hangs <= before.ledgers.hangs:
            return
        named = isinstance(fact, Restarted | ReplacementOrdered) and fact.hang
        if not named or not isinstance(self._failed.get(after.job), Hung):
            raise self.broken(f"{fact.event} moved hangs, and there was no hang", after.job)

    def _wanted(self, state: JobState) -> None:
        failed = self._failed.get(state.job)
        if not isinstance(failed, WorkersFailed):
            return
        if any(each.cause == "node_lost" for each in failed.failures):
            raise self.broken("a lost node cost a restart", state.job)
        ranges, code = state.demand.restart_exit_codes, failed.failures[0].exit_code
        if ranges and (code is None or not any(low <= code <= high for low, high in ranges)):
            raise self.broken(f"exit {code} was retried, wanted {ranges}", state.job)
