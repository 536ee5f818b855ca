"""The notifier's tables, and the rules in force. What was told to whom is `ledger`'s.

Plain synchronous functions over a connection; the caller owns the transaction and the thread.
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
FILE, ASKED = "file", "asked"
"""Where a rule, an address or a silence comes from: the operator's file, or somebody's request."""

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
    sa.Column("lane", sa.Text, nullable=False),
    sa.Column("enabled", sa.Boolean, nullable=False),
    sa.Column("since", InstantColumn, nullable=False),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("removed", sa.Boolean, nullable=False),
)
"""removed: it stays beside its deliveries, out of force and out of every list."""

addresses = sa.Table(
    "notifier_addresses",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("shown", sa.Text, nullable=False),
    sa.Column("sealed_url", sa.Text, nullable=False),
    sa.Column("sealed_secret", sa.Text),
    sa.Column("keywords", sa.Text, nullable=False),
    sa.Column("owner", sa.Text, nullable=False),
)
"""Addresses that were asked for; those of the operator's file are in no database."""

silences = sa.Table(
    "notifier_silences",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("matchers", sa.Text, nullable=False),
    sa.Column("starts_at", InstantColumn, nullable=False),
    sa.Column("ends_at", InstantColumn, nullable=False),
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("comment", sa.Text, nullable=False),
)

versions = sa.Table(
    "notifier_versions",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
)
"""Counts changes of the rules, so that a replica sees what was asked of another."""

