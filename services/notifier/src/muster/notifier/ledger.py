"""The ledger: every notice that was ever to be told, and what became of it.

Plain synchronous functions over a connection; the caller owns the transaction and the thread. A
row's key is (rule, subject, transition), so a message that comes twice adds nothing. Rows that go
out together are a parcel. Every function touches the lane before its rows, so that two of them
never wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from muster.notifier import lanes as lane_rows
from muster.notifier.core.choosing import (
    AS_USUAL,
    Pace,
    Parcel,
    Wait,
    Waiting,
    choose,
    may_go_from,
    unsent,
)
from muster.notifier.core.damping import WINDOW, Recent, damp
from muster.notifier.core.delivery import (
    Delivery,
    DeliveryState,
    Form,
    Verdict,
)
from muster.notifier.core.limits import Limits
from muster.notifier.core.notice import Key, Kind, Lane, Notice, Trigger
from muster.notifier.core.reminders import reminder_after
from muster.notifier.core.silences import Silence
from muster.notifier.lanes import Lease
from muster.notifier.rows import OF_WAITING, from_row, to_row, waiting_of
from muster.notifier.store import deliveries as rows
from muster.notifier.store import lanes, rules
from muster.runtime.database import insert_into

_PENDING = rows.c.settled_at.is_(None)
_KEY = (rows.c.rule, rows.c.subject, rows.c.transition)
_ORDER = (rows.c.set_aside, rows.c.happened_at, rows.c.version, rows.c.rule, rows.c.subject)
_LOOKED_AT = 1200
_UNREADABLE_S = 60.0


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to send one message, until the lease of its lane ends.

    number: counts this parcel's claims, from 1. repeat: an earlier one may have reached the person.
    form, last_code: as the attempt before left them. notices: in the order of events.
    """

    lease: Lease
    parcel: Parcel
    notices: tuple[Notice, ...]
    number: int
    repeat: bool
    form: Form
    last_code: str

    @property
    def lane(self) -> Lane:
        """Return the way that it goes."""
        return self.lease.lane


