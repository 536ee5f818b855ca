"""The outcome of one attempt to tell somebody, and what to do next about it. Pure.

Channels report a `Delivery`; `decide` turns it into the row's next state and, where another attempt
makes sense, how long to wait. Called by the loops that deliver.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from muster.notifier.core.notice import URGENT, Notice, Trigger


class Outcome(StrEnum):
    """What the receiver's own protocol said, not what the transport said."""

    DELIVERED = "delivered"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    RETRY = "retry"


@dataclass(frozen=True, slots=True)
class Delivery:
    """One attempt's outcome. `code` is the receiver's, low-cardinality; `text` holds no secret."""

    outcome: Outcome
    code: str = ""
    text: str = ""
    retry_after: float | None = None


class DeliveryState(StrEnum):
    """Where a notice stands in the ledger."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The row's next state; `wait` in seconds until the next attempt, None when there is none.

    set_aside: younger notices of the same address need not wait for this one any longer.
    """

    state: DeliveryState
    wait: float | None = None
    set_aside: bool = False


UNKNOWN_WAIT = 30.0
PATIENCE = 8
"""Attempts, one to two minutes, after which the fault may be the notice's and not the address's."""
_LONGEST_WAIT = 60.0
_LONGEST_HINT = 3600.0
_SOON_OLD = frozenset(
    {
        Trigger.JOB_QUEUED,
        Trigger.JOB_RUNNING,
        Trigger.JOB_PREEMPTED,
        Trigger.JOB_RESTARTED,
        Trigger.DEBUG_HOLD,
    }
)
_MAX_AGE = {
    trigger: timedelta(minutes=30) if trigger in _SOON_OLD else timedelta(hours=24)
    for trigger in Trigger
}

STALE = Delivery(Outcome.REFUSED, "stale", "too old to be news; not sent")
WITHDRAWN = Delivery(Outcome.REFUSED, "withdrawn", "its rule is no longer in force; not sent")
UNREADABLE = Delivery(Outcome.RETRY, "unreadable", "stored by another version; left to it")
LEFT = Verdict(DeliveryState.PENDING, _LONGEST_WAIT, set_aside=True)
"""What follows for an unreadable one: out of the way, until a version that knows it comes."""


def expiry(notice: Notice) -> datetime:
    """Return the instant from which the transition is too long ago to be told as news."""
    return notice.at + _MAX_AGE[notice.trigger]


def backoff(notice: Notice, attempt: int) -> float:
    """Seconds before attempt `attempt + 1`: 1, 2, 4 .. 60, spread so that a burst does not return.

    The spread comes from the notice's identity instead of chance: a replay waits the same.
    """
    digest = hashlib.sha256(f"{notice.id}:{attempt}".encode()).digest()
    share = 0.5 + digest[0] / 510
    doubled: float = 2.0 ** min(attempt - 1, 10)
    return min(_LONGEST_WAIT, doubled) * share


def decide(delivery: Delivery, notice: Notice, attempt: int, *, repeat: bool) -> Verdict:
    """Return what to write down and whether to come back.

    repeat: an earlier attempt may have reached the person. An unknown outcome may have, too: it is
    tried once more only where a repeat does less harm than silence, and the card says so.
    """
    match delivery.outcome:
        case Outcome.DELIVERED:
            return Verdict(DeliveryState.DELIVERED)
        case Outcome.REFUSED:
            return Verdict(DeliveryState.FAILED)
        case Outcome.UNKNOWN if notice.trigger in URGENT and not repeat:
            return Verdict(DeliveryState.PENDING, UNKNOWN_WAIT)
        case Outcome.UNKNOWN:
            return Verdict(DeliveryState.UNKNOWN)
        case Outcome.RETRY:
            hint = min(delivery.retry_after or 0.0, _LONGEST_HINT)
            wait = max(hint, backoff(notice, attempt))
            return Verdict(DeliveryState.PENDING, wait, set_aside=attempt >= PATIENCE)
