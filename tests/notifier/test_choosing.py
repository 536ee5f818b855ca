"""What goes out next: order, gathering, floods, rush hours, and what need not be sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.notifier.core.choosing import (
    MIXED,
    Group,
    LaneState,
    Pace,
    Parcel,
    Wait,
    Waiting,
    choose,
    unsent,
)
from muster.notifier.core.limits import CHAT_BOT, Bucket, Limits
from muster.notifier.core.notice import Kind, Language, Trigger
from muster.notifier.core.silences import Matter, Silence

NOW = datetime(2025, 3, 1, 8, 10, tzinfo=UTC)
PACE = Pace()
EACH = Pace(grouped=False, quiet=False)
LANE = LaneState("abc")
T = Trigger


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def row(
    number: int,
    trigger: Trigger = T.JOB_QUEUED,
    *,
    job: str | None = None,
    rule: str = "r",
    language: Language = "zh",
    kind: Kind = Kind.NEWS,
    **values: Any,
) -> Waiting:
    """The row of a transition at second `number`, stored then."""
    subject = job or f"j{number}"
    base: dict[str, Any] = {
        "key": (rule, subject, f"{trigger.value}:{number}"),
        "group": Group(trigger, kind, language),
        "matter": Matter("acme", subject, rule, trigger, owner="alice"),
        "at": after(number),
        "version": number,
        "stored_at": after(number),
    }
    return Waiting(**{**base, **values})


def chosen(rows: Sequence[Waiting], seconds: float, **lane: Any) -> Parcel:
    found = choose(rows, replace(LANE, **lane), after(seconds), PACE)
    assert isinstance(found, Parcel), found
    return found


def waits(rows: Sequence[Waiting], seconds: float, pace: Pace = PACE, **lane: Any) -> Any:
    found = choose(rows, replace(LANE, **lane), after(seconds), pace)
    assert isinstance(found, Wait), found
    return None if found.until is None else (found.until - NOW).total_seconds()


def test_a_notice_waits_a_moment_for_others_and_goes_alone() -> None:
    one = row(0)
    assert waits([one], 4.9) == 5
    parcel = chosen([one], 5)
    assert (parcel.rows, parcel.digest) == ((one,), "")
    assert waits([], 5) is None


@pytest.mark.parametrize(("jobs", "digest"), [(4, False), (5, True)])
def test_five_at_once_make_a_digest_and_four_do_not(jobs: int, digest: bool) -> None:
    parcel = chosen([row(0, job=f"j{n}") for n in range(jobs)], 5)
    assert bool(parcel.digest) is digest
    assert len(parcel.rows) == (jobs if digest else 1)


def test_after_a_digest_the_next_of_its_kind_waits_and_others_do_not() -> None:
    rows = [row(10)]
    digested = {rows[0].group.name: after(0)}
    assert waits(rows, 30, digested=digested) == 60
    assert chosen(rows, 60, digested=digested).rows == tuple(rows)
    other = row(10, T.JOB_FAILED)
    assert chosen([*rows, other], 30, digested=digested).rows == (other,)


def test_a_full_digest_does_not_wait_for_its_interval() -> None:
    rows = [row(10, job=f"j{n}") for n in range(150)]
    parcel = chosen(rows, 15, digested={rows[0].group.name: after(9)})
    assert len(parcel.rows) == 100


def test_two_rules_that_ask_for_the_same_are_told_once_and_two_languages_twice() -> None:
    same = [row(0, rule="a"), row(0, rule="b"), row(0, rule="c", language="en")]
    first = chosen(same, 5)
    assert first.rows == (same[0], same[1])
    assert first.digest == ""
    assert chosen(same[2:], 5).rows == (same[2],)


def test_a_job_is_told_of_in_order_and_languages_and_kinds_do_not_change_it() -> None:
    rows = [row(0, job="j"), row(1, T.JOB_RUNNING, job="j"), row(2, T.JOB_FAILED, job="j")]
    assert chosen(rows, 100).rows == (rows[0],)
    assert chosen(rows[1:], 100).rows == (rows[1],)


def test_what_is_urgent_goes_before_what_is_older() -> None:
    rows = [row(0), row(1, T.JOB_FAILED)]
    assert chosen(rows, 100).rows == (rows[1],)


def test_what_was_tried_keeps_its_company_and_its_id() -> None:
    tried = [row(n, parcel="n-1", again_at=after(50)) for n in range(3)]
    assert waits(tried, 49) == 50
    parcel = chosen([*tried, row(3)], 50)
    assert (parcel.id, parcel.rows) == ("n-1", tuple(tried))
    assert parcel.digest


def test_what_waits_for_another_try_holds_up_its_own_job_only() -> None:
    tried = row(0, job="a", parcel="n-1", again_at=after(500))
    rows = [tried, row(1, T.JOB_RUNNING, job="a"), row(2, job="b")]
    assert chosen(rows, 100).rows == (rows[2],)


def test_what_was_set_aside_comes_after_everything_else() -> None:
    aside = row(0, parcel="n-1", set_aside=True)
    assert chosen([aside, row(1)], 10).rows[0].key[1] == "j1"
    assert chosen([aside], 10).rows == (aside,)


def test_a_paused_or_closed_address_gets_nothing_until_then_and_one_probe() -> None:
    rows = [row(0, job=f"j{n}") for n in range(9)]
    assert waits(rows, 10, paused_until=after(20)) == 20
    assert waits(rows, 10, probe_at=after(600)) == 600
    probe = chosen(rows, 600, probe_at=after(600))
    assert (len(probe.rows), probe.probe) == (1, True)


def test_a_flood_is_told_in_digests_of_everything_and_urgent_jobs_first() -> None:
    limits = Limits(Bucket(4, 1), Bucket(1.5, 8))
    rows = [row(n % 7, T.JOB_QUEUED, job=f"j{n:04}") for n in range(400)]
    rows += [row(8, T.JOB_RUNNING, job="j0003"), row(9, T.JOB_FAILED, job="j0399")]
    parcel = chosen(rows, 10, limits=limits, backlog=901)
    assert parcel.digest == MIXED
    assert len(parcel.rows) == 100
    assert {r.key[1] for r in parcel.rows} >= {"j0399"}
    told = [r for r in parcel.rows if r.key[1] == "j0399"]
    assert [r.group.trigger for r in told] == [T.JOB_QUEUED, T.JOB_FAILED], "in its own order"
    assert chosen(rows, 10, limits=limits, backlog=900).digest != MIXED


@pytest.mark.parametrize(
    ("minute", "second", "free"),
    [(59, 39, True), (59, 41, False), (0, 0, False), (0, 19, False), (0, 21, True), (30, 0, False)],
)
def test_what_is_not_urgent_keeps_off_the_rush(minute: int, second: int, free: bool) -> None:
    now = NOW.replace(minute=minute, second=second)
    quiet = row(0, stored_at=now - timedelta(seconds=50), at=now)
    urgent = row(0, T.JOB_ABNORMAL, stored_at=now - timedelta(seconds=9), at=now)
    found = choose([quiet], LANE, now, PACE)
    assert isinstance(found, Parcel) is free
    if isinstance(found, Wait):
        assert found.until is not None
        wait = (found.until - now).total_seconds()
        assert 0 < wait <= 110
        assert isinstance(choose([quiet], LANE, found.until, PACE), Parcel)
    assert isinstance(choose([urgent], LANE, now, PACE), Parcel)


def test_different_addresses_leave_the_rush_at_different_times() -> None:
    now = NOW.replace(minute=0, second=0)
    one = row(0, stored_at=now - timedelta(seconds=9))
    times = {choose([one], LaneState(f"lane{n}"), now, PACE) for n in range(20)}
    assert len(times) > 10


def test_what_is_not_due_yet_neither_goes_nor_holds_up() -> None:
    held = row(0, job="a", due=after(600))
    assert waits([held], 100) == 600
    assert chosen([held, row(1, T.JOB_FAILED, job="a")], 100).rows[0].group.trigger is T.JOB_FAILED


def test_a_parked_job_makes_the_news_of_its_queueing_pointless() -> None:
    rows = [row(0, job="a"), row(1, T.JOB_ABNORMAL, job="a"), row(2, job="a"), row(0, job="b")]
    assert dict(unsent(rows, (), NOW)) == {rows[0].key: "inhibited"}


def test_what_is_on_its_way_is_neither_silenced_nor_inhibited() -> None:
    tried = [row(0, job="a", parcel="n-1"), row(1, T.JOB_ABNORMAL, job="a", parcel="n-2")]
    everything = Silence("s", "acme", NOW, after(60), "ops", "maintenance")
    assert list(unsent(tried, (everything,), NOW)) == []
    assert [state for _, state in unsent([row(0)], (everything,), NOW)] == ["silenced"]


Draw = tuple[int, int, int, int]


@given(
    drawn=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 40), st.integers(0, 1)),
        max_size=60,
    ),
    grouped=st.booleans(),
    backlog=st.booleans(),
)
def test_everything_is_told_once_and_every_job_in_order(
    drawn: list[Draw], grouped: bool, backlog: bool
) -> None:
    """Whatever waits: the lane empties, no row goes twice, and no job's news overtakes itself."""
    triggers = (T.JOB_QUEUED, T.JOB_RUNNING, T.JOB_FAILED, T.NODE_EXCLUDED)
    rows = {
        each.key: each
        for trigger, job, at, language in drawn
        for each in [row(at, triggers[trigger], job=f"j{job}", language="zh" if language else "en")]
    }
    lane = replace(LANE, limits=CHAT_BOT, backlog=10_000 if backlog else 0)
    now, told, messages = after(0), [], 0
    while rows:
        found = choose(list(rows.values()), lane, now, replace(PACE, grouped=grouped))
        if isinstance(found, Wait):
            assert found.until is not None, "something waits, so something is to be waited for"
            assert found.until > now
            now = found.until
            continue
        messages += 1
        told += [rows.pop(each.key) for each in found.rows]
    assert len({each.key for each in told}) == len(told)
    for subject in {each.subject for each in told}:
        mine = [each.order[:2] for each in told if each.subject == subject]
        assert mine == sorted(mine)