@dataclass(frozen=True, slots=True)
class Ended:
    """A notice that ended without a further attempt: on which channel, of what, and how."""

    channel: str
    trigger: str
    state: str


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a look at a lane: a claim, or nothing until `wait`; ended: on the way."""

    claim: Claim | None = None
    wait: datetime | None = None
    ended: tuple[Ended, ...] = ()


@dataclass(frozen=True, slots=True)
class Replayed:
    """How many dead letters go out again, and by which lanes."""

    lanes: frozenset[Lane]
    count: int


def follow_rules(conn: Connection, now: datetime, rule: str | None = None) -> list[Ended]:
    """Let pending notices go where their rules now say; withdraw what no rule would tell any more.

    Its rule is gone, off or another one. rule: only those of this one.
    """
    of_rule = sa.true() if rule is None else rows.c.rule == rule
    mine = _of_rule_in_force()
    conn.execute(
        sa.update(rows)
        .where(_PENDING, of_rule, mine, sa.tuple_(*_way(rows)) != sa.tuple_(*_way(rules)))
        .values(_way_of_rule())
    )
    told = sa.exists().where(mine, rules.c.since <= rows.c.happened_at)
    return _end(conn, DeliveryState.WITHDRAWN, now, of_rule, ~told)


def keep(
    conn: Connection, notices: Iterable[Notice], now: datetime
) -> tuple[set[Lane], list[Ended]]:
    """Store what is not yet stored; returns the lanes that have something new, and what ended."""
    new: set[Lane] = set()
    ended: list[Ended] = []
    for notice in notices:
        damping = damp(notice, _recent(conn, notice))
        stored = [each for each in damping.store if _insert(conn, each, now)]
        new |= {each.lane for each in stored}
        if damping.damped:
            ended += _end(conn, DeliveryState.DAMPED, now, _any_of(damping.damped))
    lane_rows.open_lanes(conn, new)
    return new, ended


def somebody_acted(conn: Connection, tenant: str, subject: str, now: datetime) -> list[Ended]:
    """End the reminders of a job that somebody has taken care of.

    What is still to be told of its wait is told, and reminds nobody: the reminder that would follow
    is there already, and over.
    """
    mine = sa.and_(rows.c.tenant == tenant, rows.c.subject == subject)
    parked = rows.c.trigger_name == Trigger.JOB_ABNORMAL.value
    for row in conn.execute(sa.select(rows).where(mine, _PENDING, parked)).all():
        told = from_row(row)
        following = reminder_after(told, now) if told is not None else None
        if following is not None and _insert(conn, following, now):
            over = {"state": DeliveryState.ACTED.value, "code": "acted", "settled_at": now}
            conn.execute(sa.update(rows).where(_any_of([following.key])).values(facts=None, **over))
    return _end(conn, DeliveryState.ACTED, now, mine, rows.c.kind == Kind.REMINDER.value)


def due(conn: Connection, now: datetime) -> set[Lane]:
    """Return the lanes that may send and have something that may go."""
    may_go = sa.and_(_waits(now), _may_go(now))
    mine = sa.exists().where(rows.c.channel == lanes.c.channel, rows.c.lane == lanes.c.lane, may_go)
    query = sa.select(lanes.c.channel, lanes.c.lane).where(lane_rows.may_send(now), mine)
    return {Lane(*row) for row in conn.execute(query)}


def take(
    conn: Connection,
    lane: Lane,
    now: datetime,
    lease: timedelta,
    pace: Pace = AS_USUAL,
    limits: Limits | None = None,
    silences: Sequence[Silence] = (),
) -> Taken:
    """Take the right to send the lane's next message; without a claim nobody may send or need."""
    if not _anything(conn, lane, now):
        return Taken()  # the usual end of a turn, and it writes nothing
    held = lane_rows.lease(conn, lane, now, now + lease, limits)
    if held is None:
        return Taken()
    opens = may_go_from(held.state, now)
    if opens > now:  # the usual case of a backlog: nothing is loaded for it
        lane_rows.release(conn, held)
        return Taken(wait=opens)
    waiting = _waiting(conn, lane, now)
    skipped = dict(unsent(waiting, silences, now))
    ended = _end_each(conn, skipped, now)
    full = len(waiting) >= _LOOKED_AT
    waiting = [row for row in waiting if row.key not in skipped]
    backlog = _backlog(conn, lane, now) if full else len(waiting)
    chosen = choose(waiting, replace(held.state, backlog=backlog), now, pace)
    if isinstance(chosen, Wait):
        lane_rows.release(conn, held)
        return Taken(wait=chosen.until, ended=ended)
    claim = _claim(conn, held, chosen, now)
    if claim is None:
        lane_rows.release(conn, held)
        return Taken(wait=now, ended=ended)
    return Taken(claim=replace(claim, lease=lane_rows.spend(conn, held, now)), ended=ended)


def settle(
    conn: Connection, claim: Claim, verdict: Verdict, delivery: Delivery, now: datetime
) -> bool:
    """Write down an attempt's outcome and free the lane; False if it was overtaken meanwhile.

    That somebody was told is a fact: `delivered` is written even by an attempt that was overtaken.
    """
    lane_rows.report(conn, claim.lease, verdict.lane, delivery, claim.parcel.digest, now)
    mine = sa.and_(rows.c.attempts == claim.number, _PENDING)
    told = verdict.state is DeliveryState.DELIVERED
    condition = rows.c.state != DeliveryState.DELIVERED.value if told else mine
    keys = [row.key for row in claim.parcel.rows]
    values = _outcome(claim, verdict, delivery, now)
    written = conn.execute(sa.update(rows).where(_any_of(keys), condition).values(values)).rowcount
    if told and written:
        for notice in claim.notices:
            following = reminder_after(notice, now)
            if following is not None:
                _insert(conn, following, now)
    return written > 0


def replay(
    conn: Connection,
    now: datetime,
    *,
    tenant: str | None = None,
    rule: str | None = None,
    notice: str | None = None,
) -> Replayed:
    """Let dead letters that are still news go out once more, to where their rules now say.

    One whose rule is out of force, or began later, stays what it is.
    """
    dead = rows.c.state == DeliveryState.DEAD.value
    wanted = {"tenant": tenant, "rule": rule, "notice": notice}
    chosen = [rows.c[name] == value for name, value in wanted.items() if value is not None]
    fresh = {
        "state": DeliveryState.PENDING.value,
        "form": Form.CARD.value,
        "settled_at": None,
        "next_attempt_at": None,
        "parcel": None,
        "attempts": 0,
        "set_aside": False,
        "in_doubt": False,
        "stored_at": now,
        "code": "",
    }
    told = sa.and_(_of_rule_in_force(), rules.c.since <= rows.c.happened_at)
    statement = sa.update(rows).where(
        dead, told, rows.c.expires_at > now, rows.c.facts.is_not(None), *chosen
    )
    statement = statement.values({**fresh, **_way_of_rule()})
    again = list(conn.execute(statement.returning(rows.c.channel, rows.c.lane)))
    return Replayed(frozenset(Lane(*row) for row in again), len(again))


