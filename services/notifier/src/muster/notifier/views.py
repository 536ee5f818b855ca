"""What people may see: rules with their health, deliveries, silences, addresses.

Changes nothing. No view holds a webhook or a secret. Plain synchronous functions over a connection.
Called by the desk.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from muster.contracts.notices import (
    AskDeliveries,
    DeliveryView,
    DeliveryViews,
    Health,
    LaneView,
    RuleView,
    SilenceView,
)
from muster.notifier.channels.port import Address
from muster.notifier.core.delivery import DeliveryState
from muster.notifier.core.rules import Scope, ScopeKind
from muster.notifier.core.silences import Silence
from muster.notifier.remedies import remedy
from muster.notifier.store import FILE, addresses, deliveries, lanes, rule_of, rules

_D = deliveries.c
_TOLD = (DeliveryState.DELIVERED.value, DeliveryState.DEAD.value, DeliveryState.UNKNOWN.value)
OK, NEW, PAUSED, FAILING = "ok", "new", "paused", "failing"


def rule_views(
    conn: Connection, tenant: str, of_file: Mapping[str, Address], rule: str | None = None
) -> tuple[RuleView, ...]:
    """Return a tenant's rules, or one of them, by id."""
    mine = [rules.c.tenant == tenant, ~rules.c.removed]
    mine += [] if rule is None else [rules.c.id == rule]
    found = list(conn.execute(sa.select(rules).where(*mine).order_by(rules.c.id)))
    known = {row.name: row for row in conn.execute(_addresses(tenant))}
    states, last = _counted(conn, tenant, rule), _last(conn, tenant, rule)
    lane_rows = _lane_rows(conn, {(row.channel, row.lane) for row in found})
    return tuple(
        _rule_view(
            row,
            known.get(row.address),
            of_file.get(row.address),
            states[row.id],
            last.get(row.id),
            lane_rows.get((row.channel, row.lane)),
        )
        for row in found
    )


def view(
    conn: Connection, tenant: str, rule: str, of_file: Mapping[str, Address] | None = None
) -> RuleView | None:
    """Return one rule; None if there is none, or it was removed."""
    return next(iter(rule_views(conn, tenant, of_file or {}, rule)), None)


def _addresses(tenant: str) -> sa.Select[Any]:
    return sa.select(addresses).where(addresses.c.tenant == tenant)


def _counted(conn: Connection, tenant: str, rule: str | None) -> dict[str, Counter[str]]:
    mine = [_D.tenant == tenant] + ([] if rule is None else [_D.rule == rule])
    query = sa.select(_D.rule, _D.state, sa.func.count()).where(*mine)
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for name, state, count in conn.execute(query.group_by(_D.rule, _D.state)):
        counted[name][state] = int(count)
    return counted


def _last(conn: Connection, tenant: str, rule: str | None) -> dict[str, sa.Row[Any]]:
    """Return the newest attempt that ended, of each rule."""
    mine = [_D.tenant == tenant, _D.state.in_(_TOLD)] + ([] if rule is None else [_D.rule == rule])
    newest = sa.select(_D.rule, sa.func.max(_D.settled_at).label("at")).where(*mine)
    newest_of = newest.group_by(_D.rule).subquery()
    query = sa.select(_D.rule, _D.state, _D.code, _D.text, _D.settled_at).where(
        *mine, _D.rule == newest_of.c.rule, _D.settled_at == newest_of.c.at
    )
    found: Iterable[sa.Row[Any]] = conn.execute(query)
    return {row.rule: row for row in found}


def _lane_rows(
    conn: Connection, wanted: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], sa.Row[Any]]:
    keys = list(wanted)
    query = sa.select(lanes).where(lanes.c.lane.in_({key for _, key in keys}))
    return {(row.channel, row.lane): row for row in conn.execute(query)}


def _rule_view(
    row: sa.Row[Any],
    asked: sa.Row[Any] | None,
    given: Address | None,
    states: Counter[str],
    last: sa.Row[Any] | None,
    lane: sa.Row[Any] | None,
) -> RuleView:
    rule = rule_of(row)
    keywords = tuple(json.loads(asked.keywords)) if asked else given.keywords if given else ()
    return RuleView(
        id=rule.id,
        tenant=rule.tenant,
        scope=scope_of(rule.scope),
        trigger=rule.trigger.value,
        language=rule.language,
        channel=rule.channel,
        address=rule.address,
        shown=asked.shown if asked else given.shown if given else "",
        signed=bool(asked.sealed_secret if asked else given and given.secret),
        keywords=keywords,
        enabled=rule.enabled,
        file=row.origin == FILE,
        owner=rule.owner,
        since=rule.since,
        health=_health(rule.enabled, last, lane),
        pending=states[DeliveryState.PENDING.value],
        dead=states[DeliveryState.DEAD.value],
        delivered_at=lane.delivered_at if lane is not None else None,
    )


def _health(enabled: bool, last: sa.Row[Any] | None, lane: sa.Row[Any] | None) -> Health:
    if not enabled:
        return Health(state=PAUSED)
    if lane is not None and lane.circuit_since is not None:
        return _failing(lane.circuit_code, lane.text, lane.circuit_since)
    if last is None:
        return Health(state=NEW)
    if last.state == DeliveryState.DEAD.value:
        return _failing(last.code, last.text, last.settled_at)
    return Health(state=OK, code=last.code, text=last.text)


