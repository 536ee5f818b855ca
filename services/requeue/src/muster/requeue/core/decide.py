"""The auto-queue contract: limits on the time of each queueing and on the number of requeues.

Pure. `on_release` follows the one table in `muster.domain.causes`; `on_deadline` is asked whenever
a queue clock may be over, as often as anybody likes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from muster.domain.causes import AfterRelease, after_release
from muster.domain.deadlines import ROUND_S, passed
from muster.domain.facts import (
    Declined,
    Fact,
    NotRequeued,
    QueueTimedOut,
    Requeued,
    RequeueExhausted,
)
from muster.domain.phases import Phase
from muster.domain.reasons import Reason, ReasonCode, reason
from muster.domain.state import DeadlineKind, Eviction, JobState


def on_release(state: JobState) -> Fact | None:
    """Decide what an interrupted job does next; None for a job in any other phase."""
    if state.phase is not Phase.INTERRUPTED or state.eviction is None:
        return None
    eviction = state.eviction
    what = after_release(
        eviction.cause,
        auto_queue=state.demand.queue is not None,
        left=state.requeues_left,
        resource_class=state.demand.resource_class,
    )
    match what:
        case AfterRelease.EXHAUSTED:
            return RequeueExhausted(cause=eviction.cause)
        case AfterRelease.NOT_REQUEUED:
            return NotRequeued(cause=eviction.cause, by=eviction.by)
        case AfterRelease.REQUEUE_COUNTED:
            return _requeued(state, eviction, counted=True)
        case AfterRelease.REQUEUE_FREE | AfterRelease.REQUEUE_NO_DEADLINE:
            return _requeued(state, eviction)
        case AfterRelease.REQUEUE_ONE_SHOT:
            return _requeued(state, eviction, one_shot=True)
        case _:
            assert_never(what)


def _requeued(
    state: JobState, eviction: Eviction, *, counted: bool = False, one_shot: bool = False
) -> Requeued:
    return Requeued(
        cause=eviction.cause,
        counted=counted,
        same_entry=eviction.same_entry and not one_shot,
        one_shot=one_shot,
        not_before=eviction.not_before,
        avoid=state.avoid,
    )


@dataclass(frozen=True, slots=True)
class Round:
    """The last placement round of a pool: for which instant, and what it knew of the log."""

    at: datetime
    upto: int


def may_be_over(state: JobState, now: datetime) -> bool:
    """Tell whether a queue clock of the job is over, so that a round has to be asked about."""
    return any(passed(state, kind, now) for kind in (DeadlineKind.QUEUE, DeadlineKind.ROUND))


def on_deadline(
    state: JobState, seq: int, now: datetime, last: Round | None, why: Reason | None = None
) -> Fact | None:
    """Decide about a job whose queue clock may be over.

    seq: sequence of the job's last event. last: the pool's last round. why: what a round said of
    the job; for people, decides nothing. A queue entry expires only
    after a round that ran past its deadline and knew the job as it is now: a deadline that passed
    while we were down, or while the entry bounced, leaves the job one more chance.
    """
    if state.phase is not Phase.QUEUED:
        return None
    if passed(state, DeadlineKind.ROUND, now):
        return Declined(reason=reason(ReasonCode.NO_DECISION, seconds=ROUND_S))
    deadline = state.due(DeadlineKind.QUEUE)
    if deadline is None or now < deadline or last is None:
        return None
    if last.at < deadline or last.upto < seq:
        return None
    return QueueTimedOut(entry=state.queue_entry, why=why)
