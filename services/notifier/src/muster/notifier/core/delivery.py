"""The outcome of one attempt to tell somebody, and what to do next about it. Pure.

Channels report a `Delivery`: one request, one reply. `decide` is the table of what follows: for the
message (again later, as plain text, dead) and for its address (a pause, a circuit that opens).
Called by the loops that deliver.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from muster.notifier.core.notice import Kind, Notice, Trigger


class Fault(StrEnum):
    """What the receiver's own protocol said, not what the transport said."""

    NONE = "none"
    RATE = "rate"
    SERVER = "server"
    UNREACHABLE = "unreachable"
    NO_REPLY = "no_reply"
    NOT_UNDERSTOOD = "not_understood"
    CONTENT = "content"
    PARAMETER = "parameter"
    SIGNATURE = "signature"
    ADDRESS = "address"
    DISABLED = "disabled"
    IP = "ip"
    KEYWORD = "keyword"
    REFUSED = "refused"
    UNREADABLE = "unreadable"


class Outcome(StrEnum):
    """What a fault means for the message."""

    DELIVERED = "delivered"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    RETRY = "retry"


_RETRY = frozenset({Fault.RATE, Fault.SERVER, Fault.UNREACHABLE, Fault.UNREADABLE})
_UNKNOWN = frozenset({Fault.NO_REPLY, Fault.NOT_UNDERSTOOD})
_CLOSED = frozenset({Fault.ADDRESS, Fault.DISABLED, Fault.IP, Fault.SIGNATURE})
"""The address itself refuses: nothing gets through until somebody mends it."""
_AS_TEXT = frozenset({Fault.CONTENT, Fault.KEYWORD})


@dataclass(frozen=True, slots=True)
class Delivery:
    """One request's outcome. `code` is the receiver's, low-cardinality; `text` holds no secret.

    retry_after: seconds that the receiver asks for. server_time: what its clock showed.
    """

    fault: Fault
    code: str = ""
    text: str = ""
    retry_after: float | None = None
    server_time: datetime | None = None

    @property
    def outcome(self) -> Outcome:
        """Return what it means for the message."""
        if self.fault is Fault.NONE:
            return Outcome.DELIVERED
        if self.fault in _RETRY:
            return Outcome.RETRY
        return Outcome.UNKNOWN if self.fault in _UNKNOWN else Outcome.REFUSED


class DeliveryState(StrEnum):
    """Where a notice stands in the ledger. From STALE on: it was not sent, by intent.

    dead: refused for good, kept as a dead letter. acted: a reminder that nobody needs any more.
    """

    PENDING = "pending"
    DELIVERED = "delivered"
    DEAD = "dead"
    UNKNOWN = "unknown"
    STALE = "stale"
    WITHDRAWN = "withdrawn"
    SILENCED = "silenced"
    INHIBITED = "inhibited"
    DAMPED = "damped"
    ACTED = "acted"


class Form(StrEnum):
    """How a message is put: as a card, or as lines of text where a card was refused."""

    CARD = "card"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Attempt:
    """What an attempt was. number: from 1. repeat: an earlier one may have reached the person.

    last_code: of the attempt before, "" for none. failures: in a row, of the address before this.
    probe: the address had refused everything. at: the time that it was signed with, which takes the
    receiver's clock to be `ahead` seconds ahead of ours.
    """

    parcel: str
    number: int
    urgent: bool
    at: datetime
    repeat: bool = False
    form: Form = Form.CARD
    last_code: str = ""
    failures: int = 0
    probe: bool = False
    keywords: bool = False
    ahead: float = 0.0


@dataclass(frozen=True, slots=True)
class LaneVerdict:
    """What follows for the address.

    pause: seconds in which nothing is sent to it. failures: in a row from now on. opens, closes:
    its circuit. ahead: by so many seconds its clock is ahead of ours; None = as known before.
    """

    pause: float = 0.0
    failures: int = 0
    opens: bool = False
    closes: bool = False
    ahead: float | None = None


