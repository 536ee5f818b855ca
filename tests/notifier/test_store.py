"""The ledger and the rules in force, on every database that the product runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.engine import Connection, Engine

from muster.notifier import store
from muster.notifier.core.delivery import Delivery, DeliveryState, Outcome
from muster.notifier.core.notice import Notice, Trigger
from muster.notifier.core.rules import Scope, ScopeKind
from muster.notifier.service import MIGRATIONS
from muster.notifier.store import Claim, Standing
from muster.runtime.database import migrate, open_engine
from tests.notifier.lives import EVERY, rule
from tests.notifier.test_cards import notice

NOW = datetime(2025, 3, 1, 8, 0, tzinfo=UTC)
LEASE = timedelta(seconds=60)
NOTICE = notice()
TOLD = Delivery(Outcome.DELIVERED, "0", "success")
LATER = Delivery(Outcome.RETRY, "11232", "frequency limited")

Run = Callable[[Callable[[Connection], Any]], Any]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'notifier.db'}"
    else:
        url = request.getfixturevalue("postgres_url")
    engine = open_engine(url)
    migrate(engine, MIGRATIONS, "notifier")
    yield engine
    engine.dispose()


@pytest.fixture
def run(engine: Engine) -> Run:
    def in_transaction(work: Callable[[Connection], Any]) -> Any:
        with engine.begin() as connection:
            return work(connection)

    return in_transaction


def claim(run: Run, seconds: float = 0, told: Notice = NOTICE) -> Claim:
    now = NOW + timedelta(seconds=seconds)
    found: Claim = run(lambda conn: store.claim(conn, told, now, LEASE))
    return found


def settle(
    run: Run,
    attempt: int,
    state: DeliveryState,
    delivery: Delivery = TOLD,
    wait: float | None = None,
) -> bool:
    done: bool = run(lambda conn: store.settle(conn, NOTICE, attempt, state, delivery, NOW, wait))
    return done


def test_the_migrations_make_the_tables_that_the_code_uses(engine: Engine) -> None:
    with engine.connect() as connection:
        options = {"version_table": "alembic_version_notifier"}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, store.metadata) == []
        assert context.get_current_revision() == "0001"


def test_migrating_again_changes_nothing(engine: Engine) -> None:
    migrate(engine, MIGRATIONS, "notifier")


def test_one_claim_wins_and_a_repeat_is_told_so(run: Run) -> None:
    assert claim(run) == Claim(Standing.OURS, attempt=1)
    assert claim(run, 10) == Claim(Standing.BUSY, attempt=1, wait=50.0)


@pytest.mark.parametrize(
    "other",
    [
        replace(NOTICE, rule="r2"),
        replace(NOTICE, job="j2"),
        replace(NOTICE, transition="x:2"),
    ],
)
def test_another_rule_job_or_transition_is_another_notice(run: Run, other: Notice) -> None:
    claim(run)
    assert claim(run, told=other).standing is Standing.OURS


@pytest.mark.parametrize(
    "state", [DeliveryState.DELIVERED, DeliveryState.FAILED, DeliveryState.UNKNOWN]
)
def test_what_is_settled_is_done_for_good(run: Run, state: DeliveryState) -> None:
    claim(run)
    assert settle(run, 1, state)
    assert claim(run, 1e6).standing is Standing.DONE
    assert run(store.counts)[state] == 1


def test_a_lease_that_ran_out_is_taken_over_once(run: Run) -> None:
    claim(run)
    assert claim(run, 59).standing is Standing.BUSY
    assert claim(run, 60) == Claim(Standing.OURS, attempt=2)
    assert claim(run, 60).standing is Standing.BUSY


def test_a_retry_may_be_claimed_after_its_wait(run: Run) -> None:
    claim(run)
    assert settle(run, 1, DeliveryState.PENDING, LATER, wait=4.0)
    assert claim(run, 3) == Claim(Standing.BUSY, attempt=1, wait=1.0)
    assert claim(run, 4) == Claim(Standing.OURS, attempt=2)


def test_an_attempt_that_was_overtaken_changes_nothing_but_a_delivery(run: Run) -> None:
    claim(run)
    claim(run, 60)
    assert not settle(run, 1, DeliveryState.FAILED)
    assert not settle(run, 1, DeliveryState.PENDING, LATER, wait=0.0)
    assert claim(run, 61).standing is Standing.BUSY
    assert settle(run, 1, DeliveryState.DELIVERED)
    assert not settle(run, 2, DeliveryState.FAILED)
    assert claim(run, 1e6).standing is Standing.DONE
    assert run(store.counts) == {
        DeliveryState.PENDING: 0,
        DeliveryState.DELIVERED: 1,
        DeliveryState.FAILED: 0,
        DeliveryState.UNKNOWN: 0,
    }


def test_the_row_says_what_happened(run: Run) -> None:
    claim(run)
    settle(run, 1, DeliveryState.FAILED, Delivery(Outcome.REFUSED, "19001", "gone"))
    row = run(lambda conn: conn.execute(sa.select(store.deliveries)).one())
    assert (row.notice, row.tenant, row.trigger_name) == (NOTICE.id, "acme", "job_failed")
    assert (row.state, row.attempts, row.code, row.text) == ("failed", 1, "19001", "gone")
    assert (row.happened_at, row.claimed_at, row.settled_at) == (NOTICE.at, NOW, NOW)


@pytest.mark.parametrize("seconds", [0, 60], ids=["a new notice", "a lease that ran out"])
def test_of_many_at_once_exactly_one_wins(run: Run, seconds: float) -> None:
    racers, rounds = 8, 10
    barrier = Barrier(racers)

    def race(told: Notice) -> Standing:
        barrier.wait()
        return claim(run, seconds, told).standing

    with ThreadPoolExecutor(racers) as pool:
        for turn in range(rounds):
            told = replace(NOTICE, transition=f"x:{turn}")
            if seconds:
                claim(run, told=told)
            found = list(pool.map(race, [told] * racers))
            assert found.count(Standing.OURS) == 1
            assert found.count(Standing.BUSY) == racers - 1


def test_rules_come_back_as_they_were_put(run: Run) -> None:
    labelled = rule(
        Trigger.JOB_FAILED,
        prefix="l",
        scope=Scope(ScopeKind.LABELS, labels=(("team", "训练"), ("x", "y"))),
        language="en",
        enabled=False,
    )
    wanted = (*EVERY, labelled)
    put = run(lambda conn: store.put_rules(conn, wanted, NOW))
    assert {r.id for r in put} == {r.id for r in wanted}
    assert all(r.since == NOW for r in put)
    assert run(store.load_rules) == tuple(sorted(put, key=lambda r: r.id))


def test_a_rule_keeps_its_beginning_while_it_is_about_the_same(run: Run) -> None:
    first = rule(Trigger.JOB_FAILED)
    later = NOW + timedelta(days=1)

    def put(*wanted: Any, at: datetime = later) -> datetime | None:
        since: datetime | None = run(lambda conn: store.put_rules(conn, wanted, at))[0].since
        return since

    assert put(first, at=NOW) == NOW
    assert put(replace(first, language="en", address="dev")) == NOW
    assert put(replace(first, trigger=Trigger.JOB_QUEUED)) == later


def test_a_rule_that_was_away_begins_again(run: Run) -> None:
    first, other = rule(Trigger.JOB_FAILED), rule(Trigger.JOB_QUEUED)
    days = [NOW + timedelta(days=day) for day in range(3)]
    run(lambda conn: store.put_rules(conn, [first], days[0]))
    run(lambda conn: store.put_rules(conn, [other], days[1]))
    gone = {r.id: r.enabled for r in run(store.load_rules)}
    assert gone == {first.id: False, other.id: True}
    put = run(lambda conn: store.put_rules(conn, [first, other], days[2]))
    assert [r.since for r in put] == [days[2], days[1]]
