"""What the store says of machines, of the last minutes, and of failures that no rule knows."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from muster.domain.diagnosis import Blame
from muster.fault_tolerance.core.attributed import Attributed, Mark, Shared
from muster.fault_tolerance.core.suspicion import Fault, Histories, Stay
from muster.fault_tolerance.store import tables as t
from muster.fault_tolerance.store.failures import WINDOW, same_attempt
from muster.fault_tolerance.store.keeping import day

CLUSTERS = 100
"""Clusters of unknown failures that are told at once, the largest first."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Failures that no rule knows and that look alike. nodes: where, at most some dozens."""

    fingerprint: str
    failures: int
    jobs: int
    users: int
    first_at: datetime
    last_at: datetime
    nodes: tuple[str, ...]
    excerpt: str


def watermark(conn: Connection) -> tuple[int, datetime | None]:
    """Return what changes whenever a failure is kept or forgotten."""
    query = sa.select(sa.func.count(), sa.func.max(t.failures.c.at)).select_from(t.failures)
    count, newest = conn.execute(query).one()
    return int(count), newest


def histories(conn: Connection, now: datetime) -> Histories:
    """Return failures and attempts of every machine in the window."""
    faults: dict[str, list[Fault]] = defaultdict(list)
    c, blamed = t.failures.c, t.blamed
    query = sa.select(blamed.c.machine, c.tenant, c.job, c.user, c.at, c.rule, c.hard)
    joined = query.join_from(blamed, t.failures, same_attempt(blamed))
    for row in conn.execute(joined.where(blamed.c.at > now - WINDOW)):
        job, user = (row.tenant, row.job), (row.tenant, row.user)
        faults[row.machine].append(Fault(job, user, row.at, row.rule, row.hard))
    stays = _stays(conn, now)
    return {
        machine: (tuple(faults.get(machine, ())), tuple(stays.get(machine, ())))
        for machine in faults.keys() | stays.keys()
    }


def _stays(conn: Connection, now: datetime) -> dict[str, list[Stay]]:
    found: dict[str, list[Stay]] = defaultdict(list)
    c = t.stays.c
    query = sa.select(c.machine, c.day, sa.func.count()).where(c.at > now - WINDOW)
    for machine, number, count in conn.execute(query.group_by(c.machine, c.day)):
        found[machine].append((min(day(number), now), int(count)))
    return found


def recent(conn: Connection, since: datetime) -> tuple[Attributed, ...]:
    """Return the failures after an instant, with what they stood on, oldest first."""
    marks: dict[tuple[str, str, int], list[Mark]] = defaultdict(list)
    for row in conn.execute(sa.select(t.marks).where(t.marks.c.at > since)):
        marks[row.tenant, row.job, row.attempt].append(Mark(Shared(row.kind), row.name))
    query = sa.select(t.failures).where(t.failures.c.at > since).order_by(t.failures.c.at)
    return tuple(
        _attributed(row, marks[row.tenant, row.job, row.attempt]) for row in conn.execute(query)
    )


def _attributed(row: sa.Row[Any], marks: list[Mark]) -> Attributed:
    return Attributed(
        tenant=row.tenant,
        job=row.job,
        attempt=row.attempt,
        user=row.user,
        pool=row.pool,
        at=row.at,
        rule=row.rule,
        blame=Blame(row.blame),
        fingerprint=row.fingerprint,
        stage=row.stage,
        nodes=tuple(row.nodes),
        marks=tuple(sorted(marks)),
        hard=row.hard,
        gpu_hours=row.gpu_hours,
    )


def clusters(conn: Connection, limit: int = CLUSTERS) -> tuple[Cluster, ...]:
    """Return what no rule knows, by fingerprint: most jobs first."""
    c = t.failures.c
    jobs = sa.func.count(sa.distinct(c.tenant + "/" + c.job))
    users = sa.func.count(sa.distinct(c.tenant + "/" + c.user))
    query = (
        sa.select(
            c.fingerprint,
            sa.func.count().label("failures"),
            jobs.label("jobs"),
            users.label("users"),
            sa.func.min(c.at).label("first_at"),
            sa.func.max(c.at).label("last_at"),
        )
        .where(c.rule.is_(None), c.fingerprint != "")
        .group_by(c.fingerprint)
        .order_by(sa.desc("jobs"), sa.desc("last_at"))
        .limit(limit)
    )
    return tuple(_cluster(conn, row) for row in conn.execute(query).all())


def _cluster(conn: Connection, row: sa.Row[Any]) -> Cluster:
    c = t.failures.c
    last = (
        sa.select(c.nodes, c.excerpt)
        .where(c.rule.is_(None), c.fingerprint == row.fingerprint)
        .order_by(c.at.desc())
        .limit(_SHOWN)
    )
    found = conn.execute(last).all()
    excerpts = [one.excerpt for one in found if one.excerpt]
    return Cluster(
        fingerprint=row.fingerprint,
        failures=row.failures,
        jobs=row.jobs,
        users=row.users,
        first_at=row.first_at,
        last_at=row.last_at,
        nodes=tuple(sorted({node for one in found for node in one.nodes}))[:_SHOWN],
        excerpt=excerpts[0] if excerpts else "",
    )


_SHOWN = 32
