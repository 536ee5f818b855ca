"""What goes into the archive: one event at a time, idempotent, in any order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from muster.contracts.events import Event
from muster.domain.errors import Temporary
from muster.domain.state import JobState
from muster.gateway.core.filters import label_texts
from muster.gateway.store import metering
from muster.gateway.store.tables import events, jobs, labels
from muster.runtime.database import insert_into

_PROBE = {"tenant": "", "job": "", "text": ""}
_NUL, _REPLACEMENT = "\x00", "\ufffd"


class AnotherLog(Temporary):
    """The archive belongs to another log: one sequence, two events. An operator must act."""

    def __init__(self, seq: int) -> None:
        super().__init__(
            f"sequence {seq} of the log is another event than in the archive: the stream was made"
            " anew; give the gateway an empty database, or restore the log from the archive",
            delay=30.0,
        )


@dataclass(frozen=True, slots=True)
class Stored:
    """An event as it stood in the log. recorded_at: the server's time when it was stored there."""

    seq: int
    recorded_at: datetime
    event: Event
    body: bytes

    @property
    def state(self) -> JobState | None:
        """The job's state after it; None when it is not about a job."""
        state = getattr(self.event.data, "job", None)
        return state if isinstance(state, JobState) else None


def put(connection: sa.Connection, stored: Stored) -> bool:
    """Keep an event and what it says of its job. Returns False when it was there already.

    Raises AnotherLog.
    """
    fresh = _put_event(connection, stored)
    metering.put(connection, stored.seq, stored.event)
    state = stored.state
    if state is not None and _put_state(connection, state, stored.seq):
        _put_labels(connection, state)
    return fresh


def _put_event(connection: sa.Connection, stored: Stored) -> bool:
    state, event = stored.state, stored.event
    statement = insert_into(connection, events).values(
        seq=stored.seq,
        id=event.id,
        subject=event.subject,
        type=event.type,
        time=event.time,
        recorded_at=stored.recorded_at,
        tenant=state.tenant if state else None,
        job=state.job if state else None,
        version=state.version if state else None,
        body=stored.body.decode(),
    )
    # what an insert returns tells the truth; the number of its rows is not known to every driver
    inserted = statement.on_conflict_do_nothing().returning(events.c.seq)
    if connection.execute(inserted).first() is not None:
        return True
    known = connection.scalar(sa.select(events.c.seq).where(events.c.id == event.id))
    if known is None:
        raise AnotherLog(stored.seq)
    return False


def _put_state(connection: sa.Connection, state: JobState, seq: int) -> bool:
    values = {
        "seq": seq,
        "version": state.version,
        "user": _plain(state.user),
        "name": state.name,
        "pool": state.pool,
        "phase": state.phase.value,
        "submitted_at": state.submitted_at,
        "ended_at": state.ended_at,
        "archived": state.archived,
        "trimmed": False,
        "state": state.model_dump_json(exclude_none=True),
    }
    insert = insert_into(connection, jobs).values(tenant=state.tenant, job=state.job, **values)
    newer = insert.on_conflict_do_update(
        index_elements=["tenant", "job"], set_=values, where=jobs.c.version < state.version
    )
    return connection.execute(newer.returning(jobs.c.version)).first() is not None


def _put_labels(connection: sa.Connection, state: JobState) -> None:
    mine = sa.and_(labels.c.tenant == state.tenant, labels.c.job == state.job)
    connection.execute(sa.delete(labels).where(mine))
    rows = [
        {"tenant": state.tenant, "job": state.job, "text": text}
        for text in sorted({_plain(text) for text in label_texts(state)})
    ]
    if rows:
        connection.execute(sa.insert(labels), rows)


def _plain(text: str) -> str:
    """PostgreSQL has no room for a NUL in a text; inside JSON it is escaped."""
    return text.replace(_NUL, _REPLACEMENT)


def mark_trimmed(connection: sa.Connection, tenant: str, job: str, version: int) -> None:
    """Note that the log has only the last event of a job, unless more has happened since."""
    same = sa.and_(jobs.c.tenant == tenant, jobs.c.job == job, jobs.c.version == version)
    connection.execute(sa.update(jobs).where(same).values(trimmed=True))


def probe(connection: sa.Connection) -> None:
    """Write something and take it back: proof that the archive can be written."""
    statement = insert_into(connection, labels).values(**_PROBE)
    connection.execute(statement.on_conflict_do_nothing())
    connection.execute(sa.delete(labels).where(labels.c.tenant == "", labels.c.job == ""))