requests = sa.Table(
    "notifier_requests",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("request", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("answer", sa.Text, nullable=False),
    sa.Column("at", InstantColumn, nullable=False),
)
"""Requests that were carried out, and what was answered."""

deliveries = sa.Table(
    "notifier_deliveries",
    metadata,
    sa.Column("rule", sa.Text, primary_key=True),
    sa.Column("subject", sa.Text, primary_key=True),
    sa.Column("transition", sa.Text, primary_key=True),
    sa.Column("notice", sa.Text, nullable=False),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("trigger_name", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("language", sa.Text, nullable=False),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("lane", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("labels", sa.Text, nullable=False),
    sa.Column("facts", sa.Text),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("parcel", sa.Text),
    sa.Column("form", sa.Text, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("in_doubt", sa.Boolean, nullable=False),
    sa.Column("set_aside", sa.Boolean, nullable=False),
    sa.Column("code", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("happened_at", InstantColumn, nullable=False),
    sa.Column("stored_at", InstantColumn, nullable=False),
    sa.Column("due_at", InstantColumn),
    sa.Column("expires_at", InstantColumn, nullable=False),
    sa.Column("next_attempt_at", InstantColumn),
    sa.Column("claimed_at", InstantColumn),
    sa.Column("settled_at", InstantColumn),
    sa.Index("notifier_deliveries_by_subject", "tenant", "subject"),
    sa.Index("notifier_deliveries_by_end", "settled_at"),
)
"""in_doubt: some attempt may have reached the person. settled_at is null while it is pending.

parcel: the message that it went out with, null before the first attempt. due_at: not before, null
for at once. next_attempt_at is null before the first: no clock can put that off. facts: what the
card says, kept while it is pending or a dead letter. owner, labels: of the job, for silences.
"""

sa.Index(
    "notifier_deliveries_pending",
    *(deliveries.c[name] for name in ("channel", "lane", "set_aside", "happened_at", "version")),
    postgresql_where=deliveries.c.settled_at.is_(None),
    sqlite_where=deliveries.c.settled_at.is_(None),
)

lanes = sa.Table(
    "notifier_lanes",
    metadata,
    sa.Column("channel", sa.Text, primary_key=True),
    sa.Column("lane", sa.Text, primary_key=True),
    sa.Column("turn", sa.Integer, nullable=False),
    sa.Column("leased_until", InstantColumn),
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("paused_until", InstantColumn),
    sa.Column("circuit_code", sa.Text, nullable=False),
    sa.Column("circuit_since", InstantColumn),
    sa.Column("probe_at", InstantColumn),
    sa.Column("second_tokens", sa.Float, nullable=False),
    sa.Column("second_at", InstantColumn),
    sa.Column("minute_tokens", sa.Float, nullable=False),
    sa.Column("minute_at", InstantColumn),
    sa.Column("ahead_s", sa.Float, nullable=False),
    sa.Column("digested", sa.Text, nullable=False),
    sa.Column("delivered_at", InstantColumn),
    sa.Column("tried_at", InstantColumn),
    sa.Column("code", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
)
"""turn counts the claims of the lane: who holds an older one has lost it. Null: nobody sends.

The circuit is open while circuit_since is set. The tokens are those of `limits.Budget`. ahead_s: of
the receiver's clock. digested: group -> when its last digest went out. code, text: of the last try.
"""

NEW_LANE: dict[str, object] = {
    "turn": 0,
    "failures": 0,
    "circuit_code": "",
    "second_tokens": 0.0,
    "minute_tokens": 0.0,
    "ahead_s": 0.0,
    "digested": "{}",
    "code": "",
    "text": "",
}

_RULES = "rules"


def rules_version(conn: Connection) -> int:
    """Return how often the rules have changed."""
    query = sa.select(versions.c.version).where(versions.c.name == _RULES)
    return conn.execute(query).scalar() or 0


def rules_changed(conn: Connection) -> None:
    """Count a change of the rules."""
    statement = insert_into(conn, versions).values(name=_RULES, version=1)
    counted = {"version": versions.c.version + 1}
    conn.execute(statement.on_conflict_do_update(index_elements=["name"], set_=counted))


def put_rules(conn: Connection, wanted: Iterable[Rule], now: datetime) -> tuple[Rule, ...]:
    """Make `wanted` the rules of the operator's file, and return every rule in force.

    A rule that is new, changed in what it is about or switched on again begins now: it is not told
    of the past. A rule that is no longer wanted stays, switched off, beside its deliveries.
    """
    known = {rule.id: rule for rule in load_rules(conn, origin=FILE)}
    settled = [replace(rule, since=_since(rule, known.get(rule.id), now)) for rule in wanted]
    conn.execute(sa.update(rules).where(rules.c.origin == FILE).values(enabled=False, removed=True))
    for rule in settled:
        put_rule(conn, rule, FILE)
    rules_changed(conn)
    return load_rules(conn)


def put_rule(conn: Connection, rule: Rule, origin: str) -> None:
    """Write one rule as it is from now on."""
    values = {
        "tenant": rule.tenant,
        "scope": _scope_text(rule.scope),
        "trigger_name": rule.trigger.value,
        "language": rule.language,
        "channel": rule.channel,
        "address": rule.address,
        "lane": rule.label,
        "enabled": rule.enabled,
        "since": rule.since,
        "owner": rule.owner,
        "origin": origin,
        "removed": False,
    }
    statement = insert_into(conn, rules).values(id=rule.id, **values)
    conn.execute(statement.on_conflict_do_update(index_elements=["id"], set_=values))


def load_rules(conn: Connection, *, origin: str | None = None) -> tuple[Rule, ...]:
    """Return every rule that was not removed, by id; origin: of these only, removed ones too."""
    mine = ~rules.c.removed if origin is None else rules.c.origin == origin
    query = sa.select(rules).where(mine).order_by(rules.c.id)
    return tuple(rule_of(row) for row in conn.execute(query))


def _since(rule: Rule, known: Rule | None, now: datetime) -> datetime:
    if known is None or known.since is None or not known.enabled:
        return now
    same = (rule.tenant, rule.scope, rule.trigger) == (known.tenant, known.scope, known.trigger)
    return known.since if same else now


def _scope_text(scope: Scope) -> str:
    values = {
        "kind": scope.kind.value,
        "user": scope.user,
        "job": scope.job,
        "labels": dict(scope.labels),
        "resource_class": scope.resource_class,
        "pool": scope.pool,
    }
    return json.dumps(values, ensure_ascii=False)


def rule_of(row: sa.Row[Any]) -> Rule:
    """Return the rule of a row."""
    scope = json.loads(row.scope)
    return Rule(
        id=row.id,
        tenant=row.tenant,
        scope=Scope(
            ScopeKind(scope["kind"]),
            user=scope["user"],
            job=scope["job"],
            labels=tuple(sorted(scope["labels"].items())),
            resource_class=scope.get("resource_class", ""),
            pool=scope.get("pool", ""),
        ),
        trigger=Trigger(row.trigger_name),
        language="zh" if row.language == "zh" else "en",
        channel=row.channel,
        address=row.address,
        label=row.lane,
        enabled=row.enabled,
        since=row.since,
        owner=row.owner,
    )
