"""The notifier's tables, and the rules in force. What was told to whom is `ledger`'s.

Plain synchronous functions over a connection; the caller owns the transaction and the thread.
Called by the service's start.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from muster.notifier.core.notice import Trigger
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
    sa.Column("language", sa.Text, nullable=False),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("facts", sa.Text),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("in_doubt", sa.Boolean, nullable=False),
    sa.Column("set_aside", sa.Boolean, nullable=False),
    sa.Column("code", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("happened_at", InstantColumn, nullable=False),
    sa.Column("expires_at", InstantColumn, nullable=False),
    sa.Column("next_attempt_at", InstantColumn),
    sa.Column("claimed_at", InstantColumn),
    sa.Column("settled_at", InstantColumn),
    sa.Index("notifier_deliveries_by_job", "tenant", "job"),
    sa.Index("notifier_deliveries_by_end", "settled_at"),
)
"""in_doubt: some attempt may have reached the person. settled_at is null while it is pending.

next_attempt_at is null before the first: no clock can put that off. facts: what the card says;
cleared when the row is settled.
"""

sa.Index(
    "notifier_deliveries_pending",
    *(deliveries.c[name] for name in ("channel", "address", "set_aside", "happened_at", "version")),
    postgresql_where=deliveries.c.settled_at.is_(None),
    sqlite_where=deliveries.c.settled_at.is_(None),
)

lanes = sa.Table(
    "notifier_lanes",
    metadata,
    sa.Column("channel", sa.Text, primary_key=True),
    sa.Column("address", sa.Text, primary_key=True),
    sa.Column("turn", sa.Integer, nullable=False),
    sa.Column("leased_until", InstantColumn),
)
"""turn counts the claims of the lane: who holds an older one has lost it. Null: nobody sends."""


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
