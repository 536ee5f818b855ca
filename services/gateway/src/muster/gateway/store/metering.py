"""Writes what each event says of use: idempotent, in any order, by several replicas at once.

A row is made from one event alone; what a time between two events comes to is found by asking
(`usage`). So nothing here can be out of step, and all of it can be made again from the events.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from muster.contracts.events import Event, NodeData, UnreadableEvent, read_event
from muster.domain.metering import is_over, node_milli
from muster.domain.nodes import NodeChanged, NodeJoined
from muster.domain.state import JobState
from muster.gateway.store.tables import backfill, events, meter, models, placements
from muster.runtime.database import insert_into

PAGE = 500
METER = "meter"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def put(connection: sa.Connection, seq: int, event: Event) -> None:
    """Note what an event says of use, if anything."""
    state = getattr(event.data, "job", None)
    if isinstance(state, JobState):
        _put_job(connection, seq, event.time, state)
    elif isinstance(event.data, NodeData):
        _put_node(connection, seq, event.data)


def micros(at: datetime) -> int:
    """Return an instant in microseconds."""
    return (at - _EPOCH) // _MICROSECOND


def _put_job(connection: sa.Connection, seq: int, at: datetime, state: JobState) -> None:
    milli = node_milli(state)
    placement = _digest(milli) if milli else None
    row = {
        "tenant": state.tenant,
        "job": state.job,
        "version": state.version,
        "seq": seq,
        "at": micros(at),
        "attempt": state.attempt,
        "phase": state.phase.value,
        "class": state.demand.resource_class.value,
        "over": is_over(state),
        "milli": sum(milli.values()),
        "placement": placement,
    }
    connection.execute(insert_into(connection, meter).values(row).on_conflict_do_nothing())
    if placement is not None:
        _put_placement(connection, state, placement, milli)


def _put_placement(
    connection: sa.Connection, state: JobState, placement: str, milli: dict[str, int]
) -> None:
    known = sa.select(placements.c.node).where(
        placements.c.tenant == state.tenant,
        placements.c.job == state.job,
        placements.c.placement == placement,
    )
    if connection.execute(known.limit(1)).first() is not None:
        return  # its rows are written together
    mine = {"tenant": state.tenant, "job": state.job, "placement": placement}
    rows = [mine | {"node": node, "milli": amount} for node, amount in sorted(milli.items())]
    connection.execute(insert_into(connection, placements).on_conflict_do_nothing(), rows)


def _digest(milli: dict[str, int]) -> str:
    return hashlib.sha256(json.dumps(milli, sort_keys=True).encode()).hexdigest()[:32]


def _put_node(connection: sa.Connection, seq: int, data: NodeData[Any]) -> None:
    if not isinstance(data.detail, NodeJoined | NodeChanged):
        return
    row = {
        "pool": data.node.pool,
        "node": data.node.node,
        "seq": seq,
        "model": data.node.shape.gpu_model.replace("\x00", "\ufffd"),
    }
    connection.execute(insert_into(connection, models).values(row).on_conflict_do_nothing())


# --- what was archived before, or by a version that did not meter --------------------------------


def rebuild(connection: sa.Connection) -> None:
    """Throw the projection away and let the service make it again from the archived events."""
    for table in (meter, placements, models):
        connection.execute(sa.delete(table))
    upto = connection.scalar(sa.select(sa.func.max(events.c.seq))) or 0
    row = {"after": 0, "upto": upto}
    insert = insert_into(connection, backfill).values(name=METER, **row)
    connection.execute(insert.on_conflict_do_update(index_elements=["name"], set_=row))


def is_whole(connection: sa.Connection) -> bool:
    """Tell whether everything that was archived is metered."""
    left = sa.select(backfill.c.upto).where(backfill.c.name == METER)
    return connection.scalar(left) is None


def catch_up(connection: sa.Connection, limit: int = PAGE) -> bool:
    """Meter some of what is left. Returns whether there is more."""
    mine = backfill.c.name == METER
    left = connection.execute(
        sa.select(backfill.c.after, backfill.c.upto).where(mine).with_for_update()
    ).one_or_none()
    if left is None:
        return False
    page = (
        sa.select(events.c.seq, events.c.subject, events.c.body)
        .where(events.c.seq > left.after, events.c.seq <= left.upto)
        .order_by(events.c.seq)
        .limit(limit)
    )
    rows = connection.execute(page).all()
    _meter(connection, rows)
    if len(rows) < limit:
        connection.execute(sa.delete(backfill).where(mine))
        return False
    connection.execute(sa.update(backfill).where(mine).values(after=rows[-1].seq))
    return True


def heal(connection: sa.Connection, tenant: str, job: str) -> None:
    """Meter what the archive has of a job and is not metered, if there is anything."""
    own = sa.and_(events.c.tenant == tenant, events.c.job == job)
    same = sa.and_(meter.c.tenant == tenant, meter.c.job == job)
    lacking = own, events.c.version.not_in(sa.select(meter.c.version).where(same))
    query = sa.select(events.c.seq, events.c.subject, events.c.body).where(*lacking)
    _meter(connection, connection.execute(query).all())


def _meter(connection: sa.Connection, rows: Iterable[Any]) -> None:
    for seq, subject, body in rows:
        try:
            put(connection, seq, read_event(subject, body.encode()))
        except UnreadableEvent:
            continue
