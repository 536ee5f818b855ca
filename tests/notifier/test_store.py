"""The tables and the rules in force, on every database that the product runs on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.engine import Connection, Engine

from muster.notifier import store
from muster.notifier.core.notice import Trigger
from muster.notifier.core.rules import Scope, ScopeKind
from muster.notifier.service import MIGRATIONS
from muster.runtime.database import migrate
from tests.notifier.lives import EVERY, rule

NOW = datetime(2025, 3, 1, 8, 0, tzinfo=UTC)

Run = Callable[[Callable[[Connection], Any]], Any]


def test_the_migrations_make_the_tables_that_the_code_uses(engine: Engine) -> None:
    with engine.connect() as connection:
        options = {"version_table": "alembic_version_notifier"}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, store.metadata) == []
        assert context.get_current_revision() == "0003"


def test_migrating_again_changes_nothing(engine: Engine) -> None:
    migrate(engine, MIGRATIONS, "notifier")


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
    assert [r.id for r in run(store.load_rules)] == [other.id]
    gone = {r.id: r.enabled for r in run(lambda conn: store.load_rules(conn, origin=store.FILE))}
    assert gone == {first.id: False, other.id: True}
    put = run(lambda conn: store.put_rules(conn, [first, other], days[2]))
    assert {r.id: r.since for r in put} == {first.id: days[2], other.id: days[1]}
