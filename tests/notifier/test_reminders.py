"""Reminders in the ledger: how often, and what ends them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy.engine import Connection

from muster.notifier import lanes, ledger
from muster.notifier.core.choosing import Pace
from muster.notifier.core.delivery import Delivery, DeliveryState, Fault, Verdict
from muster.notifier.core.notice import Lane, Notice, Trigger
from muster.notifier.core.reminders import EVERY, MOST
from tests.notifier.lives import START
from tests.notifier.test_cards import notice

T = Trigger
OPS = Lane("feishu", "ops")
Run = Callable[[Callable[[Connection], Any]], Any]
TOLD: dict[str, Any] = {
    "verdict": Verdict(DeliveryState.DELIVERED),
    "delivery": Delivery(Fault.NONE, "0"),
}
LEASE, EACH = timedelta(seconds=60), Pace(grouped=False, quiet=False)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def nth(number: int, trigger: Trigger, seconds: float, subject: str = "j1") -> Notice:
    told = replace(notice(trigger), label="ops", subject=subject, at=at(seconds), version=number)
    return replace(told, transition=f"{trigger.value}:{number}")


class Play:
    """Keeps and tells, at seconds after the start."""

    def __init__(self, run: Run) -> None:
        self.run = run
        run(lambda conn: lanes.open_lanes(conn, (OPS,)))

    def keep(self, told: Notice) -> None:
        self.run(lambda conn: ledger.keep(conn, (told,), told.at))

    def tell(self, seconds: float) -> list[str]:
        """Tell whatever may be told now; returns `kind transition` of each."""
        found: list[str] = []
        while True:
            taken = self.run(lambda conn: ledger.take(conn, OPS, at(seconds), LEASE, EACH))
            if taken.claim is None:
                return found
            found += [f"{each.kind.value} {each.transition}" for each in taken.claim.notices]
            self.run(partial(ledger.settle, claim=taken.claim, now=at(seconds), **TOLD))


@pytest.fixture
def play(run: Run) -> Play:
    return Play(run)


def reminded(play: Play, begun: float = 0) -> list[float]:
    """Hours at which reminders come, while nobody acts."""
    found: list[float] = []
    for quarter in range(4 * 48):
        seconds = begun + quarter * 900
        if play.tell(seconds):
            found.append(quarter / 4)
    return found


def test_a_job_that_waits_for_a_person_is_reminded_of_six_times(play: Play) -> None:
    play.keep(nth(1, T.JOB_ABNORMAL, 0))
    hours = EVERY.total_seconds() / 3600
    assert reminded(play) == [number * hours for number in range(MOST + 1)]


def test_reminders_end_when_somebody_acts(play: Play) -> None:
    play.keep(nth(1, T.JOB_ABNORMAL, 0))
    play.tell(0)
    play.tell(4 * 3600)
    ended = play.run(lambda conn: ledger.somebody_acted(conn, "acme", "j1", at(5 * 3600)))
    assert [each.state for each in ended] == ["acted"]
    assert reminded(play, 5 * 3600) == []


def test_what_was_acted_on_before_it_was_told_reminds_nobody(play: Play) -> None:
    play.keep(nth(1, T.JOB_ABNORMAL, 0))
    play.run(lambda conn: ledger.somebody_acted(conn, "acme", "j1", at(1)))
    play.run(lambda conn: ledger.somebody_acted(conn, "acme", "j1", at(2)))
    assert reminded(play, 3) == [0], "it is told, once"


def test_another_jobs_reminders_go_on(play: Play) -> None:
    play.keep(nth(1, T.JOB_ABNORMAL, 0))
    play.tell(0)
    play.run(lambda conn: ledger.somebody_acted(conn, "acme", "j2", at(1)))
    assert play.tell(4 * 3600) == ["reminder job_abnormal:1:reminder:1"]
