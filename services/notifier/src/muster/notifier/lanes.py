"""The state of each address, in its row: who may send to it, how fast, and how it fares.

Plain synchronous functions over a connection. A lane is leased while one of its messages is sent,
because its holder may die between sending and settling; what is written here is written under the
lease, so replicas share the limits, the pauses and the circuit.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from muster.notifier.core.choosing import LaneState
from muster.notifier.core.delivery import PROBE_EVERY, Delivery, LaneVerdict, Outcome
from muster.notifier.core.limits import Budget, Level, Limits, answered, spent
from muster.notifier.core.notice import Lane
from muster.notifier.store import NEW_LANE, lanes
from muster.runtime.database import insert_into


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to send on a lane until the lease ends. ahead: of the receiver's clock, seconds."""

    lane: Lane
    turn: int
    state: LaneState
    failures: int
    ahead: float
    digested: Mapping[str, str]


def open_lanes(conn: Connection, wanted: Iterable[Lane]) -> None:
    """Make sure that these can be leased."""
    for lane in wanted:
        values = {"channel": lane.channel, "lane": lane.key, **NEW_LANE}
        conn.execute(insert_into(conn, lanes).values(values).on_conflict_do_nothing())


def lease(
    conn: Connection, lane: Lane, now: datetime, until: datetime, limits: Limits | None
) -> Lease | None:
    """Take the lane until then; None if somebody has it."""
    statement = sa.update(lanes).where(*_is(lane), is_free(now))
    statement = statement.values(turn=lanes.c.turn + 1, leased_until=until)
    row = conn.execute(statement.returning(*lanes.c)).first()
    if row is None:
        return None
    digested = json.loads(row.digested)
    state = LaneState(
        key=lane.key,
        limits=limits,
        budget=Budget(
            Level(row.second_tokens, row.second_at), Level(row.minute_tokens, row.minute_at)
        ),
        paused_until=row.paused_until,
        probe_at=row.probe_at,
        digested={group: datetime.fromisoformat(at) for group, at in digested.items()},
    )
    return Lease(lane, row.turn, state, row.failures, row.ahead_s, digested)


def spend(conn: Connection, held: Lease, now: datetime) -> Lease:
    """Write down that one request goes out now."""
    budget = spent(held.state.budget, held.state.limits, now)
    conn.execute(_mine(held).values(_tokens(budget)))
    return replace(held, state=replace(held.state, budget=budget))


def release(conn: Connection, held: Lease) -> None:
    """Give the lane back unused."""
    conn.execute(_mine(held).values(leased_until=None))


def report(
    conn: Connection,
    held: Lease,
    verdict: LaneVerdict,
    delivery: Delivery,
    digest: str,
    now: datetime,
) -> None:
    """Give the lane back with what a try has told of it; nothing if it was overtaken meanwhile."""
    values: dict[str, object] = {
        "leased_until": None,
        "failures": verdict.failures,
        "paused_until": now + timedelta(seconds=verdict.pause) if verdict.pause else None,
        "tried_at": now,
        "code": delivery.code,
        "text": delivery.text,
        **_tokens(answered(held.state.budget, held.state.limits, now)),
    }
    if verdict.ahead is not None:
        values["ahead_s"] = verdict.ahead
    if delivery.outcome is Outcome.DELIVERED:
        values["delivered_at"] = now
        if digest:
            values["digested"] = json.dumps({**held.digested, digest: now.isoformat()})
    conn.execute(_mine(held).values({**values, **_circuit(verdict, delivery, now)}))


def is_free(now: datetime) -> sa.ColumnElement[bool]:
    """Return the condition that nobody sends on a lane."""
    return sa.or_(lanes.c.leased_until.is_(None), lanes.c.leased_until <= now)


def may_send(now: datetime) -> sa.ColumnElement[bool]:
    """Return the condition that a lane is free and neither paused nor closed."""
    unpaused = sa.or_(lanes.c.paused_until.is_(None), lanes.c.paused_until <= now)
    probed = sa.or_(lanes.c.probe_at.is_(None), lanes.c.probe_at <= now)
    return sa.and_(is_free(now), unpaused, probed)


def health(conn: Connection) -> list[sa.Row[Any]]:
    """Return every lane's row."""
    return list(conn.execute(sa.select(lanes).order_by(lanes.c.channel, lanes.c.lane)))


def mend(conn: Connection, lane: Lane) -> None:
    """Close the circuit and end the pause: a person says that the address works again."""
    conn.execute(sa.update(lanes).where(*_is(lane)).values({**_CLOSED, "paused_until": None}))


_CLOSED: dict[str, object] = {"circuit_code": "", "circuit_since": None, "probe_at": None}


def _circuit(verdict: LaneVerdict, delivery: Delivery, now: datetime) -> dict[str, object]:
    if verdict.opens:
        since = sa.func.coalesce(lanes.c.circuit_since, sa.literal(now, lanes.c.circuit_since.type))
        return {
            "circuit_code": delivery.code,
            "circuit_since": since,
            "probe_at": now + PROBE_EVERY,
        }
    return _CLOSED if verdict.closes else {}


def _tokens(budget: Budget) -> dict[str, object]:
    return {
        "second_tokens": budget.second.tokens,
        "second_at": budget.second.at,
        "minute_tokens": budget.minute.tokens,
        "minute_at": budget.minute.at,
    }


def _mine(held: Lease) -> sa.Update:
    return sa.update(lanes).where(*_is(held.lane), lanes.c.turn == held.turn)


def _is(lane: Lane) -> tuple[sa.ColumnElement[bool], ...]:
    return (lanes.c.channel == lane.channel, lanes.c.lane == lane.key)
