"""What follows an outcome, and when news is too old."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from muster.notifier.core.delivery import (
    UNKNOWN_WAIT,
    Delivery,
    DeliveryState,
    Outcome,
    backoff,
    decide,
    is_stale,
)
from muster.notifier.core.notice import Trigger
from tests.notifier.test_cards import notice

S, R, T = DeliveryState, Outcome, Trigger


@pytest.mark.parametrize(
    ("outcome", "trigger", "attempt", "state", "comes_back"),
    [
        (R.DELIVERED, T.JOB_QUEUED, 1, S.DELIVERED, False),
        (R.REFUSED, T.JOB_FAILED, 1, S.FAILED, False),
        (R.RETRY, T.JOB_RUNNING, 1, S.PENDING, True),
        (R.RETRY, T.JOB_FAILED, 40, S.PENDING, True),
        (R.UNKNOWN, T.JOB_QUEUED, 1, S.UNKNOWN, False),
        (R.UNKNOWN, T.JOB_SUCCEEDED, 1, S.UNKNOWN, False),
        (R.UNKNOWN, T.JOB_FAILED, 1, S.PENDING, True),
        (R.UNKNOWN, T.JOB_ABNORMAL, 1, S.PENDING, True),
        (R.UNKNOWN, T.JOB_FAILED, 2, S.UNKNOWN, False),
    ],
)
def test_decide(
    outcome: Outcome, trigger: Trigger, attempt: int, state: DeliveryState, comes_back: bool
) -> None:
    verdict = decide(Delivery(outcome), notice(trigger), attempt)
    assert verdict.state is state
    assert (verdict.wait is not None) is comes_back


def test_an_unknown_outcome_waits_longer_than_a_slow_receiver() -> None:
    assert decide(Delivery(R.UNKNOWN), notice(T.JOB_FAILED), 1).wait == UNKNOWN_WAIT


def test_the_receivers_own_wait_is_honoured_within_reason() -> None:
    asked = decide(Delivery(R.RETRY, retry_after=120.0), notice(), 1)
    absurd = decide(Delivery(R.RETRY, retry_after=1e9), notice(), 1)
    assert asked.wait == 120.0
    assert absurd.wait == 3600.0


def test_backoff_doubles_to_a_minute_and_is_spread() -> None:
    waits = [backoff(notice(), attempt) for attempt in range(1, 12)]
    assert all(
        low / 2 <= wait <= low
        for wait, low in zip(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60], strict=True)
    )
    crowd = {backoff(replace(notice(), job=f"j{i}"), 5) for i in range(100)}
    assert len(crowd) > 50


@pytest.mark.parametrize(
    ("trigger", "minutes", "stale"),
    [
        (T.JOB_QUEUED, 30, False),
        (T.JOB_QUEUED, 31, True),
        (T.JOB_RUNNING, 31, True),
        (T.JOB_FAILED, 31, False),
        (T.JOB_ABNORMAL, 24 * 60 + 1, True),
        (T.JOB_SUCCEEDED, 24 * 60, False),
    ],
)
def test_old_news_is_no_news(trigger: Trigger, minutes: int, stale: bool) -> None:
    told = notice(trigger)
    assert is_stale(told, told.at + timedelta(minutes=minutes)) is stale
