"""What follows an outcome, for the message and for its address, and when news is too old."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from muster.notifier.core.delivery import (
    CLOCK_SLACK,
    PATIENCE,
    UNKNOWN_WAIT,
    Attempt,
    Delivery,
    DeliveryState,
    Fault,
    Form,
    Verdict,
    backoff,
    decide,
    expiry,
)
from muster.notifier.core.notice import Kind, Trigger
from tests.notifier.test_cards import notice

S, F, T = DeliveryState, Fault, Trigger
NOW = datetime(2025, 3, 1, 8, 0, tzinfo=UTC)
FIRST = Attempt(parcel="n-1", number=1, urgent=False, at=NOW)
PENDING, DEAD, UNKNOWN, DELIVERED = S.PENDING, S.DEAD, S.UNKNOWN, S.DELIVERED
LATER, NOW_AGAIN = "later", "at once"

TABLE: dict[str, tuple[Fault, dict[str, object], DeliveryState, str | None, Form, bool]] = {
    "delivered": (F.NONE, {}, DELIVERED, None, Form.CARD, False),
    "rate limit": (F.RATE, {}, PENDING, LATER, Form.CARD, False),
    "server fault": (F.SERVER, {}, PENDING, LATER, Form.CARD, False),
    "unreachable": (F.UNREACHABLE, {}, PENDING, LATER, Form.CARD, False),
    "text is tried again as text": (F.RATE, {"form": Form.TEXT}, PENDING, LATER, Form.TEXT, False),
    "no reply": (F.NO_REPLY, {}, UNKNOWN, None, Form.CARD, False),
    "no reply, urgent": (F.NO_REPLY, {"urgent": True}, PENDING, LATER, Form.CARD, False),
    "no reply, urgent, again": (
        F.NO_REPLY,
        {"urgent": True, "repeat": True},
        UNKNOWN,
        None,
        Form.CARD,
        False,
    ),
    "nonsense": (F.NOT_UNDERSTOOD, {}, UNKNOWN, None, Form.CARD, False),
    "nonsense, urgent": (F.NOT_UNDERSTOOD, {"urgent": True}, PENDING, LATER, Form.CARD, False),
    "card refused": (F.CONTENT, {}, PENDING, NOW_AGAIN, Form.TEXT, False),
    "text refused": (F.CONTENT, {"form": Form.TEXT}, DEAD, None, Form.CARD, False),
    "bad parameter": (F.PARAMETER, {}, DEAD, None, Form.CARD, False),
    "signature": (F.SIGNATURE, {}, PENDING, NOW_AGAIN, Form.CARD, False),
    "signature again": (F.SIGNATURE, {"last_code": "19021"}, DEAD, None, Form.CARD, True),
    "no such bot": (F.ADDRESS, {}, DEAD, None, Form.CARD, True),
    "bot disabled": (F.DISABLED, {}, DEAD, None, Form.CARD, True),
    "address not allowed": (F.IP, {}, DEAD, None, Form.CARD, True),
    "keyword missing": (F.KEYWORD, {}, DEAD, None, Form.CARD, False),
    "keyword known": (F.KEYWORD, {"keywords": True}, PENDING, NOW_AGAIN, Form.TEXT, False),
    "keyword known, again": (
        F.KEYWORD,
        {"keywords": True, "form": Form.TEXT},
        DEAD,
        None,
        Form.CARD,
        False,
    ),
    "never seen": (F.REFUSED, {}, DEAD, None, Form.CARD, False),
}


def told(fault: Fault, **values: object) -> Verdict:
    return decide(Delivery(fault, "19021"), replace(FIRST, **values))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", TABLE)
def test_table(name: str) -> None:
    fault, values, state, wait, form, opens = TABLE[name]
    verdict = told(fault, **values)
    assert verdict.state is state
    assert (verdict.wait is not None) is (wait is not None)
    assert (verdict.wait == 0) is (wait == NOW_AGAIN)
    if state is PENDING:
        assert verdict.form is form
    assert verdict.lane.opens is opens


@pytest.mark.parametrize(
    "fault", [F.ADDRESS, F.DISABLED, F.IP, F.SIGNATURE, F.RATE, F.SERVER, F.UNREACHABLE]
)
def test_a_probe_that_fails_costs_nobody_their_notice(fault: Fault) -> None:
    verdict = told(fault, probe=True, number=PATIENCE)
    assert verdict.state is PENDING
    assert verdict.lane.opens
    assert not verdict.set_aside


def test_a_wait_that_the_receiver_asks_for_holds_for_all_even_once_one_is_set_aside() -> None:
    attempt = Attempt("n-1", PATIENCE, urgent=True, at=datetime(2025, 3, 1, tzinfo=UTC))
    verdict = decide(Delivery(F.RATE, "http_429", retry_after=40), attempt)
    assert verdict.set_aside
    assert verdict.lane.pause == 40


def test_what_was_told_closes_the_circuit_and_ends_the_row_of_failures() -> None:
    verdict = told(F.NONE, probe=True, failures=9)
    assert verdict.lane.closes
    assert verdict.lane.failures == 0


def test_an_address_that_fails_is_left_alone_and_counted() -> None:
    for fault in (F.RATE, F.SERVER, F.UNREACHABLE, F.NO_REPLY):
        verdict = told(fault, failures=4)
        assert verdict.lane.pause > 0
        assert verdict.lane.failures == 5


def test_an_unknown_outcome_waits_longer_than_a_slow_receiver() -> None:
    verdict = told(F.NO_REPLY, urgent=True)
    assert verdict.wait == UNKNOWN_WAIT
    assert verdict.in_doubt


def test_the_receivers_own_wait_is_honoured_within_reason() -> None:
    asked = decide(Delivery(F.RATE, retry_after=120.0), FIRST)
    absurd = decide(Delivery(F.RATE, retry_after=1e9), FIRST)
    assert (asked.wait, asked.lane.pause) == (120.0, 120.0)
    assert absurd.wait == 3600.0


@pytest.mark.parametrize(
    ("off", "ahead"),
    [(timedelta(), None), (CLOCK_SLACK, None), (CLOCK_SLACK + timedelta(seconds=1), 61.0)],
)
def test_a_clock_that_is_off_is_learned_with_the_one_retry(
    off: timedelta, ahead: float | None
) -> None:
    verdict = decide(Delivery(F.SIGNATURE, "19021", server_time=NOW + off), FIRST)
    assert (verdict.wait, verdict.lane.ahead) == (0.0, ahead)
    learned = replace(FIRST, ahead=3600.0)
    again = decide(Delivery(F.SIGNATURE, "19021", server_time=NOW + timedelta(hours=1)), learned)
    assert again.lane.ahead == 7200.0


def test_backoff_doubles_to_a_minute_and_is_spread() -> None:
    longest = [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60]
    waits = [backoff("n-1", attempt) for attempt in range(1, 12)]
    assert all(0 < wait <= most for wait, most in zip(waits, longest, strict=True))
    crowd = [backoff(f"n-{i}", 5) for i in range(200)]
    assert len(set(crowd)) > 50
    assert min(crowd) < 2
    assert max(crowd) > 14


@pytest.mark.parametrize(
    ("fault", "number", "set_aside"),
    [(F.RATE, PATIENCE - 1, False), (F.RATE, PATIENCE, True), (F.NO_REPLY, PATIENCE, False)],
)
def test_what_fails_too_often_no_longer_holds_up_the_rest(
    fault: Fault, number: int, set_aside: bool
) -> None:
    verdict = told(fault, number=number, urgent=True)
    assert verdict.state is PENDING
    assert verdict.set_aside is set_aside
    assert not (set_aside and verdict.lane.pause)


@pytest.mark.parametrize("trigger", list(Trigger))
def test_old_news_is_no_news(trigger: Trigger) -> None:
    brief = {T.JOB_QUEUED, T.JOB_RUNNING, T.JOB_PREEMPTED, T.JOB_RESTARTED}
    age = timedelta(minutes=30) if trigger in brief else timedelta(hours=24)
    news = notice(trigger)
    assert expiry(news) == news.at + age
    later = replace(news, kind=Kind.REMINDER, due=news.at + timedelta(hours=8))
    assert expiry(later) == news.at + timedelta(hours=32)