def expire(conn: Connection, now: datetime, lease: timedelta, limit: int) -> list[Ended]:
    """End up to `limit` notices that are no news any more."""
    resting = sa.or_(rows.c.claimed_at.is_(None), rows.c.claimed_at <= now - lease)
    chosen = _choose(conn, limit, _PENDING, rows.c.expires_at <= now, resting)
    return _end(conn, DeliveryState.STALE, now, chosen)


def forget(conn: Connection, before: datetime, limit: int) -> int:
    """Delete up to `limit` rows that were settled before an instant."""
    return conn.execute(
        sa.delete(rows).where(_choose(conn, limit, rows.c.settled_at < before))
    ).rowcount


def pending(conn: Connection, now: datetime) -> dict[str, tuple[int, float]]:
    """Return for each channel that has any how many notices wait, and the age of the oldest, s."""
    query = sa.select(rows.c.channel, sa.func.count(), sa.func.min(rows.c.stored_at))
    query = query.where(_PENDING, _is_due(now)).group_by(rows.c.channel)
    found = conn.execute(query)
    return {channel: (int(n), (now - oldest).total_seconds()) for channel, n, oldest in found}


def _recent(conn: Connection, notice: Notice) -> list[Recent]:
    """Return what the lane was to be told of the same job lately, or still holds back."""
    since = notice.at - WINDOW
    held = sa.and_(_PENDING, rows.c.due_at.is_not(None), rows.c.kind == Kind.NEWS.value)
    query = sa.select(
        *_KEY, rows.c.trigger_name, rows.c.kind, rows.c.happened_at, rows.c.version, held
    ).where(
        rows.c.tenant == notice.tenant,
        rows.c.subject == notice.subject,
        rows.c.channel == notice.channel,
        rows.c.lane == notice.label,
        sa.or_(rows.c.happened_at > since, held),
    )
    return [
        Recent((r, s, t), Trigger(trigger), Kind(kind), t, at, version, bool(is_held))
        for r, s, t, trigger, kind, at, version, is_held in conn.execute(query)
        if trigger in set(Trigger) and kind in set(Kind)
    ]


def _anything(conn: Connection, lane: Lane, now: datetime) -> bool:
    query = sa.select(rows.c.rule).where(*_on(lane), _waits(now), _may_go(now)).limit(1)
    return conn.execute(query).first() is not None


def _waiting(conn: Connection, lane: Lane, now: datetime) -> list[Waiting]:
    query = sa.select(*OF_WAITING).where(*_on(lane), _waits(now)).order_by(*_ORDER)
    found = (waiting_of(row) for row in conn.execute(query.limit(_LOOKED_AT)))
    return [row for row in found if row is not None]


def _backlog(conn: Connection, lane: Lane, now: datetime) -> int:
    query = sa.select(sa.func.count()).select_from(rows).where(*_on(lane), _waits(now))
    return conn.execute(query).scalar() or 0


def _claim(conn: Connection, held: Lease, parcel: Parcel, now: datetime) -> Claim | None:
    """Mark the parcel's rows as on their way; None if none of them can be read."""
    found = {tuple(row[:3]): row for row in _rows(conn, [row.key for row in parcel.rows])}
    notices = {row.key: from_row(found[row.key]) for row in parcel.rows if row.key in found}
    _leave(conn, [key for key, notice in notices.items() if notice is None], now)
    told = tuple(row for row in parcel.rows if notices.get(row.key) is not None)
    if not told:
        return None
    mine = [found[row.key] for row in told]
    number = max(row.attempts for row in mine) + 1
    begun = {"attempts": number, "claimed_at": now, "in_doubt": True, "parcel": parcel.id}
    conn.execute(sa.update(rows).where(_any_of([row.key for row in told])).values(begun))
    return Claim(
        lease=held,
        parcel=replace(parcel, rows=told),
        notices=tuple(notice for row in told if (notice := notices[row.key]) is not None),
        number=number,
        repeat=any(row.in_doubt for row in mine),
        form=Form(mine[0].form),
        last_code=mine[0].code,
    )


