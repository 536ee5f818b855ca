"""The ledger: who may send what next to whom, on every database that the product runs on."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from threading import Barrier
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from muster.notifier import lanes, ledger, store
from muster.notifier.core.choosing import Pace
from muster.notifier.core.delivery import Delivery, DeliveryState, Fault, LaneVerdict, Verdict
from muster.notifier.core.notice import Lane, Notice, Trigger
from muster.notifier.ledger import Claim
from tests.notifier.lives import START, rule
from tests.notifier.test_cards import notice

NOW = START
LEASE = timedelta(seconds=60)
NOTICE = replace(notice(), label="ops")
OPS, DEV = Lane("feishu", "ops"), Lane("feishu", "dev")
TOLD = Delivery(Fault.NONE, "0", "success")
LATER = Delivery(Fault.RATE, "11232", "frequency limited")
DELIVERED = Verdict(DeliveryState.DELIVERED)
DEAD = Verdict(DeliveryState.DEAD)
EACH = Pace(grouped=False, quiet=False)

Run = Callable[[Callable[[Connection], Any]], Any]


class Ledger:
    """The ledger's functions, each in a transaction of its own, at seconds after NOW."""

    def __init__(self, run: Run) -> None:
        self._run = run
        run(lambda conn: lanes.open_lanes(conn, (OPS, DEV)))

    def keep(self, *notices: Notice) -> set[Lane]:
        new, _ = self._run(lambda conn: ledger.keep(conn, notices, NOW))
        return set(new)

    def due(self, seconds: float = 0) -> set[Lane]:
        return set(self._run(lambda conn: ledger.due(conn, _at(seconds))))

    def take(self, seconds: float = 0, lane: Lane = OPS) -> Claim | None:
        take = partial(ledger.take, lane=lane, now=_at(seconds), lease=LEASE, pace=EACH)
        claim: Claim | None = self._run(take).claim
        return claim

    def takes(self, seconds: float = 0, lane: Lane = OPS) -> Claim:
        claim = self.take(seconds, lane)
        assert claim is not None
        return claim

    def settle(
        self, claim: Claim, verdict: Verdict, delivery: Delivery = TOLD, seconds: float = 0
    ) -> bool:
        done: bool = self._run(
            lambda conn: ledger.settle(conn, claim, verdict, delivery, _at(seconds))
        )
        return done

    def expire(self, seconds: float, limit: int = 100) -> list[str]:
        ended = self._run(lambda conn: ledger.expire(conn, _at(seconds), LEASE, limit))
        return [each.state for each in ended]

    def follow(self, *rules: Any, seconds: float = 0) -> list[str]:
        def work(conn: Connection) -> list[ledger.Ended]:
            store.put_rules(conn, rules, _at(seconds))
            return ledger.follow_rules(conn, _at(seconds))

        return [each.state for each in self._run(work)]

    def row(self, transition: str = "x:1") -> Any:
        table = store.deliveries
        query = sa.select(table).where(table.c.transition == transition)
        return self._run(lambda conn: conn.execute(query).one())


@pytest.fixture
def book(run: Run) -> Ledger:
    return Ledger(run)


def _at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def _execute(conn: Connection, statement: sa.Update) -> None:
    conn.execute(statement)


def waits(seconds: float, *, set_aside: bool = False) -> Verdict:
    pause = LaneVerdict(pause=0 if set_aside else seconds)
    return Verdict(DeliveryState.PENDING, seconds, set_aside=set_aside, lane=pause)


def nth(number: int, **values: Any) -> Notice:
    """The notice of the n-th second."""
    base = {
        "transition": f"x:{number}",
        "subject": f"j{number}",
        "version": number,
        "at": _at(number),
    }
    return replace(NOTICE, **{**base, **values})


def test_a_notice_comes_back_as_it_was_kept(book: Ledger) -> None:
    told = replace(
        notice(
            Trigger.JOB_ABNORMAL,
            name="训练 \u0000 <b>",
            nodes=("n1", "n2"),
            requeues_left=2,
            deadline=NOW,
            hold_until=NOW + LEASE,
            reason=("because", "因为"),
            reason_code="X",
            again=True,
        ),
        label="ops",
    )
    assert book.keep(told) == {OPS}
    assert book.takes().notices == (told,)


def test_what_is_kept_twice_is_kept_once(book: Ledger) -> None:
    assert book.keep(NOTICE) == {OPS}
    assert book.keep(NOTICE) == set()
    assert book.keep(NOTICE, nth(2, label="dev")) == {DEV}


@pytest.mark.parametrize(
    "other",
    [
        replace(NOTICE, rule="r2"),
        replace(NOTICE, subject="j2"),
        replace(NOTICE, transition="x:2"),
    ],
)
def test_another_rule_job_or_transition_is_another_notice(book: Ledger, other: Notice) -> None:
    book.keep(NOTICE)
    assert book.keep(other) == {OPS}