def _failing(code: str, text: str, since: datetime | None) -> Health:
    english, chinese = remedy(code)
    return Health(
        state=FAILING, code=code, text=text, since=since, remedy=english, remedy_zh=chinese
    )


def scope_of(scope: Scope) -> object:
    """Return a scope as the rules file says it."""
    match scope.kind:
        case ScopeKind.TENANT | ScopeKind.CLUSTER:
            return scope.kind.value
        case ScopeKind.ME:
            return {"me": scope.user}
        case ScopeKind.JOB:
            return {"job": scope.job}
        case ScopeKind.LABELS:
            return {"labels": dict(scope.labels)}
        case ScopeKind.RESOURCE_CLASS:
            return {"resource_class": scope.resource_class}
        case ScopeKind.POOL:
            return {"pool": scope.pool}


def delivery_views(conn: Connection, tenant: str, asked: AskDeliveries) -> DeliveryViews:
    """Return what became of notices, the newest first, and how many there are of each state."""
    wanted = {"rule": asked.rule, "subject": asked.subject}
    mine = [_D.tenant == tenant]
    mine += [_D[name] == value for name, value in wanted.items() if value is not None]
    counts = sa.select(_D.state, sa.func.count()).where(*mine).group_by(_D.state)
    counted = {state: int(count) for state, count in conn.execute(counts)}
    mine += [] if asked.state is None else [_D.state == asked.state]
    query = sa.select(deliveries).where(*mine)
    query = query.order_by(_D.happened_at.desc(), _D.version.desc(), _D.rule).limit(asked.limit)
    return DeliveryViews(
        deliveries=tuple(_delivery_view(row) for row in conn.execute(query)), counts=counted
    )


def _delivery_view(row: sa.Row[Any]) -> DeliveryView:
    return DeliveryView(
        notice=row.notice,
        parcel=row.parcel,
        rule=row.rule,
        subject=row.subject,
        transition=row.transition,
        trigger=row.trigger_name,
        kind=row.kind,
        state=row.state,
        attempts=row.attempts,
        code=row.code,
        text=row.text,
        happened_at=row.happened_at,
        stored_at=row.stored_at,
        next_attempt_at=row.next_attempt_at,
        settled_at=row.settled_at,
    )


def silence_view(silence: Silence) -> SilenceView:
    """Return a silence as people see it."""
    return SilenceView(
        id=silence.id,
        start=silence.start,
        end=silence.end,
        author=silence.author,
        comment=silence.comment,
        subject=silence.subject,
        rule=silence.rule,
        owner=silence.owner,
        triggers=tuple(trigger.value for trigger in silence.triggers),
        labels=dict(silence.labels),
    )


def lane_views(
    conn: Connection, tenant: str, of_file: Mapping[str, Address], now: datetime
) -> tuple[LaneView, ...]:
    """Return the addresses of a tenant's rules, and how they fare."""
    named: dict[tuple[str, str], list[RuleView]] = defaultdict(list)
    lanes_of = {
        row.id: row.lane
        for row in conn.execute(sa.select(rules.c.id, rules.c.lane).where(rules.c.tenant == tenant))
    }
    for each in rule_views(conn, tenant, of_file):
        named[each.channel, lanes_of[each.id]].append(each)
    waiting = _waiting(conn, tenant)
    found = _lane_rows(conn, named)
    return tuple(
        _lane_view(key, views, found.get(key), waiting.get(key), now)
        for key, views in sorted(named.items())
    )


def _waiting(conn: Connection, tenant: str) -> dict[tuple[str, str], tuple[int, datetime]]:
    query = sa.select(_D.channel, _D.lane, sa.func.count(), sa.func.min(_D.stored_at))
    query = query.where(_D.tenant == tenant, _D.settled_at.is_(None))
    found = conn.execute(query.group_by(_D.channel, _D.lane))
    return {(channel, lane): (int(count), oldest) for channel, lane, count, oldest in found}


def _lane_view(
    key: tuple[str, str],
    views: list[RuleView],
    row: sa.Row[Any] | None,
    waits: tuple[int, datetime] | None,
    now: datetime,
) -> LaneView:
    backlog, oldest = waits or (0, None)
    seen = LaneView(
        channel=key[0],
        lane=key[1],
        shown=views[0].shown,
        rules=tuple(each.id for each in views),
        health=Health(state=NEW),
        backlog=backlog,
        oldest_s=(now - oldest).total_seconds() if oldest else None,
    )
    if row is None:
        return seen
    return seen.model_copy(
        update={
            "health": _lane_health(row),
            "failures": row.failures,
            "paused_until": row.paused_until if (row.paused_until or now) > now else None,
            "probe_at": row.probe_at,
            "delivered_at": row.delivered_at,
            "tried_at": row.tried_at,
        }
    )


def _lane_health(row: sa.Row[Any]) -> Health:
    if row.circuit_since is not None:
        return _failing(row.circuit_code, row.text, row.circuit_since)
    if row.failures:
        return _failing(row.code, row.text, row.tried_at)
    if row.tried_at is None:
        return Health(state=NEW)
    return Health(state=OK, code=row.code, text=row.text)
