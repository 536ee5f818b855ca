"""The notifier's tables: the rules in force, and the ledger of what was told to whom.

Plain synchronous functions over a connection; the caller owns the transaction and the thread. The
ledger's key is (rule, job, transition): whoever inserts the row may send, everybody else finds it
there. A claim is a lease, because its owner may die between sending and settling.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from muster.notifier.core.delivery import Delivery, DeliveryState
from muster.notifier.core.notice import Notice, Trigger
from muster.notifier.core.rules import Rule, Scope, ScopeKind
from muster.runtime.database import InstantColumn, insert_into

metadata = sa.MetaData()

rules = sa.Table(
    "notifier_rules",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("trigger_name", sa.Text, nullable=False),
    sa.Column("language", sa.Text, nullable=False),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("enabled", sa.Boolean, nullable=False),
    sa.Column("since", InstantColumn, nullable=False),
)

deliveries = sa.Table(
    "notifier_deliveries",
    metadata,
    sa.Column("rule", sa.Text, primary_key=True),
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("transition", sa.Text, primary_key=True),
    sa.Column("notice", sa.Text, nullable=False),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("trigger_name", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("code", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("happened_at", InstantColumn, nullable=False),
    sa.Column("claimed_at", InstantColumn, nullable=False),
    sa.Column("free_at", InstantColumn, nullable=False),
    sa.Column("settled_at", InstantColumn),
    sa.Index("notifier_deliveries_by_job", "tenant", "job"),
)


class Standing(StrEnum):
    """What a claim found. OURS: send now. BUSY: somebody may be sending. DONE: nothing to do."""

    OURS = "ours"
    BUSY = "busy"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Claim:
    """attempt counts the claims of this notice, from 1; wait: seconds until a BUSY one is free."""

    standing: Standing
    attempt: int = 0
    wait: float = 0.0


def claim(conn: Connection, notice: Notice, now: datetime, lease: timedelta) -> Claim:
    """Take the right to send `notice` until `now + lease`, or report who has it."""
    if _insert(conn, notice, now, now + lease):
        return Claim(Standing.OURS, attempt=1)
    if _take_over(conn, notice, now, now + lease):
        return Claim(Standing.OURS, attempt=_row(conn, notice).attempts)
    row = _row(conn, notice)
    if row.state != DeliveryState.PENDING:
        return Claim(Standing.DONE, attempt=row.attempts)
    wait = max(0.0, (row.free_at - now).total_seconds())
    return Claim(Standing.BUSY, attempt=row.attempts, wait=wait)


def settle(
    conn: Connection,
    notice: Notice,
    attempt: int,
    state: DeliveryState,
    delivery: Delivery,
    now: datetime,
    wait: float | None = None,
) -> bool:
    """Write down the outcome of an attempt; False if a later attempt has taken over meanwhile.

    A pending row (`wait` seconds until the next attempt) is free to be claimed after the wait. That
    somebody was told is a fact: `delivered` is written even by an attempt that was overtaken.
    """
    table = deliveries
    pending = state is DeliveryState.PENDING
    mine = sa.and_(table.c.attempts == attempt, table.c.state == DeliveryState.PENDING.value)
    untold = table.c.state != DeliveryState.DELIVERED.value
    statement = (
        sa.update(table)
        .where(_is(notice), untold if state is DeliveryState.DELIVERED else mine)
        .values(
            state=state.value,
            code=delivery.code,
            text=delivery.text,
            free_at=now + timedelta(seconds=wait or 0.0),
            settled_at=None if pending else now,
        )
    )
    return conn.execute(statement).rowcount == 1


def counts(conn: Connection) -> dict[DeliveryState, int]:
    """Return the number of deliveries in each state."""
    query = sa.select(deliveries.c.state, sa.func.count()).group_by(deliveries.c.state)
    found = {DeliveryState(state): int(count) for state, count in conn.execute(query)}
    return {state: found.get(state, 0) for state in DeliveryState}


def put_rules(conn: Connection, wanted: Iterable[Rule], now: datetime) -> tuple[Rule, ...]:
    """Make `wanted` the rules in force and return them with the time since when each applies.

    A rule that is new, changed in what it is about or switched on again begins now: it is not told
    of the past. A rule that is no longer wanted stays, switched off, beside its deliveries.
    """
    known = {rule.id: rule for rule in load_rules(conn)}
    settled = tuple(replace(rule, since=_since(rule, known.get(rule.id), now)) for rule in wanted)
    conn.execute(sa.update(rules).values(enabled=False))
    for rule in settled:
        _put_rule(conn, rule)
    return settled


def load_rules(conn: Connection) -> tuple[Rule, ...]:
    """Return every rule that was ever in force, by id."""
    query = sa.select(rules).order_by(rules.c.id)
    return tuple(_rule(row) for row in conn.execute(query))


def _since(rule: Rule, known: Rule | None, now: datetime) -> datetime:
    if known is None or known.since is None or not known.enabled:
        return now
    same = (rule.tenant, rule.scope, rule.trigger) == (known.tenant, known.scope, known.trigger)
    return known.since if same else now


def _put_rule(conn: Connection, rule: Rule) -> None:
    values = {
        "tenant": rule.tenant,
        "scope": _scope_text(rule.scope),
        "trigger_name": rule.trigger.value,
        "language": rule.language,
        "channel": rule.channel,
        "address": rule.address,
        "enabled": rule.enabled,
        "since": rule.since,
    }
    statement = insert_into(conn, rules).values(id=rule.id, **values)
    conn.execute(statement.on_conflict_do_update(index_elements=["id"], set_=values))


def _scope_text(scope: Scope) -> str:
    values = {"kind": scope.kind.value, "user": scope.user, "job": scope.job}
    return json.dumps({**values, "labels": dict(scope.labels)}, ensure_ascii=False)


def _rule(row: sa.Row[Any]) -> Rule:
    scope = json.loads(row.scope)
    return Rule(
        id=row.id,
        tenant=row.tenant,
        scope=Scope(
            ScopeKind(scope["kind"]),
            user=scope["user"],
            job=scope["job"],
            labels=tuple(sorted(scope["labels"].items())),
        ),
        trigger=Trigger(row.trigger_name),
        language="zh" if row.language == "zh" else "en",
        channel=row.channel,
        address=row.address,
        enabled=row.enabled,
        since=row.since,
    )


def _insert(conn: Connection, notice: Notice, now: datetime, free_at: datetime) -> bool:
    rule, job, transition = notice.key
    statement = insert_into(conn, deliveries).values(
        rule=rule,
        job=job,
        transition=transition,
        notice=notice.id,
        tenant=notice.tenant,
        trigger_name=notice.trigger.value,
        state=DeliveryState.PENDING.value,
        attempts=1,
        code="",
        text="",
        happened_at=notice.at,
        claimed_at=now,
        free_at=free_at,
    )
    # the number of rows is not reported for an insert by every driver; what it returns is
    inserted = statement.on_conflict_do_nothing().returning(deliveries.c.attempts)
    return conn.execute(inserted).first() is not None


def _take_over(conn: Connection, notice: Notice, now: datetime, free_at: datetime) -> bool:
    table = deliveries
    free = sa.and_(table.c.state == DeliveryState.PENDING.value, table.c.free_at <= now)
    statement = (
        sa.update(table)
        .where(_is(notice), free)
        .values(attempts=table.c.attempts + 1, claimed_at=now, free_at=free_at)
    )
    return conn.execute(statement).rowcount == 1


def _row(conn: Connection, notice: Notice) -> sa.Row[Any]:
    return conn.execute(sa.select(deliveries).where(_is(notice))).one()


def _is(notice: Notice) -> sa.ColumnElement[bool]:
    table = deliveries
    rule, job, transition = notice.key
    return sa.and_(table.c.rule == rule, table.c.job == job, table.c.transition == transition)
