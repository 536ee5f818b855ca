"""A notice as a row of the ledger: all that it takes to tell it later, and nothing secret.

Its address is a name; the webhook behind it is resolved when it is sent. Called by the ledger.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from pydantic import TypeAdapter

from muster.notifier.core.choosing import Group, Waiting
from muster.notifier.core.delivery import DeliveryState, Form, expiry
from muster.notifier.core.notice import (
    AnyFacts,
    Facts,
    Kind,
    Language,
    Notice,
    Trigger,
    facts_of,
)
from muster.notifier.core.silences import Matter
from muster.notifier.store import deliveries as rows

_FACTS: dict[Trigger, TypeAdapter[Any]] = {
    trigger: TypeAdapter(facts_of(trigger)) for trigger in Trigger
}

OF_WAITING = tuple(
    rows.c[name]
    for name in (
        "rule",
        "subject",
        "transition",
        "tenant",
        "trigger_name",
        "kind",
        "language",
        "owner",
        "labels",
        "happened_at",
        "version",
        "stored_at",
        "due_at",
        "next_attempt_at",
        "parcel",
        "set_aside",
    )
)
"""The columns that `waiting_of` reads."""


def to_row(notice: Notice, now: datetime) -> dict[str, object]:
    """Return the columns of a notice that nobody has tried to tell yet."""
    rule, subject, transition = notice.key
    facts = notice.facts
    of_job = facts if isinstance(facts, Facts) else None
    return {
        "rule": rule,
        "subject": subject,
        "transition": transition,
        "notice": notice.id,
        "tenant": notice.tenant,
        "trigger_name": notice.trigger.value,
        "kind": notice.kind.value,
        "language": notice.language,
        "channel": notice.channel,
        "address": notice.address,
        "lane": notice.label,
        "version": notice.version,
        "owner": of_job.owner if of_job else "",
        "labels": json.dumps(dict(of_job.labels) if of_job else {}, ensure_ascii=False),
        "facts": _FACTS[notice.trigger].dump_json(facts).decode(),
        "state": DeliveryState.PENDING.value,
        "form": Form.CARD.value,
        "attempts": 0,
        "in_doubt": False,
        "set_aside": False,
        "code": "",
        "text": "",
        "happened_at": notice.at,
        "stored_at": now,
        "due_at": notice.due,
        "expires_at": expiry(notice),
    }


def from_row(row: sa.Row[Any]) -> Notice | None:
    """Return the stored notice; None if another version of this service wrote what we cannot read.

    A row that raised here would stop its address for a day.
    """
    try:
        trigger = Trigger(row.trigger_name)
        kind = Kind(row.kind)
        facts: AnyFacts = _FACTS[trigger].validate_json(row.facts)
    except ValueError:
        return None
    return Notice(
        rule=row.rule,
        trigger=trigger,
        language=_language(row.language),
        channel=row.channel,
        address=row.address,
        tenant=row.tenant,
        subject=row.subject,
        transition=row.transition,
        version=row.version,
        at=row.happened_at,
        facts=facts,
        kind=kind,
        due=row.due_at,
        label=row.lane,
    )


def waiting_of(row: sa.Row[Any]) -> Waiting | None:
    """Return a pending row as the chooser sees it; None if it is of another version."""
    try:
        trigger, kind = Trigger(row.trigger_name), Kind(row.kind)
    except ValueError:
        return None
    return Waiting(
        key=(row.rule, row.subject, row.transition),
        group=Group(trigger, kind, _language(row.language)),
        matter=Matter(
            tenant=row.tenant,
            subject=row.subject,
            rule=row.rule,
            trigger=trigger,
            owner=row.owner,
            labels=tuple(sorted(json.loads(row.labels).items())),
        ),
        at=row.happened_at,
        version=row.version,
        stored_at=row.stored_at,
        due=row.due_at,
        again_at=row.next_attempt_at,
        parcel=row.parcel,
        set_aside=row.set_aside,
    )


def _language(text: str) -> Language:
    return "zh" if text == "zh" else "en"
