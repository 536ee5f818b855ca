"""A notice as a row of the ledger: all that it takes to tell it later, and nothing secret.

Its address is a name; the webhook behind it is resolved when it is sent. Called by the ledger.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from pydantic import TypeAdapter

from muster.notifier.core.delivery import DeliveryState, expiry
from muster.notifier.core.notice import AnyFacts, Notice, Trigger, facts_of

_FACTS: dict[Trigger, TypeAdapter[AnyFacts]] = {
    trigger: TypeAdapter(facts_of(trigger)) for trigger in Trigger
}


def to_row(notice: Notice) -> dict[str, object]:
    """Return the columns of a notice that nobody has tried to tell yet."""
    rule, subject, transition = notice.key
    return {
        "rule": rule,
        "job": subject,
        "transition": transition,
        "notice": notice.id,
        "tenant": notice.tenant,
        "trigger_name": notice.trigger.value,
        "language": notice.language,
        "channel": notice.channel,
        "address": notice.address,
        "version": notice.version,
        "facts": _FACTS[notice.trigger].dump_json(notice.facts).decode(),
        "state": DeliveryState.PENDING.value,
        "attempts": 0,
        "in_doubt": False,
        "set_aside": False,
        "code": "",
        "text": "",
        "happened_at": notice.at,
        "expires_at": expiry(notice),
    }


def from_row(row: sa.Row[Any]) -> Notice | None:
    """Return the stored notice; None if another version of this service wrote what we cannot read.

    A row that raised here would stop its address for a day.
    """
    try:
        trigger = Trigger(row.trigger_name)
        facts = _FACTS[trigger].validate_json(row.facts)
    except ValueError:
        return None
    return Notice(
        rule=row.rule,
        trigger=trigger,
        language="zh" if row.language == "zh" else "en",
        channel=row.channel,
        address=row.address,
        tenant=row.tenant,
        subject=row.job,
        transition=row.transition,
        version=row.version,
        at=row.happened_at,
        facts=facts,
    )
