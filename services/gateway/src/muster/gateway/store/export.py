"""The way back: every event in the log's order as JSON lines, and proof that they give the states.

An export with no gap makes the same log again, sequence by sequence (`muster.client.restore`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TextIO

import sqlalchemy as sa

from muster.contracts.events import UnreadableEvent, read_event
from muster.domain.edges import IllegalEdge
from muster.domain.evolve import fold
from muster.domain.state import JobState
from muster.gateway.store.tables import events, jobs

PAGE = 500


@dataclass(frozen=True, slots=True)
class Difference:
    """A job whose archived events do not give its archived state."""

    tenant: str
    job: str
    why: str


def export(connection: sa.Connection, out: TextIO) -> int:
    """Write every event as one JSON line, in the log's order. Returns how many.

    A line: seq, id, subject, recorded_at, and body, the event's text byte for byte.
    """
    columns = (events.c.seq, events.c.id, events.c.subject, events.c.recorded_at, events.c.body)
    query = sa.select(*columns).order_by(events.c.seq).execution_options(yield_per=PAGE)
    count = 0
    for row in connection.execute(query):
        line = {**row._asdict(), "recorded_at": row.recorded_at.isoformat()}
        out.write(json.dumps(line, ensure_ascii=False) + "\n")
        count += 1
    return count


def gaps(connection: sa.Connection) -> list[tuple[int, int]]:
    """Return the ranges of sequences (first, last) that the archive does not have, from 1 on."""
    found, expected = [], 1
    query = sa.select(events.c.seq).order_by(events.c.seq).execution_options(yield_per=PAGE)
    for seq in connection.scalars(query):
        if seq > expected:
            found.append((expected, seq - 1))
        expected = seq + 1
    return found


def check(connection: sa.Connection) -> Iterator[Difference]:
    """Fold every job's events again and compare with its state, job by job."""
    stored = {
        (row.tenant, row.job): row.state
        for row in connection.execute(sa.select(jobs.c.tenant, jobs.c.job, jobs.c.state))
    }
    query = (
        sa.select(events.c.tenant, events.c.job, events.c.subject, events.c.body)
        .where(events.c.job.is_not(None))
        .order_by(events.c.tenant, events.c.job, events.c.seq)
        .execution_options(yield_per=PAGE)
    )
    rows = connection.execute(query)
    for (tenant, job), own in groupby(rows, key=lambda row: (row.tenant, row.job)):
        why = _compare([(row.subject, row.body) for row in own], stored.pop((tenant, job), None))
        if why is not None:
            yield Difference(tenant, job, why)
    for tenant, job in stored:
        yield Difference(tenant, job, "a state without any event")


def _compare(own: list[tuple[str, str]], state: str | None) -> str | None:
    if state is None:
        return "events without a state"
    try:
        read = [read_event(subject, body.encode()) for subject, body in own]
        folded = fold((event.data.detail, event.time) for event in read)
    except (UnreadableEvent, IllegalEdge) as error:
        return str(error)
    if folded == JobState.model_validate_json(state):
        return None
    return "its events give another state"
