"""The ledger: every notice that was ever to be told, and who may send the next one to an address.

Plain synchronous functions over a connection; the caller owns the transaction and the thread. A
row's key is (rule, job, transition), so a message that comes twice adds nothing. A lane is leased
while one of its notices is sent, because its holder may die between sending and settling. Every
function touches the lane before the row, so that two of them never wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from muster.notifier.core.delivery import (
    STALE,
    WITHDRAWN,
    Delivery,
    DeliveryState,
    Outcome,
    Verdict,
)
from muster.notifier.core.notice import Lane, Notice
from muster.notifier.rows import from_row, to_row
from muster.notifier.store import deliveries as rows
from muster.notifier.store import lanes, rules
from muster.runtime.database import insert_into

_PENDING = rows.c.settled_at.is_(None)
_KEY = (rows.c.rule, rows.c.job, rows.c.transition)
_ORDER = (rows.c.set_aside, rows.c.happened_at, rows.c.version, rows.c.rule, rows.c.job)


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to send one notice, until the lease ends.

    key: (rule, job, transition). turn: the lane's. attempt: counts this notice's claims, from 1.
    repeat: an earlier attempt may have reached the person. notice: None if it cannot be read.
    """

    lane: Lane
    key: tuple[str, str, str]
    turn: int
    attempt: int
    repeat: bool
    notice: Notice | None


def open_lanes(conn: Connection, wanted: Iterable[Lane]) -> None:
    """Make sure that these can be leased."""
    for lane in wanted:
        values = {"channel": lane.channel, "address": lane.key, "turn": 0}
        conn.execute(insert_into(conn, lanes).values(values).on_conflict_do_nothing())


def follow_rules(conn: Connection, now: datetime) -> list[Lane]:
    """Let pending notices go where their rules now say; returns the lane of each withdrawn one.

    Withdrawn is what no rule in force would tell any more: its rule is gone, off or another one.
    """
    mine = sa.and_(rules.c.id == rows.c.rule, rules.c.enabled)
    conn.execute(
        sa.update(rows)
        .where(_PENDING, mine, sa.tuple_(*_way(rows)) != sa.tuple_(*_way(rules)))
        .values(channel=rules.c.channel, address=rules.c.address, language=rules.c.language)
    )
    told = sa.exists().where(mine, rules.c.since <= rows.c.happened_at)
    ended = sa.update(rows).where(_PENDING, ~told).values(_ending(WITHDRAWN, now))
    return [Lane(*row) for row in conn.execute(ended.returning(rows.c.channel, rows.c.address))]


def keep(conn: Connection, notices: Iterable[Notice]) -> set[Lane]:
    """Store what is not yet stored; returns the lanes that have something new to send."""
    return {notice.lane for notice in notices if _insert(conn, notice)}


def due(conn: Connection, now: datetime) -> set[Lane]:
    """Return the lanes that are free and whose next notice may be sent."""
    may_go = sa.case((_may_go(now), 1), else_=0)
    first = _head(now, may_go).where(*_of_a_lane()).scalar_subquery()
    query = sa.select(lanes.c.channel, lanes.c.address).where(_is_free(now), first == 1)
    return {Lane(*row) for row in conn.execute(query)}


def take(conn: Connection, lane: Lane, now: datetime, lease: timedelta) -> Claim | None:
    """Take the right to send the lane's next notice; None if somebody has it or nothing is due."""
    if _next_of(conn, lane, now) is None:
        return None  # the usual end of a turn, and it writes nothing
    turn = _lease(conn, lane, now, now + lease)
    if turn is None:
        return None
    row = _next_of(conn, lane, now)
    if row is None:
        _release(conn, lane, turn)
        return None
    key, attempt = (row.rule, row.job, row.transition), row.attempts + 1
    begun = {"attempts": attempt, "claimed_at": now, "in_doubt": True}
    conn.execute(sa.update(rows).where(*_is(key)).values(begun))
    return Claim(lane, key, turn, attempt, row.in_doubt, from_row(row))


def settle(
    conn: Connection, claim: Claim, verdict: Verdict, delivery: Delivery, now: datetime
) -> bool:
    """Write down an attempt's outcome and free the lane; False if it was overtaken meanwhile.

    That somebody was told is a fact: `delivered` is written even by an attempt that was overtaken.
    """
    _release(conn, claim.lane, claim.turn)
    mine = sa.and_(rows.c.attempts == claim.attempt, _PENDING)
    told = verdict.state is DeliveryState.DELIVERED
    condition = rows.c.state != DeliveryState.DELIVERED.value if told else mine
    values = _outcome(claim, verdict, delivery, now)
    statement = sa.update(rows).where(*_is(claim.key), condition).values(values)
    return conn.execute(statement).rowcount == 1


