"""What follows an outcome, and when news is too old."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from muster.notifier.core.delivery import (
    PATIENCE,
    UNKNOWN_WAIT,
    Delivery,
    DeliveryState,
    Outcome,
    backoff,
    decide,
    expiry,
)
from muster.notifier.core.notice import Trigger
from tests.notifier.test_cards import notice

S, R, T = DeliveryState, Outcome, Trigger


@pytest.mark.parametrize(
    ("outcome", "trigger", "repeat", "state", "comes_back"),
    [
        (R.DELIVERED, T.JOB_QUEUED, False, S.DELIVERED, False),
        (R.REFUSED, T.JOB_FAILED, False, S.FAILED, False),
        (R.RETRY, T.JOB_RUNNING, False, S.PENDING, True),
        (R.RETRY, T.JOB_FAILED, True, S.PENDING, True),
        (R.UNKNOWN, T.JOB_QUEUED, False, S.UNKNOWN, False),
        (R.UNKNOWN, T.JOB_SUCCEEDED, False, S.UNKNOWN, False),
        (R.UNKNOWN, T.JOB_FAILED, False, S.PENDING, True),
        (R.UNKNOWN, T.JOB_ABNORMAL, False, S.PENDING, True),
        (R.UNKNOWN, T.JOB_FAILED, True, S.UNKNOWN, False),
    ],
)
def test_decide(
    outcome: Outcome, trigger: Trigger, repeat: bool, state: DeliveryState, comes_back: bool
) -> None:
    verdict = decide(Delivery(outcome), notice(trigger), 3, repeat=repeat)
    assert verdict.state is state
    assert (verdict.wait is not None) is comes_back


def test_an_unknown_outcome_waits_longer_than_a_slow_receiver() -> None:
    assert decide(Delivery(R.UNKNOWN), notice(T.JOB_FAILED), 1, repeat=False).wait == UNKNOWN_WAIT


def test_the_receivers_own_wait_is_honoured_within_reason() -> None:
    asked = decide(Delivery(R.RETRY, retry_after=120.0), notice(), 1, repeat=False)
    absurd = decide(Delivery(R.RETRY, retry_after=1e9), notice(), 1, repeat=False)
    assert asked.wait == 120.0
    assert absurd.wait == 3600.0


def test_backoff_doubles_to_a_minute_and_is_spread() -> None:
    waits = [backoff(notice(), attempt) for attempt in range(1, 12)]
    assert all(
        low / 2 <= wait <= low
        for wait, low in zip(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60], strict=True)
    )
    crowd = {backoff(replace(notice(), subject=f"j{i}"), 5) for i in range(100)}
    assert len(crowd) > 50


@pytest.mark.parametrize(
    ("outcome", "attempt", "set_aside"),
    [
        (R.RETRY, PATIENCE - 1, False),
        (R.RETRY, PATIENCE, True),
        (R.UNKNOWN, PATIENCE, False),
    ],
)
def test_what_fails_too_often_no_longer_holds_up_the_rest(
    outcome: Outcome, attempt: int, set_aside: bool
) -> None:
    verdict = decide(Delivery(outcome), notice(T.JOB_FAILED), attempt, repeat=False)
    assert verdict.state is S.PENDING
    assert verdict.set_aside is set_aside


@pytest.mark.parametrize(
    ("trigger", "minutes"),
    [
        (T.JOB_QUEUED, 30),
        (T.JOB_RUNNING, 30),
        (T.JOB_FAILED, 24 * 60),
        (T.JOB_ABNORMAL, 24 * 60),
        (T.JOB_SUCCEEDED, 24 * 60),
    ],
)
def test_old_news_is_no_news(trigger: Trigger, minutes: int) -> None:
    told = notice(trigger)
    assert expiry(told) == told.at + timedelta(minutes=minutes)