def test_what_is_told_is_not_kept_again_and_its_facts_are_cleared(book: Ledger) -> None:
    book.keep(NOTICE)
    assert book.row().facts is not None
    assert book.settle(book.takes(), DELIVERED)
    assert book.row().facts is None
    assert book.keep(NOTICE) == set()
    assert book.take(1e6) is None


@pytest.mark.parametrize(
    "state", [DeliveryState.DELIVERED, DeliveryState.DEAD, DeliveryState.UNKNOWN]
)
def test_what_is_settled_is_done_for_good(book: Ledger, state: DeliveryState) -> None:
    book.keep(NOTICE)
    assert book.settle(book.takes(), Verdict(state))
    assert book.due(1e4) == set()
    assert book.take(1e4) is None
    assert book.row().state == state


def test_one_notice_of_a_lane_is_in_flight(book: Ledger) -> None:
    book.keep(nth(1), nth(2))
    assert book.due(5) == {OPS}
    first = book.takes(5)
    assert book.due(6) == set()
    assert book.take(6) is None
    book.keep(nth(0))
    assert book.take(6) is None
    book.settle(first, DELIVERED)
    assert book.due(6) == {OPS}


def test_the_oldest_goes_first_however_they_came(book: Ledger) -> None:
    book.keep(nth(3, subject="j2", version=1), nth(1), nth(2, at=_at(1)))
    book.keep(nth(0))
    told = []
    while (claim := book.take(10)) is not None:
        told.append(claim.notices[0].transition)
        book.settle(claim, DELIVERED)
    assert told == ["x:0", "x:1", "x:2", "x:3"]


def test_lanes_do_not_know_each_other(book: Ledger) -> None:
    book.keep(nth(1), nth(2, label="dev"))
    assert book.due(5) == {OPS, DEV}
    book.settle(book.takes(5), waits(40), LATER, seconds=5)
    assert book.due(6) == {DEV}
    assert book.takes(6, DEV).notices[0].transition == "x:2"


def test_the_next_waits_for_the_one_before_it(book: Ledger) -> None:
    book.keep(nth(1), nth(2))
    book.settle(book.takes(5), waits(4), LATER, seconds=5)
    assert book.due(8) == set()
    assert book.take(8) is None
    assert book.due(9) == {OPS}
    again = book.takes(9)
    assert (again.notices[0].transition, again.number, again.repeat) == ("x:1", 2, False)


def test_what_was_set_aside_lets_the_rest_pass_and_stays_due(book: Ledger) -> None:
    book.keep(nth(1), nth(2), nth(3))
    book.settle(book.takes(5), waits(60, set_aside=True), LATER, seconds=5)
    for expected in ("x:2", "x:3"):
        claim = book.takes(6)
        assert claim.notices[0].transition == expected
        book.settle(claim, DELIVERED)
    assert book.take(64) is None
    assert book.takes(65).notices[0].transition == "x:1"


def test_a_lease_that_ran_out_is_taken_over_once_and_in_doubt(book: Ledger) -> None:
    book.keep(NOTICE)
    first = book.takes()
    assert (first.number, first.repeat) == (1, False)
    assert book.due(59) == set()
    assert book.take(59) is None
    assert book.due(60) == {OPS}
    second = book.takes(60)
    assert (second.number, second.repeat) == (2, True)
    assert book.take(60) is None


@pytest.mark.parametrize("repeat", [False, True])
def test_only_what_may_have_arrived_is_a_repeat(book: Ledger, repeat: bool) -> None:
    book.keep(NOTICE)
    book.settle(book.takes(), replace(waits(1), in_doubt=repeat), LATER)
    second = book.takes(1)
    assert second.repeat is repeat
    book.settle(second, waits(1), LATER, seconds=1)
    assert book.takes(2).repeat is repeat


def test_an_attempt_that_was_overtaken_changes_nothing_but_a_delivery(book: Ledger) -> None:
    book.keep(NOTICE)
    first, second = book.takes(), book.takes(60)
    assert not book.settle(first, DEAD)
    assert not book.settle(first, waits(0), LATER)
    assert book.take(61) is None, "the lane is still the second's"
    assert book.settle(first, DELIVERED)
    assert not book.settle(second, DEAD)
    assert book.row().state == "delivered"
    assert book.due(1e4) == set()


def test_the_row_says_what_happened(book: Ledger) -> None:
    book.keep(NOTICE)
    book.settle(book.takes(), DEAD, Delivery(Fault.REFUSED, "19001", "gone"))
    row = book.row()
    assert (row.notice, row.tenant, row.trigger_name) == (NOTICE.id, "acme", "job_failed")
    assert (row.state, row.attempts, row.code, row.text) == ("dead", 1, "19001", "gone")
    assert (row.happened_at, row.claimed_at, row.settled_at) == (NOTICE.at, NOW, NOW)


