"""Silences that people ask for: checked, kept and ended. Called by the desk, in its transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.engine import Connection

from muster.contracts.notices import AddSilence, Done, EndSilence
from muster.notifier import silencing
from muster.notifier.core.notice import Trigger
from muster.notifier.core.silences import Silence
from muster.notifier.findings import Findings

LONGEST = timedelta(days=90)
MOST_COMMENT = 500


@dataclass(frozen=True, slots=True)
class Muting:
    """now: of the request."""

    now: datetime

    def add(self, conn: Connection, tenant: str, body: AddSilence) -> Done:
        """Keep a silence, or return every violation."""
        find = Findings()
        start = body.start or self.now
        if not start < body.end or body.end <= self.now or body.end - start > LONGEST:
            find.add("E_SILENCE_TIME", "$.end", days=str(LONGEST.days))
        if not 1 <= len(body.comment.strip()) <= MOST_COMMENT:
            find.add("E_SILENCE_COMMENT", "$.comment", most=str(MOST_COMMENT))
        if not any((body.subject, body.rule, body.owner, body.triggers, body.labels)):
            find.add("E_SILENCE_MATCH", "$")
        triggers = tuple(_triggers(body, find))
        if find.violations:
            return Done(violations=tuple(find.violations))
        made = hashlib.sha256(f"{tenant}/{body.request}".encode()).hexdigest()[:10]
        silence = Silence(
            id=f"s-{made}",
            tenant=tenant,
            start=start,
            end=body.end,
            author=body.user,
            comment=body.comment.strip(),
            subject=body.subject,
            rule=body.rule,
            owner=body.owner,
            triggers=triggers,
            labels=tuple(sorted(body.labels.items())),
        )
        silencing.put(conn, silence)
        return Done(silence=silence.id, count=1)

    def end(self, conn: Connection, tenant: str, body: EndSilence) -> Done:
        """End a silence now."""
        if silencing.end(conn, tenant, body.silence, self.now):
            return Done(silence=body.silence, count=1)
        find = Findings()
        find.add("E_SILENCE_UNKNOWN", "$.silence", silence=body.silence)
        return Done(violations=tuple(find.violations))


def _triggers(body: AddSilence, find: Findings) -> Iterator[Trigger]:
    for index, name in enumerate(body.triggers):
        if find.choice(name, tuple(Trigger), f"$.triggers[{index}]"):
            yield Trigger(name)
