"""Where attempts were launched, and what is forgotten when."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from muster.fault_tolerance.core.attributed import Machine
from muster.fault_tolerance.store import tables as t
from muster.fault_tolerance.store.failures import WINDOW
from muster.fault_tolerance.store.tokens import forget_slots
from muster.runtime.database import insert_into

KEPT = WINDOW + timedelta(days=7)
"""How long failures and stays are kept: somewhat longer than they count."""
SLOTS = timedelta(days=1)


def launched(
    conn: Connection,
    attempt: tuple[str, str, int],
    pool: str,
    machines: Iterable[Machine],
    at: datetime,
) -> None:
    """Keep that an attempt (tenant, job, attempt) was launched on these machines."""
    tenant, job, number = attempt
    key = {"tenant": tenant, "job": job, "attempt": number, "at": at}
    rows = [{**key, "machine": machine.identity(pool)} for machine in machines]
    if rows:
        conn.execute(insert_into(conn, t.stays).on_conflict_do_nothing(), rows)


def forget(conn: Connection, now: datetime) -> int:
    """Delete what no longer counts; returns how many rows."""
    gone = forget_slots(conn, now - SLOTS)
    for table in (t.failures, t.blamed, t.marks, t.stays):
        gone += conn.execute(sa.delete(table).where(table.c.at < now - KEPT)).rowcount
    return gone