AS_BEFORE = LaneVerdict()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The message's next state; `wait` in seconds until its next attempt, None when there is none.

    set_aside: younger messages of the same address need not wait for this one any longer. in_doubt:
    this attempt may have reached the person.
    """

    state: DeliveryState
    wait: float | None = None
    form: Form = Form.CARD
    set_aside: bool = False
    in_doubt: bool = False
    lane: LaneVerdict = AS_BEFORE


UNKNOWN_WAIT = 30.0
PROBE_EVERY = timedelta(minutes=10)
PATIENCE = 8
"""Attempts, one to two minutes, after which the fault may be the message's, not the address's."""
CLOCK_SLACK = timedelta(minutes=1)
_LONGEST_WAIT = 60.0
_LONGEST_HINT = 3600.0
_BRIEF = frozenset(
    {Trigger.JOB_QUEUED, Trigger.JOB_RUNNING, Trigger.JOB_PREEMPTED, Trigger.JOB_RESTARTED}
)
_BRIEFLY, _LONG = timedelta(minutes=30), timedelta(hours=24)

UNREADABLE = Delivery(Fault.UNREADABLE, "unreadable", "stored by another version; left to it")


def expiry(notice: Notice) -> datetime:
    """Return the instant from which it is too long ago to be told as news."""
    brief = notice.trigger in _BRIEF and notice.kind is not Kind.REMINDER
    return (notice.due or notice.at) + (_BRIEFLY if brief else _LONG)


def backoff(parcel: str, attempt: int) -> float:
    """Seconds before attempt `attempt + 1`: anywhere up to 1, 2, 4 .. 60.

    The chance comes from the message's identity: a replay waits the same.
    """
    digest = hashlib.sha256(f"{parcel}:{attempt}".encode()).digest()
    longest: float = min(_LONGEST_WAIT, 2.0 ** min(attempt - 1, 10))
    return longest * (digest[0] + 1) / 256


def decide(delivery: Delivery, attempt: Attempt) -> Verdict:
    """Return what to write down, whether to come back, and what the address is worth.

    An address that had refused everything is probed with a message that waits anyway: it stays
    pending if the probe fails, so a probe costs nobody their notice.
    """
    match delivery.outcome:
        case Outcome.DELIVERED:
            return Verdict(DeliveryState.DELIVERED, lane=LaneVerdict(closes=True))
        case Outcome.RETRY:
            return _later(delivery, attempt)
        case Outcome.UNKNOWN:
            return _unknown(delivery, attempt)
        case Outcome.REFUSED:
            return _refused(delivery, attempt)


def _later(delivery: Delivery, attempt: Attempt) -> Verdict:
    """Whatever keeps this one from being told keeps others of the address, too: all wait."""
    hint = min(delivery.retry_after or 0.0, _LONGEST_HINT)
    wait = max(hint, backoff(attempt.parcel, attempt.number))
    aside = attempt.number >= PATIENCE
    lane = LaneVerdict(pause=hint if aside else wait, failures=attempt.failures + 1)
    if delivery.fault is Fault.UNREADABLE:
        lane, wait, aside = LaneVerdict(failures=attempt.failures), _LONGEST_WAIT, True
    verdict = Verdict(DeliveryState.PENDING, wait, attempt.form, set_aside=aside, lane=lane)
    return _probed(verdict) if attempt.probe else verdict


def _unknown(delivery: Delivery, attempt: Attempt) -> Verdict:
    """It may have reached the person: tried once more only where silence would do more harm."""
    failures = attempt.failures + 1
    pause = backoff(attempt.parcel, failures) if delivery.fault is Fault.NO_REPLY else 0.0
    lane = LaneVerdict(pause=pause, failures=failures, opens=attempt.probe)
    if attempt.urgent and not attempt.repeat:
        wait = UNKNOWN_WAIT
        return Verdict(DeliveryState.PENDING, wait, attempt.form, in_doubt=True, lane=lane)
    return Verdict(DeliveryState.UNKNOWN, lane=lane)


def _refused(delivery: Delivery, attempt: Attempt) -> Verdict:
    fault = delivery.fault
    if fault is Fault.SIGNATURE and attempt.last_code != delivery.code and not attempt.probe:
        ahead = _ahead(delivery, attempt)
        return Verdict(DeliveryState.PENDING, 0.0, attempt.form, lane=LaneVerdict(ahead=ahead))
    if fault in _CLOSED:
        state = DeliveryState.PENDING if attempt.probe else DeliveryState.DEAD
        wait = 0.0 if attempt.probe else None
        ahead = _ahead(delivery, attempt) if attempt.probe else None
        return Verdict(state, wait, attempt.form, lane=LaneVerdict(opens=True, ahead=ahead))
    worded_anew = fault is Fault.CONTENT or attempt.keywords
    if fault in _AS_TEXT and worded_anew and attempt.form is Form.CARD:
        return Verdict(DeliveryState.PENDING, 0.0, Form.TEXT, lane=LaneVerdict(closes=True))
    return Verdict(DeliveryState.DEAD, lane=LaneVerdict(closes=True))


def _probed(verdict: Verdict) -> Verdict:
    return replace(verdict, set_aside=False, lane=replace(verdict.lane, opens=True))


def _ahead(delivery: Delivery, attempt: Attempt) -> float | None:
    """Return by how much the receiver's clock is ahead, if that may be why it refused."""
    if delivery.server_time is None:
        return None
    off = delivery.server_time - attempt.at
    return attempt.ahead + off.total_seconds() if abs(off) > CLOCK_SLACK else None
