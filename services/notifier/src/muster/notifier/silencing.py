"""Silences in the database. Plain synchronous functions; the caller owns the transaction."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from muster.notifier.core.notice import Trigger
from muster.notifier.core.silences import Silence
from muster.notifier.store import silences
from muster.runtime.database import insert_into


def in_force(conn: Connection, now: datetime) -> tuple[Silence, ...]:
    """Return the silences that hold now."""
    query = sa.select(silences).where(silences.c.starts_at <= now, silences.c.ends_at > now)
    return tuple(_silence(row) for row in conn.execute(query))


def known(conn: Connection, tenant: str, since: datetime) -> tuple[Silence, ...]:
    """Return a tenant's silences that hold, will hold, or ended after an instant."""
    query = sa.select(silences).where(silences.c.tenant == tenant, silences.c.ends_at > since)
    return tuple(_silence(row) for row in conn.execute(query.order_by(silences.c.starts_at)))


def put(conn: Connection, silence: Silence) -> None:
    """Write a silence; the same id again changes nothing."""
    matchers = {
        "subject": silence.subject,
        "rule": silence.rule,
        "owner": silence.owner,
        "triggers": [trigger.value for trigger in silence.triggers],
        "labels": dict(silence.labels),
    }
    values = {
        "id": silence.id,
        "tenant": silence.tenant,
        "matchers": json.dumps(matchers, ensure_ascii=False),
        "starts_at": silence.start,
        "ends_at": silence.end,
        "author": silence.author,
        "comment": silence.comment,
    }
    conn.execute(insert_into(conn, silences).values(values).on_conflict_do_nothing())


def end(conn: Connection, tenant: str, silence: str, now: datetime) -> bool:
    """End a silence now; False if there is none that still holds or will hold."""
    mine = (silences.c.tenant == tenant, silences.c.id == silence, silences.c.ends_at > now)
    return conn.execute(sa.update(silences).where(*mine).values(ends_at=now)).rowcount == 1


def _silence(row: sa.Row[Any]) -> Silence:
    matchers = json.loads(row.matchers)
    return Silence(
        id=row.id,
        tenant=row.tenant,
        start=row.starts_at,
        end=row.ends_at,
        author=row.author,
        comment=row.comment,
        subject=matchers["subject"],
        rule=matchers["rule"],
        owner=matchers["owner"],
        triggers=tuple(Trigger(name) for name in matchers["triggers"] if name in set(Trigger)),
        labels=tuple(sorted(matchers["labels"].items())),
    )
