"""One real message to a rule's address, at once: whether it gets through, and what is said if not.

Outside of the ledger, within the limits: it takes the lane as every message does, so it is never
sent beside another one, and what it learns of the address counts. An address that refuses
everything is tried, too: a person who has mended it need not wait for the next probe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from muster.contracts.notices import Tested
from muster.domain.errors import Temporary
from muster.notifier import lanes
from muster.notifier.addresses import Addresses
from muster.notifier.channels.port import Address, Channel
from muster.notifier.channels.requests import request
from muster.notifier.core.delivery import (
    Attempt,
    Delivery,
    Form,
    Outcome,
    Verdict,
    decide,
)
from muster.notifier.core.limits import opens_at
from muster.notifier.core.message import JsonObject, Message
from muster.notifier.core.notice import (
    AnyFacts,
    Facts,
    IncidentFacts,
    Lane,
    NodeFacts,
    Notice,
    Trigger,
)
from muster.notifier.core.rules import Rule
from muster.notifier.lanes import Lease
from muster.notifier.remedies import remedy
from muster.runtime.clock import Clock

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from muster.runtime.database import Database

_TEST = (
    "this is a test of a notification rule; nothing has happened",
    "这是一条通知规则的测试消息，没有发生任何变化",
)


@dataclass(frozen=True, slots=True)
class Trying:
    """Sends tests. build: puts a notice into a message for an address."""

    database: Database
    clock: Clock
    channels: Mapping[str, Channel]
    addresses: Addresses
    build: Callable[[Notice, Address | None], Message]
    lease: timedelta

    async def test(self, rule: Rule, number: str) -> Tested:
        """Send one message. Raises Temporary while somebody else sends there, or limits say so."""
        held = await self.database.run(partial(self._take, lane=Lane(rule.channel, rule.label)))
        address = self.addresses.find(rule.address)
        at = self.clock.on_server(self.clock.now()) + timedelta(seconds=held.ahead)
        message = _marked(self.build(_notice(rule, number, self.clock.now()), address), rule)
        delivery = await request(self.channels[rule.channel], address, message, at, Form.CARD)
        verdict = decide(delivery, _attempt(held, number, at, address))
        work = partial(self._report, held=held, verdict=verdict, delivery=delivery)
        await self.database.run(work)
        return _told(rule, delivery)

    def _take(self, connection: Connection, *, lane: Lane) -> Lease:
        now = self.clock.now()
        limits = self.channels[lane.channel].limits
        lanes.open_lanes(connection, {lane})
        held = lanes.lease(connection, lane, now, now + self.lease, limits)
        if held is None:
            raise Temporary("another message is just being sent there; ask again", delay=0.5)
        opens = opens_at(held.state.budget, limits, now)
        if opens > now:
            wait = (opens - now).total_seconds()
            raise Temporary(f"its limits allow the next message in {wait:.1f} s", delay=wait)
        self.addresses.learn(connection, lane)
        return lanes.spend(connection, held, now)

    def _report(
        self, connection: Connection, *, held: Lease, verdict: Verdict, delivery: Delivery
    ) -> None:
        lanes.report(connection, held, verdict.lane, delivery, "", self.clock.now())


def _attempt(held: Lease, number: str, at: datetime, address: Address | None) -> Attempt:
    return Attempt(
        parcel=number,
        number=1,
        urgent=False,
        at=at,
        failures=held.failures,
        probe=held.state.probe_at is not None,
        keywords=bool(address and address.keywords),
        ahead=held.ahead,
    )


def _told(rule: Rule, delivery: Delivery) -> Tested:
    delivered = delivery.outcome is Outcome.DELIVERED
    english, chinese = ("", "") if delivered else remedy(delivery.code)
    return Tested(
        rule=rule.id,
        sent=delivery.code != "address",
        delivered=delivered,
        code=delivery.code,
        text=delivery.text,
        remedy=english,
        remedy_zh=chinese,
    )


def _marked(built: Message, rule: Rule) -> Message:
    """Say first of all that nothing has happened."""
    said = _TEST[1 if rule.language == "zh" else 0]
    line: JsonObject = {"tag": "div", "text": {"tag": "plain_text", "content": said}}
    body = built.card.get("body")
    elements = body.get("elements") if isinstance(body, Mapping) else None
    card = built.card
    if isinstance(body, Mapping) and isinstance(elements, list):
        card = {**card, "body": {**body, "elements": [line, *elements]}}
    document: JsonObject = {**built.document, "test": True}
    return Message(built.id, card, f"{said}\n{built.text}", document)


def _notice(rule: Rule, number: str, now: datetime) -> Notice:
    return Notice(
        rule=rule.id,
        trigger=rule.trigger,
        language=rule.language,
        channel=rule.channel,
        address=rule.address,
        tenant=rule.tenant,
        subject=number,
        transition="test",
        version=1,
        at=now,
        facts=_facts(rule),
        label=rule.label,
    )


def _facts(rule: Rule) -> AnyFacts:
    name = f"测试 {rule.id}" if rule.language == "zh" else f"test of {rule.id}"
    match rule.trigger:
        case Trigger.NODE_EXCLUDED:
            return NodeFacts(pool="test", node=name, why=_TEST)
        case Trigger.INCIDENT:
            return IncidentFacts(incident=name, name=name, kind="alike", why=_TEST)
        case _:
            return Facts(name, rule.owner, 0, 0, 0, 0, reason=_TEST)
