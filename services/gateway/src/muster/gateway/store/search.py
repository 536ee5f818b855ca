"""What is asked of the archive: jobs by filter, one job, its events, and what waits for a sweep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from muster.domain.phases import TERMINAL
from muster.domain.state import JobState
from muster.gateway.core.filters import JobFilter, Place
from muster.gateway.core.view import JobName, SeenJob
from muster.gateway.store.tables import events, jobs, labels


@dataclass(frozen=True, slots=True)
class KeptEvent:
    """One event of the archive, as it stood in the log."""

    seq: int
    id: str
    subject: str
    recorded_at: datetime
    body: str


def find_ended(
    connection: sa.Connection, wanted: JobFilter, before: Place | None, limit: int
) -> list[SeenJob]:
    """Return the jobs that have ended and match, newest first, from a place on (exclusive)."""
    query = (
        sa.select(jobs.c.state, jobs.c.seq)
        .where(jobs.c.phase.in_(sorted(TERMINAL)), *job_conditions(wanted))
        .order_by(jobs.c.submitted_at.desc(), jobs.c.tenant.desc(), jobs.c.job.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(_is_before(before))
    return [_seen(*row) for row in connection.execute(query)]


def find_changed(
    connection: sa.Connection, wanted: JobFilter, job: str | None, after: int, limit: int
) -> list[SeenJob]:
    """Return the ended jobs whose last event comes after a sequence, in the log's order."""
    query = (
        sa.select(jobs.c.state, jobs.c.seq)
        .where(jobs.c.phase.in_(sorted(TERMINAL)), jobs.c.seq > after, *job_conditions(wanted))
        .order_by(jobs.c.seq)
        .limit(limit)
    )
    if job is not None:
        query = query.where(jobs.c.job == job)
    return [_seen(*row) for row in connection.execute(query)]


def job_conditions(wanted: JobFilter) -> list[sa.ColumnElement[bool]]:
    """Return what a filter means in a statement over jobs."""
    equal = (
        (jobs.c.tenant, wanted.tenant),
        (jobs.c.user, wanted.user),
        (jobs.c.pool, wanted.pool),
    )
    conditions = [column == value for column, value in equal if value is not None]
    if wanted.phases:
        conditions.append(jobs.c.phase.in_(sorted(wanted.phases)))
    conditions.extend(_labelled(text) for text in wanted.labels)
    return conditions


def _labelled(text: str) -> sa.ColumnElement[bool]:
    mine = sa.and_(labels.c.tenant == jobs.c.tenant, labels.c.job == jobs.c.job)
    return sa.exists().where(mine, labels.c.text == text)


def _is_before(place: Place) -> sa.ColumnElement[bool]:
    row = sa.tuple_(jobs.c.submitted_at, jobs.c.tenant, jobs.c.job)
    return row < sa.tuple_(
        sa.literal(place.submitted_at, jobs.c.submitted_at.type),
        sa.literal(place.tenant),
        sa.literal(place.job),
    )


def _seen(state: str, seq: int) -> SeenJob:
    return SeenJob(JobState.model_validate_json(state), seq)


def job(connection: sa.Connection, tenant: str, name: str) -> SeenJob | None:
    """Return a job's last known state."""
    query = sa.select(jobs.c.state, jobs.c.seq).where(jobs.c.tenant == tenant, jobs.c.job == name)
    row = connection.execute(query).one_or_none()
    return None if row is None else _seen(*row)


def has(connection: sa.Connection, event: str) -> bool:
    """Tell whether an event of this id is there."""
    return connection.scalar(sa.select(events.c.seq).where(events.c.id == event)) is not None


def versions(connection: sa.Connection, tenant: str, name: str) -> list[int]:
    """Return which versions of a job are there, in order."""
    query = (
        sa.select(events.c.version)
        .where(events.c.tenant == tenant, events.c.job == name)
        .order_by(events.c.version)
    )
    return list(connection.scalars(query))


def job_events(connection: sa.Connection, tenant: str, name: str) -> list[KeptEvent]:
    """Return a job's events in the log's order."""
    query = (
        sa.select(events.c.seq, events.c.id, events.c.subject, events.c.recorded_at, events.c.body)
        .where(events.c.tenant == tenant, events.c.job == name)
        .order_by(events.c.seq)
    )
    return [KeptEvent(*row) for row in connection.execute(query)]


def unarchived_end(connection: sa.Connection, tenant: str, name: str) -> SeenJob | None:
    """Return a job that has ended and is not archived, as far as the archive knows."""
    query = sa.select(jobs.c.state, jobs.c.seq).where(
        jobs.c.tenant == tenant,
        jobs.c.job == name,
        jobs.c.phase.in_(sorted(TERMINAL)),
        jobs.c.archived.is_(False),
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else _seen(*row)


def count_versions(connection: sa.Connection, names: Iterable[JobName]) -> dict[JobName, int]:
    """Return how many different versions of each of some jobs are there."""
    query = (
        sa.select(events.c.tenant, events.c.job, sa.func.count(events.c.version.distinct()))
        .where(sa.tuple_(events.c.tenant, events.c.job).in_(list(names)))
        .group_by(events.c.tenant, events.c.job)
    )
    return {(tenant, job): count for tenant, job, count in connection.execute(query)}


def to_trim(connection: sa.Connection, ended_before: datetime, limit: int) -> Sequence[SeenJob]:
    """Return archived jobs whose events are all still in the log, the longest ended first."""
    query = (
        sa.select(jobs.c.state, jobs.c.seq)
        .where(
            jobs.c.archived.is_(True),
            jobs.c.trimmed.is_(False),
            jobs.c.ended_at <= ended_before,
        )
        .order_by(jobs.c.ended_at)
        .limit(limit)
    )
    return [_seen(*row) for row in connection.execute(query)]


def totals(connection: sa.Connection) -> tuple[int, int]:
    """Return how many events there are and the last sequence among them (0 = none)."""
    query = sa.select(sa.func.count(), sa.func.coalesce(sa.func.max(events.c.seq), 0))
    count, last = connection.execute(query.select_from(events)).one()
    return int(count), int(last)
