"""Requests that were carried out, by their ids: told twice, each is carried out once.

Kept for a month, with the author; neither a webhook nor a secret is in it. Plain synchronous
functions over a connection; the caller owns the transaction. Called by the desk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from muster.contracts.notices import Done, NoticeRequest
from muster.domain.rules import violation
from muster.notifier import store
from muster.notifier.store import requests

KEPT = timedelta(days=30)
_HIDDEN = {"secret", "request"}


def once(
    conn: Connection,
    tenant: str,
    body: NoticeRequest,
    now: datetime,
    work: Callable[[], Done],
) -> Done:
    """Carry a request out, or return what came of it before. A refusal changes nothing."""
    store.rules_changed(conn)  # whoever writes rules holds this row: they write one after another
    mine = (requests.c.tenant == tenant, requests.c.request == body.request)
    digest = _digest(body)
    known = conn.execute(sa.select(requests.c.digest, requests.c.answer).where(*mine)).first()
    if known is not None:
        if known.digest != digest:
            reused = violation("E_REQUEST_REUSED", "$.request", request=body.request)
            return Done(violations=(reused,))
        return Done.model_validate_json(known.answer)
    done = work()
    if not done.violations:
        conn.execute(sa.delete(requests).where(requests.c.at < now - KEPT))
        conn.execute(
            sa.insert(requests).values(
                tenant=tenant,
                request=body.request,
                digest=digest,
                author=body.user,
                answer=done.model_dump_json(),
                at=now,
            )
        )
    return done


def _digest(body: NoticeRequest) -> str:
    """A signing secret may be short enough to be guessed from a digest, so it is left out."""
    text = f"{body.kind} {body.model_dump_json(exclude=_HIDDEN)}"
    return hashlib.sha256(text.encode()).hexdigest()