def test_what_another_version_wrote_is_left_to_it_and_holds_up_nobody(
    book: Ledger, run: Run
) -> None:
    book.keep(nth(1), nth(2), nth(3))
    table = store.deliveries
    strange = {"x:1": {"trigger_name": "job_danced"}, "x:2": {"facts": '{"new": 1}'}}
    for transition, values in strange.items():
        statement = sa.update(table).where(table.c.transition == transition).values(values)
        run(partial(_execute, statement=statement))
    assert book.take(5) is None, "one that cannot be read is put out of the way"
    assert book.takes(5).notices == (nth(3),)
    assert book.row("x:1").state == "pending"


def test_old_news_is_ended_a_few_at_a_time(book: Ledger) -> None:
    day = 86_400
    book.keep(*(nth(i) for i in range(5)))
    assert book.expire(day - 1) == []
    assert book.take(day + 10) is None
    assert book.expire(day + 10, limit=3) == ["stale"] * 3
    assert book.expire(day + 10, limit=3) == ["stale"] * 2
    assert book.expire(day + 10) == []
    assert (book.row("x:0").state, book.row("x:0").code) == ("stale", "stale")
    book.keep(nth(day))
    assert book.takes(day).notices[0].transition == f"x:{day}"


def test_what_is_being_sent_is_not_ended_under_its_sender(book: Ledger) -> None:
    day = 86_400
    book.keep(NOTICE)
    claim = book.takes(day - 10)
    assert book.expire(day + 10) == []
    assert book.settle(claim, DELIVERED)
    assert book.expire(day + 100) == []


def test_what_ended_long_ago_is_forgotten(book: Ledger, run: Run) -> None:
    book.keep(nth(1), nth(2), nth(3))
    for second in (10, 20):
        book.settle(book.takes(5), DELIVERED, seconds=second)
    assert run(lambda conn: ledger.forget(conn, _at(15), 10)) == 1
    assert run(lambda conn: ledger.forget(conn, _at(1e6), 1)) == 1
    assert run(lambda conn: ledger.forget(conn, _at(1e6), 10)) == 0
    assert run(lambda conn: ledger.pending(conn, _at(9))) == {"feishu": (1, 9.0)}


def test_pending_notices_follow_their_rule_to_another_address(book: Ledger) -> None:
    failed = rule(Trigger.JOB_FAILED, label="ops")
    book.follow(failed, seconds=-1)
    book.keep(replace(NOTICE, rule=failed.id))
    assert book.follow(replace(failed, address="dev", label="dev", language="en")) == []
    assert book.take() is None
    (moved,) = book.takes(lane=DEV).notices
    assert (moved.address, moved.language) == ("dev", "en")


@pytest.mark.parametrize(
    "change",
    [
        {"enabled": False},
        {"trigger": Trigger.JOB_ABNORMAL},
        {"tenant": "other"},
        {"id": "another"},
    ],
)
def test_what_no_rule_in_force_would_tell_is_withdrawn(
    book: Ledger, change: dict[str, Any]
) -> None:
    failed = rule(Trigger.JOB_FAILED, label="ops")
    book.follow(failed, seconds=-1)
    book.keep(replace(NOTICE, rule=failed.id))
    assert book.follow(failed, seconds=1) == []
    assert book.follow(replace(failed, **change), seconds=1) == ["withdrawn"]
    assert (book.row().state, book.row().code) == ("withdrawn", "withdrawn")
    assert book.take(2) is None


@pytest.mark.parametrize("seconds", [1, 60], ids=["a new notice", "a lease that ran out"])
def test_of_many_at_once_exactly_one_wins(book: Ledger, seconds: float) -> None:
    racers, rounds = 8, 10
    barrier = Barrier(racers)

    def race(at: float) -> Claim | None:
        barrier.wait()
        return book.take(at)

    with ThreadPoolExecutor(racers) as pool:
        for turn in range(rounds):
            start = turn * 100
            book.keep(nth(start), nth(start + 1))
            crashed = book.takes(start) if seconds == 60 else None
            found = list(pool.map(race, [start + seconds] * racers))
            (winner,) = [claim for claim in found if claim is not None]
            assert winner.repeat is (crashed is not None)
            book.settle(winner, DELIVERED)
            book.settle(book.takes(start + seconds), DELIVERED)


def test_replicas_that_store_and_send_at_once_lose_and_repeat_nothing(book: Ledger) -> None:
    wanted = [nth(i, label=("ops", "dev")[i % 2]) for i in range(16)]
    told: list[str] = []

    def store_all(_: int) -> None:
        for each in wanted:
            book.keep(each)

    def send_all(lane: Lane) -> None:
        for _ in range(40):
            claim = book.take(100, lane)
            if claim is not None:
                told.append(claim.notices[0].transition)
                assert book.settle(claim, DELIVERED)

    with ThreadPoolExecutor(6) as pool:
        busy = [pool.submit(store_all, 0), pool.submit(store_all, 1)]
        busy += [pool.submit(send_all, lane) for lane in (OPS, OPS, DEV, DEV)]
        for each in busy:
            each.result()
        for lane in (OPS, DEV):
            send_all(lane)
    assert sorted(told) == sorted(each.transition for each in wanted)
