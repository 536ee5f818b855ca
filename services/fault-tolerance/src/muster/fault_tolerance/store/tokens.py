"""Who may restart next: so many restarts a minute, for the cluster and for each storage.

Each lane hands out slots in time, one after the other; a burst may use the slots of a while in
which nobody came. The database counts, in one statement, so any number of replicas share a lane.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from muster.fault_tolerance.store import tables as t
from muster.runtime.database import insert_into

CLUSTER = "cluster"
"""The lane that every restart takes."""


@dataclass(frozen=True, slots=True, order=True)
class Lane:
    """name: `cluster`, or of a storage. per_minute: restarts that it lets pass. burst: at once."""

    name: str
    per_minute: float
    burst: int

    @property
    def gap_s(self) -> float:
        """Seconds from one slot to the next."""
        return 60 / self.per_minute


def take_token(
    conn: Connection,
    lanes: Iterable[Lane],
    attempt: tuple[str, str, int],
    now: datetime,
) -> float:
    """Take a slot in every lane; return the seconds until the restart may begin.

    attempt: (tenant, job, attempt) that restarts; asked for again, it has the slot that it had.
    """
    known = _given(conn, attempt)
    if known is None:
        # in one order everywhere, or two replicas would wait for each other
        slots = [_next_slot(conn, lane, now) for lane in sorted(lanes)]
        known = _give(conn, attempt, max(slots, default=now.timestamp()))
    return max(0.0, known - now.timestamp())


def take_lease(conn: Connection, name: str, holder: str, now: datetime, until: datetime) -> bool:
    """Take work that one replica does at a time; again by its holder, or once it has lapsed."""
    row = insert_into(conn, t.leases).values(name=name, holder=holder, until=until)
    free = sa.or_(t.leases.c.holder == holder, t.leases.c.until <= now)
    taken = row.on_conflict_do_update(
        index_elements=["name"], set_={"holder": holder, "until": until}, where=free
    )
    return conn.execute(taken.returning(t.leases.c.holder)).first() is not None


def forget_slots(conn: Connection, before: datetime) -> int:
    """Delete slots that are long over."""
    old = t.slots.c.slot < before.timestamp()
    return conn.execute(sa.delete(t.slots).where(old)).rowcount


def _next_slot(conn: Connection, lane: Lane, now: datetime) -> float:
    unused = (now - timedelta(seconds=(lane.burst - 1) * lane.gap_s)).timestamp()
    begun = insert_into(conn, t.lanes).values(lane=lane.name, next_at=unused)
    conn.execute(begun.on_conflict_do_nothing())
    next_at = t.lanes.c.next_at
    mine = sa.case((next_at < unused, sa.literal(unused, sa.Double)), else_=next_at)
    taken = (
        sa.update(t.lanes)
        .where(t.lanes.c.lane == lane.name)
        .values(next_at=mine + sa.literal(lane.gap_s, sa.Double))
        .returning(next_at)
    )
    return float(conn.execute(taken).scalar_one()) - lane.gap_s


def _given(conn: Connection, attempt: tuple[str, str, int]) -> float | None:
    query = sa.select(t.slots.c.slot).where(*_is(attempt))
    return conn.execute(query).scalar_one_or_none()


def _give(conn: Connection, attempt: tuple[str, str, int], slot: float) -> float:
    tenant, job, number = attempt
    row = insert_into(conn, t.slots).values(tenant=tenant, job=job, attempt=number, slot=slot)
    given = row.on_conflict_do_nothing().returning(t.slots.c.slot)
    if conn.execute(given).first() is not None:
        return slot
    known = _given(conn, attempt)  # another replica was asked for the same attempt
    assert known is not None
    return known


def _is(attempt: tuple[str, str, int]) -> tuple[sa.ColumnElement[bool], ...]:
    tenant, job, number = attempt
    c = t.slots.c
    return (c.tenant == tenant, c.job == job, c.attempt == number)
