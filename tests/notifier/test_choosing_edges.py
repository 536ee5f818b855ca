"""What goes out next, at both sides of each limit."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from muster.notifier.core.choosing import (
    MIXED,
    Group,
    LaneState,
    Pace,
    Parcel,
    Wait,
    Waiting,
    choose,
)
from muster.notifier.core.limits import CHAT_BOT
from muster.notifier.core.notice import Kind, Trigger
from muster.notifier.core.silences import Matter

T = Trigger
NOW = datetime(2025, 3, 1, 8, 10, tzinfo=UTC)
LANE = LaneState("abc")
LIMITED = LaneState("abc", limits=CHAT_BOT)
GROUPED, SINGLY = Pace(), Pace(grouped=False)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def row(job: int = 0, trigger: Trigger = T.JOB_QUEUED, **values: Any) -> Waiting:
    """A row that was stored a minute ago, so that nobody waits for company any more."""
    version = values.setdefault("version", 1)
    rule = values.pop("rule", "r")
    language = values.pop("language", "zh")
    subject = f"j{job}"
    base: dict[str, Any] = {
        "key": (rule, subject, f"{trigger.value}:{version}"),
        "group": Group(trigger, Kind.NEWS, language),
        "matter": Matter("acme", subject, rule, trigger),
        "at": at(-60),
        "stored_at": at(-60),
    }
    return Waiting(**{**base, **values})


def rows(count: int, **values: Any) -> list[Waiting]:
    return [row(job, **values) for job in range(count)]


def chosen(
    waiting: list[Waiting], lane: LaneState = LANE, pace: Pace = GROUPED, now: datetime = NOW
) -> Parcel:
    found = choose(waiting, lane, now, pace)
    assert isinstance(found, Parcel), found
    return found


def waits(
    waiting: list[Waiting], lane: LaneState = LANE, pace: Pace = GROUPED, now: datetime = NOW
) -> datetime | None:
    found = choose(waiting, lane, now, pace)
    assert isinstance(found, Wait), found
    return found.until


@pytest.mark.parametrize(("count", "told"), [(100, 100), (101, 100)])
def test_a_digest_has_so_many_lines_at_most(count: int, told: int) -> None:
    assert len(chosen(rows(count)).rows) == told


def test_a_line_that_two_rules_ask_for_is_one_line() -> None:
    both = [row(job, rule=rule) for job in range(100) for rule in ("a", "b")]
    assert len(chosen(both).rows) == 200


@pytest.mark.parametrize(("age", "goes"), [(4.9, False), (5, True)])
def test_a_notice_waits_for_company(age: float, goes: bool) -> None:
    young = [row(stored_at=at(-age))]
    if goes:
        chosen(young)
    else:
        assert waits(young) == at(5 - age)


@pytest.mark.parametrize(("since", "goes"), [(59, False), (60, True)])
def test_the_next_digest_of_a_kind_keeps_its_distance(since: float, goes: bool) -> None:
    group = row().group.name
    lane = replace(LANE, digested={group: at(-since)})
    if goes:
        chosen([row()], lane)
    else:
        assert waits([row()], lane) == at(60 - since)
    chosen([row(trigger=T.JOB_RUNNING)], lane)
    chosen(rows(100), lane)  # a full one has nothing to wait for


@pytest.mark.parametrize(("backlog", "digest"), [(900, ""), (901, MIXED)])
def test_more_than_ten_minutes_of_budget_goes_as_digests_of_everything(
    backlog: int, digest: str
) -> None:
    lane = replace(LIMITED, backlog=backlog)
    few = [row(0), row(0, T.JOB_RUNNING, version=2), row(1, T.JOB_FAILED)]
    parcel = chosen(few, lane)
    assert parcel.digest == digest
    if digest:
        assert len(parcel.rows) == 3
        assert parcel.rows.index(few[0]) < parcel.rows.index(few[1])


def test_languages_do_not_mix_in_a_flood() -> None:
    lane = replace(LIMITED, backlog=901)
    parcel = chosen([row(0), row(1), row(2, language="en")], lane)
    assert {each.group.language for each in parcel.rows} == {"zh"}


@pytest.mark.parametrize("lane", [replace(LANE, paused_until=at(1)), replace(LANE, probe_at=at(1))])
def test_an_address_that_is_left_alone_gets_nothing_before_its_time(lane: LaneState) -> None:
    assert waits([row()], lane) == at(1)
    parcel = chosen(rows(9), lane, now=at(1))
    assert parcel.probe is (lane.probe_at is not None)


def test_a_probe_is_one_message_and_the_oldest() -> None:
    oldest = row(7, at=at(-90))
    parcel = chosen([*rows(6), oldest], replace(LANE, probe_at=NOW))
    assert parcel.rows == (oldest,)


FULL = datetime(2025, 3, 1, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize("clock", [FULL, FULL + timedelta(minutes=30)])
@pytest.mark.parametrize(
    ("off", "goes"), [(-20.1, True), (-20, False), (0, False), (20, False), (20.1, True)]
)
def test_the_rush_at_full_and_half_hours_is_avoided(
    clock: datetime, off: float, goes: bool
) -> None:
    now = clock + timedelta(seconds=off)
    if goes:
        chosen([row()], now=now)
    else:
        until = waits([row()], now=now)
        assert until is not None
        assert 20 <= (until - clock).total_seconds() <= 90
    chosen([row(trigger=T.JOB_FAILED)], now=now)
    chosen([row()], pace=replace(GROUPED, quiet=False), now=now)


def test_what_a_rush_held_up_keeps_its_distance_once_the_rush_is_over() -> None:
    held = row()
    until = waits([held], now=FULL)
    assert until is not None
    before, at_last = until - timedelta(seconds=1), until
    assert before > FULL + timedelta(seconds=20)
    assert waits([replace(held, stored_at=FULL)], now=before) == until
    chosen([replace(held, stored_at=FULL)], now=at_last)


def test_the_same_news_makes_the_same_message() -> None:
    assert chosen(rows(9)).id == chosen(list(reversed(rows(9)))).id
    assert chosen(rows(9)).id != chosen(rows(8)).id
