"""What jobs ask for, where their attempts were launched, and what is forgotten when."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from muster.domain.demand import Demand
from muster.domain.phases import ACTIVE
from muster.domain.state import JobState
from muster.fault_tolerance.core.attributed import Machine
from muster.fault_tolerance.core.brakes import Needed
from muster.fault_tolerance.store import tables as t
from muster.fault_tolerance.store.failures import WINDOW
from muster.fault_tolerance.store.tokens import forget_slots
from muster.runtime.database import insert_into

KEPT = WINDOW + timedelta(days=7)
"""How long failures and stays are kept: somewhat longer than they count."""
SLOTS = timedelta(days=1)
_BEGIN = datetime(1970, 1, 1, tzinfo=UTC)


def launched(
    conn: Connection,
    attempt: tuple[str, str, int],
    pool: str,
    machines: Iterable[Machine],
    at: datetime,
) -> None:
    """Keep that an attempt (tenant, job, attempt) was launched on these machines."""
    tenant, job, number = attempt
    key = {"tenant": tenant, "job": job, "attempt": number, "at": at, "day": (at - _BEGIN).days}
    rows = [{**key, "machine": machine.identity(pool)} for machine in machines]
    if rows:
        conn.execute(insert_into(conn, t.stays).on_conflict_do_nothing(), rows)


def wanted(conn: Connection, job: JobState, at: datetime) -> None:
    """Keep what a job asks for, unless something newer is known of it."""
    values = {
        "version": job.version,
        "pool": job.pool,
        "user": job.user,
        "active": job.phase in ACTIVE,
        "demand": job.demand.model_dump_json(),
        "at": at,
    }
    row = insert_into(conn, t.demands).values(tenant=job.tenant, job=job.job, **values)
    newer = t.demands.c.version < job.version
    conn.execute(
        row.on_conflict_do_update(index_elements=["tenant", "job"], set_=values, where=newer)
    )


def needed(conn: Connection, pool: str) -> tuple[tuple[str, str, Needed], ...]:
    """Return (tenant, user, what it needs) of every active job of a pool."""
    c = t.demands.c
    rows = conn.execute(sa.select(t.demands).where(c.pool == pool, c.active).order_by(c.job))
    return tuple(
        (row.tenant, row.user, Needed(row.job, Demand.model_validate_json(row.demand)))
        for row in rows
    )


def day(number: int) -> datetime:
    """Return the middle of a day that is counted since 1970."""
    return _BEGIN + timedelta(days=number, hours=12)


def forget(conn: Connection, now: datetime) -> int:
    """Delete what no longer counts; returns how many rows."""
    gone = forget_slots(conn, now - SLOTS)
    for table in (t.failures, t.blamed, t.marks, t.stays):
        gone += conn.execute(sa.delete(table).where(table.c.at < now - KEPT)).rowcount
    c = t.demands.c
    old = sa.delete(t.demands).where(~c.active, c.at < now - SLOTS)
    return gone + conn.execute(old).rowcount