def _rows(conn: Connection, keys: Sequence[Key]) -> list[sa.Row[Any]]:
    return list(conn.execute(sa.select(rows).where(_any_of(keys))))


def _leave(conn: Connection, keys: Sequence[Key], now: datetime) -> None:
    """Put what cannot be read out of the way, until a version that knows it comes."""
    if keys:
        later = now + timedelta(seconds=_UNREADABLE_S)
        left = {"set_aside": True, "next_attempt_at": later, "code": "unreadable"}
        left["parcel"] = rows.c.notice  # each by itself
        conn.execute(sa.update(rows).where(_any_of(keys)).values(left))


def _outcome(
    claim: Claim, verdict: Verdict, delivery: Delivery, now: datetime
) -> dict[str, object]:
    told = {"code": delivery.code, "text": delivery.text, "form": verdict.form.value}
    if verdict.state is DeliveryState.PENDING:
        return {
            **told,
            "next_attempt_at": now + timedelta(seconds=verdict.wait or 0.0),
            "in_doubt": claim.repeat or verdict.in_doubt,
            "set_aside": verdict.set_aside,
        }
    ended: dict[str, object] = {**told, "form": claim.form.value, "state": verdict.state.value}
    ended["settled_at"] = now
    if verdict.state is not DeliveryState.DEAD:
        ended["facts"] = None
    return ended


def _end(
    conn: Connection, state: DeliveryState, now: datetime, *conditions: sa.ColumnElement[bool]
) -> list[Ended]:
    """End pending rows that are not sent any more, and say which."""
    values = {"state": state.value, "code": state.value, "settled_at": now, "facts": None}
    statement = sa.update(rows).where(_PENDING, *conditions).values(values)
    ended = conn.execute(statement.returning(rows.c.channel, rows.c.trigger_name))
    return [Ended(channel, trigger, state.value) for channel, trigger in ended]


def _end_each(conn: Connection, states: dict[Key, str], now: datetime) -> tuple[Ended, ...]:
    ended: list[Ended] = []
    for state in sorted(set(states.values())):
        keys = [key for key, value in states.items() if value == state]
        ended += _end(conn, DeliveryState(state), now, _any_of(keys))
    return tuple(ended)


def _choose(
    conn: Connection, limit: int, *conditions: sa.ColumnElement[bool]
) -> sa.ColumnElement[bool]:
    # chosen beforehand: PostgreSQL may run a subquery again for each row, and its limit with it
    query = sa.select(*_KEY).where(*conditions).limit(limit).with_for_update(skip_locked=True)
    return _any_of([(row[0], row[1], row[2]) for row in conn.execute(query)])


_WAY = ("channel", "address", "lane", "language")


def _way(table: sa.Table) -> tuple[sa.Column[Any], ...]:
    return tuple(table.c[name] for name in _WAY)


def _way_of_rule() -> dict[str, sa.Column[Any]]:
    return {name: rules.c[name] for name in _WAY}


def _of_rule_in_force() -> sa.ColumnElement[bool]:
    return sa.and_(rules.c.id == rows.c.rule, rules.c.enabled, ~rules.c.removed)


def _any_of(keys: Sequence[Key]) -> sa.ColumnElement[bool]:
    return sa.tuple_(*_KEY).in_(keys)


def _on(lane: Lane) -> tuple[sa.ColumnElement[bool], ...]:
    return (rows.c.channel == lane.channel, rows.c.lane == lane.key)


def _waits(now: datetime) -> sa.ColumnElement[bool]:
    return sa.and_(_PENDING, rows.c.expires_at > now, _is_due(now))


def _is_due(now: datetime) -> sa.ColumnElement[bool]:
    return sa.or_(rows.c.due_at.is_(None), rows.c.due_at <= now)


def _may_go(now: datetime) -> sa.ColumnElement[bool]:
    return sa.or_(rows.c.next_attempt_at.is_(None), rows.c.next_attempt_at <= now)


def _insert(conn: Connection, notice: Notice, now: datetime) -> bool:
    statement = insert_into(conn, rows).values(to_row(notice, now)).on_conflict_do_nothing()
    # the number of rows is not reported for an insert by every driver; what it returns is
    return conn.execute(statement.returning(rows.c.attempts)).first() is not None