def expire(conn: Connection, now: datetime, lease: timedelta, limit: int) -> list[Lane]:
    """End up to `limit` notices that are no news any more; returns the lane of each."""
    resting = sa.or_(rows.c.claimed_at.is_(None), rows.c.claimed_at <= now - lease)
    chosen = _choose(conn, limit, _PENDING, rows.c.expires_at <= now, resting)
    statement = sa.update(rows).where(chosen, _PENDING).values(_ending(STALE, now))
    ended = conn.execute(statement.returning(rows.c.channel, rows.c.address))
    return [Lane(*row) for row in ended]


def forget(conn: Connection, before: datetime, limit: int) -> int:
    """Delete up to `limit` rows that were settled before an instant."""
    return conn.execute(
        sa.delete(rows).where(_choose(conn, limit, rows.c.settled_at < before))
    ).rowcount


def pending(conn: Connection) -> dict[str, int]:
    """Return the number of pending notices of each channel that has any."""
    query = sa.select(rows.c.channel, sa.func.count()).where(_PENDING).group_by(rows.c.channel)
    return {channel: int(count) for channel, count in conn.execute(query)}


def _choose(
    conn: Connection, limit: int, *conditions: sa.ColumnElement[bool]
) -> sa.ColumnElement[bool]:
    # chosen beforehand: PostgreSQL may run a subquery again for each row, and its limit with it
    query = sa.select(*_KEY).where(*conditions).limit(limit).with_for_update(skip_locked=True)
    return sa.tuple_(*_KEY).in_([tuple(row) for row in conn.execute(query)])


def _way(table: sa.Table) -> tuple[sa.Column[Any], ...]:
    return (table.c.channel, table.c.address, table.c.language)


def _is(key: tuple[str, str, str]) -> tuple[sa.ColumnElement[bool], ...]:
    rule, job, transition = key
    return (rows.c.rule == rule, rows.c.job == job, rows.c.transition == transition)


def _of_a_lane() -> tuple[sa.ColumnElement[bool], ...]:
    return (rows.c.channel == lanes.c.channel, rows.c.address == lanes.c.address)


def _is_free(now: datetime) -> sa.ColumnElement[bool]:
    return sa.or_(lanes.c.leased_until.is_(None), lanes.c.leased_until <= now)


def _may_go(now: datetime) -> sa.ColumnElement[bool]:
    return sa.or_(rows.c.next_attempt_at.is_(None), rows.c.next_attempt_at <= now)


def _head(now: datetime, *columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Select the notice that goes next; the caller says of which lane."""
    query = sa.select(*columns).where(_PENDING, rows.c.expires_at > now)
    return query.order_by(*_ORDER).limit(1)


def _next_of(conn: Connection, lane: Lane, now: datetime) -> sa.Row[Any] | None:
    """Return the lane's next notice if it may go now."""
    query = _head(now, *rows.c, _may_go(now).label("may_go"))
    query = query.where(rows.c.channel == lane.channel, rows.c.address == lane.key)
    row = conn.execute(query).first()
    return row if row is not None and row.may_go else None


def _lease(conn: Connection, lane: Lane, now: datetime, until: datetime) -> int | None:
    this = (lanes.c.channel == lane.channel, lanes.c.address == lane.key)
    statement = sa.update(lanes).where(*this, _is_free(now))
    statement = statement.values(turn=lanes.c.turn + 1, leased_until=until)
    turn: int | None = conn.execute(statement.returning(lanes.c.turn)).scalar()
    return turn


def _release(conn: Connection, lane: Lane, turn: int) -> None:
    this = (lanes.c.channel == lane.channel, lanes.c.address == lane.key)
    conn.execute(sa.update(lanes).where(*this, lanes.c.turn == turn).values(leased_until=None))


def _outcome(
    claim: Claim, verdict: Verdict, delivery: Delivery, now: datetime
) -> dict[str, object]:
    if verdict.state is not DeliveryState.PENDING:
        return {**_ending(delivery, now), "state": verdict.state.value}
    return {
        "code": delivery.code,
        "text": delivery.text,
        "next_attempt_at": now + timedelta(seconds=verdict.wait or 0.0),
        "in_doubt": claim.repeat or delivery.outcome is Outcome.UNKNOWN,
        "set_aside": verdict.set_aside,
    }


def _ending(delivery: Delivery, now: datetime) -> dict[str, object]:
    return {
        "state": DeliveryState.FAILED.value,
        "code": delivery.code,
        "text": delivery.text,
        "settled_at": now,
        "facts": None,
    }


def _insert(conn: Connection, notice: Notice) -> bool:
    statement = insert_into(conn, rows).values(to_row(notice)).on_conflict_do_nothing()
    # the number of rows is not reported for an insert by every driver; what it returns is
    return conn.execute(statement.returning(rows.c.attempts)).first() is not None
