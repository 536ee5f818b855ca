"""Failures as they were judged: kept once each, counted by machine, fingerprint and place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from muster.domain.diagnosis import Blame
from muster.fault_tolerance.core.attributed import Attributed, Machine, Mark, Shared
from muster.fault_tolerance.core.failure import Elsewhere, NodeRecord
from muster.fault_tolerance.store import tables as t
from muster.runtime.database import insert_into

WINDOW = timedelta(days=28)
"""How far back a node's failures count."""
TOGETHER = timedelta(minutes=5)
"""How near to each other failures of several jobs are one thing."""
NEWEST = 8
"""Failures of a node that its record names."""

_OTHERS = (Blame.USER.value, Blame.DATA.value)
"""What a person did wrong says nothing about what several jobs stand on."""


def record(conn: Connection, failure: Attributed) -> bool:
    """Keep a judged failure; False if it was kept before: an attempt is judged once."""
    key = {"tenant": failure.tenant, "job": failure.job, "attempt": failure.attempt}
    row = {
        **key,
        "user": failure.user,
        "pool": failure.pool,
        "at": failure.at,
        "rule": failure.rule,
        "blame": failure.blame.value,
        "fingerprint": failure.fingerprint,
        "stage": failure.stage,
        "nodes": list(failure.nodes[:64]),
        "hard": failure.hard,
        "gpu_hours": failure.gpu_hours,
        "excerpt": failure.excerpt.replace("\x00", ""),
    }
    statement = insert_into(conn, t.failures).values(row).on_conflict_do_nothing()
    if conn.execute(statement.returning(t.failures.c.attempt)).first() is None:
        return False
    _all(conn, t.blamed, [{**key, **_blamed(failure, m)} for m in failure.machines])
    _all(
        conn,
        t.marks,
        [{**key, "kind": m.kind.value, "name": m.name, "at": failure.at} for m in failure.marks],
    )
    return True


def absolve(conn: Connection, mark: Mark, blames: Iterable[Blame], since: datetime) -> int:
    """Take the blame off the machines of recent failures that an incident explains.

    mark: what the incident is about. blames: that it explains. Returns of how many.
    """
    explained = (
        sa.select(t.failures.c.tenant, t.failures.c.job, t.failures.c.attempt)
        .join(t.marks, same_attempt(t.marks))
        .where(
            t.marks.c.kind == mark.kind.value,
            t.marks.c.name == mark.name,
            t.failures.c.at > since,
            t.failures.c.blame.in_([blame.value for blame in blames]),
        )
    )
    c = t.blamed.c
    mine = sa.tuple_(c.tenant, c.job, c.attempt).in_(explained)
    return conn.execute(sa.delete(t.blamed).where(mine)).rowcount


def exonerate(conn: Connection, failure: Attributed) -> int:
    """Hold a job's failures by the same rule against no machine; return of how many it was.

    What a machine itself reported stays held against it.
    """
    f, c = t.failures.c, t.blamed.c
    alike = f.rule == failure.rule if failure.rule else f.fingerprint == failure.fingerprint
    soft = sa.select(f.attempt).where(
        f.tenant == failure.tenant, f.job == failure.job, alike, sa.not_(f.hard)
    )
    mine = sa.and_(c.tenant == failure.tenant, c.job == failure.job, c.attempt.in_(soft))
    return conn.execute(sa.delete(t.blamed).where(mine)).rowcount


def records(
    conn: Connection,
    pool: str,
    machines: Iterable[Machine],
    now: datetime,
    *,
    besides: tuple[str, str] | None = None,
    suspected: Collection[str] = (),
) -> tuple[NodeRecord, ...]:
    """Return what is known of nodes from attributed failures of the last 28 days.

    besides: (tenant, job) whose own failures do not count. suspected: nodes under suspicion now, as
    the log has it. The order is that of `machines`.
    """
    asked = tuple(machines)
    found: dict[str, list[sa.Row[Any]]] = defaultdict(list)
    for row in conn.execute(_blamed_rows(pool, asked, now)):
        if (row.tenant, row.job) != besides:
            found[row.machine].append(row)
    return tuple(
        _node_record(m.node, found[m.identity(pool)], suspected=m.node in suspected) for m in asked
    )


