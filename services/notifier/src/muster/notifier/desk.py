"""Answers what people ask of the notifier: rules, tests, deliveries, silences, addresses.

Any replica answers, from the database; a change is in force for the next event on every one. No
answer holds a webhook or a secret. Called by the bus.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import sqlalchemy as sa
from pydantic import ValidationError

from muster.bus import Question
from muster.contracts import notices as n
from muster.contracts import subjects
from muster.contracts.events import first_error
from muster.domain.errors import Permanent
from muster.notifier import booking, ledger, silencing, store, views
from muster.notifier.addresses import Addresses, reseal
from muster.notifier.booking import Booking
from muster.notifier.core.notice import Lane
from muster.notifier.deliveries import report_ended
from muster.notifier.findings import Findings
from muster.notifier.muting import Muting
from muster.notifier.requesting import once
from muster.notifier.store import rules
from muster.notifier.trying import Trying
from muster.runtime.clock import Clock
from muster.runtime.ids import Ids

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from muster.runtime.database import Database

_LATELY = timedelta(days=7)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Desk:
    """Answers `notices.>`. stored: is told which lanes have something to send again."""

    database: Database
    clock: Clock
    ids: Ids
    addresses: Addresses
    bookings: Booking
    trying: Trying
    stored: Callable[[set[Lane]], None]

    async def answer(self, question: Question) -> bytes:
        """Answer one question. Raises Permanent for one that is none, Temporary for not now."""
        tenant, body = _read(question)
        match body:
            case n.TestRule(rule=rule):
                answer: n.NoticeAnswer = await self._test(tenant, rule)
            case n.NoticeRequest():
                answer = await self._carry_out(tenant, body)
            case _:
                answer = await self.database.run(partial(self._look, tenant=tenant, body=body))
        return answer.model_dump_json().encode()

    def _look(
        self, connection: Connection, *, tenant: str, body: n.NoticeQuestion
    ) -> n.NoticeAnswer:
        now, of_file = self.clock.now(), self.addresses.of_file
        match body:
            case n.AskRules(rule=rule):
                return n.RuleViews(rules=views.rule_views(connection, tenant, of_file, rule))
            case n.AskDeliveries():
                return views.delivery_views(connection, tenant, body)
            case n.AskLanes():
                return n.LaneViews(lanes=views.lane_views(connection, tenant, of_file, now))
            case n.AskSilences(ended=ended):
                found = silencing.known(connection, tenant, now - _LATELY if ended else now)
                return n.SilenceViews(silences=tuple(map(views.silence_view, found)))
            case _:
                raise Permanent(f"nobody answers {body.kind} here")

    async def _carry_out(self, tenant: str, body: n.NoticeRequest) -> n.Done:
        lanes: set[Lane] = set()
        ended: list[ledger.Ended] = []

        def work(connection: Connection) -> n.Done:
            now = self.clock.now()
            return once(
                connection,
                tenant,
                body,
                now,
                lambda: self._change(connection, tenant, body, lanes, ended),
            )

        done = await self.database.run(work)
        report_ended(ended)
        self.stored(lanes)
        return done

    def _change(
        self,
        connection: Connection,
        tenant: str,
        body: n.NoticeRequest,
        lanes: set[Lane],
        ended: list[ledger.Ended],
    ) -> n.Done:
        now = self.clock.now()
        match body:
            case n.AddRule():
                return self.bookings.add(connection, tenant, body, now)
            case n.OfRule():
                changed = booking.change(connection, tenant, body, now)
                ended += changed.ended
                return changed.done
            case n.Replay():
                return _replay(connection, tenant, body, lanes, self.clock)
            case n.AddSilence():
                return Muting(now).add(connection, tenant, body)
            case n.EndSilence():
                return Muting(now).end(connection, tenant, body)
            case n.Rotate():
                return self._rotate(connection, tenant)
            case _:
                raise Permanent(f"nobody carries {body.kind} out here")

    def _rotate(self, connection: Connection, tenant: str) -> n.Done:
        if self.addresses.vault is None:
            return _refused("E_RULE_KEY", "$")
        return n.Done(count=reseal(connection, tenant, self.addresses.vault))

    async def _test(self, tenant: str, rule: str) -> n.Tested:
        row = await self.database.run(partial(_rule_row, tenant=tenant, rule=rule))
        if row is None:
            refused = _refused("E_RULE_UNKNOWN", "$.rule", rule=rule)
            return n.Tested(rule=rule, sent=False, delivered=False, violations=refused.violations)
        return await self.trying.test(store.rule_of(row), f"test-{self.ids()}")


def _rule_row(
    connection: Connection, *, tenant: str, rule: str
) -> sa.Row[tuple[object, ...]] | None:
    mine = (rules.c.tenant == tenant, rules.c.id == rule, ~rules.c.removed)
    return connection.execute(sa.select(rules).where(*mine)).first()


def _replay(
    connection: Connection, tenant: str, body: n.Replay, lanes: set[Lane], clock: Clock
) -> n.Done:
    if body.rule is None and body.notice is None:
        return _refused("E_REPLAY", "$")
    found = ledger.replay(
        connection, clock.now(), tenant=tenant, rule=body.rule, notice=body.notice
    )
    lanes |= found.lanes
    return n.Done(count=found.count)


def _refused(code: str, path: str, **values: str) -> n.Done:
    find = Findings()
    find.add(code, path, **values)
    return n.Done(violations=tuple(find.violations))


def _read(question: Question) -> tuple[str, n.NoticeQuestion]:
    address = subjects.parse(question.subject)
    model = n.NOTICE_QUESTIONS.get(address.event)
    if model is None:
        raise Permanent(f"no question is called {address.event!r}")
    try:
        return address.names[0], model.model_validate_json(question.body)
    except ValidationError as error:
        raise Permanent(f"question {address.event}: {first_error(error)}") from None
