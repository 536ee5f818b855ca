"""What was tried for a job that waits for a person: one line for each of its queueings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from muster.cli.texts import say
from muster.cli.views.states import reason_text
from muster.cli.words import cause_words, plain, span
from muster.contracts.events import JobData
from muster.domain.facts import Fact
from muster.domain.queueings import Queueing, queueings
from muster.domain.reasons import ReasonCode
from muster.domain.state import JobState
from muster.log import Recorded


def tried(history: Sequence[Recorded], now: datetime) -> tuple[Queueing, ...]:
    """Return the queueings of a job's history."""
    told = [
        (item.event.data.detail, item.event.time, item.job)
        for item in history
        if isinstance(item.event.data, JobData) and isinstance(item.event.data.detail, Fact)
    ]
    return queueings(told, now)


def tried_lines(found: Sequence[Queueing]) -> Iterator[str]:
    """Yield a sentence for each queueing: how long, what came of it, why it did not fit."""
    for each in found:
        yield plain(say("comma").join(_parts(each)))


def _parts(each: Queueing) -> Iterator[str]:
    yield say("tried.waited", entry=each.entry, span=span(each.waited_s))
    if each.bounced:
        yield say("tried.bounced", count=each.bounced)
    if each.ran_s is not None:
        yield say("tried.ran", span=span(each.ran_s))
    if each.cause is not None:
        key = "tried.evicted_for" if each.by else "tried.evicted"
        yield say(key, cause=cause_words(each.cause), by=each.by)
    if each.why is not None:
        yield say("tried.why", why=reason_text(each.why))


_LIMITS = frozenset({ReasonCode.QUEUE_TIMEOUT, ReasonCode.REQUEUE_LIMIT})


def way_out(state: JobState) -> str:
    """Return what a person can do about a parked job."""
    limited = state.reason is not None and state.reason.code in _LIMITS
    key = "explain.next.abnormal_limits" if limited else "explain.next.abnormal"
    return say(key, job=state.job)