def elsewhere(
    conn: Connection,
    failure: tuple[str, str],
    marks: Sequence[Mark],
    now: datetime,
    *,
    rule: str | None = None,
    fingerprint: str = "",
    incident: str | None = None,
) -> Elsewhere:
    """Return how many other jobs failed in the last minutes as this one did.

    failure: (tenant, job) that is being judged. The same rule or fingerprint counts; before either
    is known, every failure that nobody's own mistake explains and that shares a mark. shared: the
    marks that all of them have in common with this job. incident: the open one that this failure
    belongs to, if any.
    """
    rows = conn.execute(_recent(now, rule, fingerprint, marks))
    alike = [row for row in rows if (row.tenant, row.job) != failure]
    others = {(row.tenant, row.job): row for row in alike}
    common = _common(conn, list(others.values()), marks)
    return Elsewhere(
        jobs=len(others),
        users=len({(row.tenant, row.user) for row in others.values()}),
        incident=incident,
        shared=", ".join(f"{mark.kind.value} {mark.name}" for mark in common),
        nodes=_places(conn, alike),
    )


def _blamed(failure: Attributed, machine: Machine) -> dict[str, object]:
    return {
        "machine": machine.identity(failure.pool),
        "pool": failure.pool,
        "node": machine.node,
        "serial": machine.serial,
        "at": failure.at,
    }


def _all(conn: Connection, table: sa.Table, rows: list[dict[str, object]]) -> None:
    if rows:
        conn.execute(insert_into(conn, table).on_conflict_do_nothing(), rows)


def _blamed_rows(
    pool: str, machines: Sequence[Machine], now: datetime
) -> sa.Select[tuple[Any, ...]]:
    names = [machine.identity(pool) for machine in machines]
    query = sa.select(t.blamed.c.machine, t.failures.c.tenant, t.failures.c.job, *_TOLD).join_from(
        t.blamed, t.failures, same_attempt(t.blamed)
    )
    recent = t.blamed.c.at > now - WINDOW
    return query.where(t.blamed.c.machine.in_(names), recent).order_by(t.blamed.c.at.desc())


_TOLD = (t.failures.c.user, t.failures.c.rule, t.failures.c.at)


def same_attempt(table: sa.Table) -> sa.ColumnElement[bool]:
    """Return the condition that a row of `table` is about the same attempt as the failure."""
    mine = t.failures.c
    return sa.and_(
        table.c.tenant == mine.tenant, table.c.job == mine.job, table.c.attempt == mine.attempt
    )


def _node_record(node: str, rows: list[sa.Row[Any]], *, suspected: bool) -> NodeRecord:
    return NodeRecord(
        node=node,
        users=len({(row.tenant, row.user) for row in rows}),
        jobs=len({(row.tenant, row.job) for row in rows}),
        suspected=suspected,
        last=tuple((row.rule or "unknown", row.at) for row in rows[:NEWEST]),
    )


def _recent(
    now: datetime, rule: str | None, fingerprint: str, marks: Sequence[Mark]
) -> sa.Select[tuple[Any, ...]]:
    mine = t.failures.c
    query = sa.select(mine.tenant, mine.job, mine.attempt, mine.user).where(
        mine.at > now - TOGETHER
    )
    if rule is not None or fingerprint:
        alike = [mine.rule == rule] if rule is not None else []
        return query.where(sa.or_(*alike, *([mine.fingerprint == fingerprint] * bool(fingerprint))))
    names = [(mark.kind.value, mark.name) for mark in marks]
    standing = sa.tuple_(t.marks.c.kind, t.marks.c.name).in_(names)
    shares = sa.exists().where(same_attempt(t.marks), standing)
    return query.where(mine.blame.not_in(_OTHERS), shares)


def _places(conn: Connection, failures: Sequence[sa.Row[Any]]) -> tuple[str, ...]:
    """Return the nodes on which these failures showed."""
    keys = [(row.tenant, row.job, row.attempt) for row in failures]
    c = t.marks.c
    query = sa.select(c.name).where(
        c.kind == Shared.NODE.value, sa.tuple_(c.tenant, c.job, c.attempt).in_(keys)
    )
    return tuple(sorted(conn.execute(query.distinct()).scalars())) if keys else ()


def _common(
    conn: Connection, others: Sequence[sa.Row[Any]], marks: Sequence[Mark]
) -> tuple[Mark, ...]:
    if not others:
        return ()
    keys = [(row.tenant, row.job, row.attempt) for row in others]
    c = t.marks.c
    query = sa.select(c.kind, c.name, sa.func.count()).where(
        sa.tuple_(c.tenant, c.job, c.attempt).in_(keys)
    )
    counted = conn.execute(query.group_by(c.kind, c.name))
    everywhere = {(kind, name) for kind, name, count in counted if count == len(keys)}
    return tuple(mark for mark in marks if (mark.kind.value, mark.name) in everywhere)
