"""Wake, see whom to tell, store it. Called by the bus for every event that can tell something.

The event itself is the news, so nothing else is read but the rules. Nothing is sent here: a bot
that is slow or away would hold the message, and the few messages in flight are everybody's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from muster.bus import Trigger as Wake
from muster.contracts import subjects
from muster.notifier import ledger, store
from muster.notifier.core import reminders
from muster.notifier.core.notice import Lane, Notice, Trigger
from muster.notifier.core.rules import (
    TELLING,
    TELLING_OF_INCIDENTS,
    TELLING_OF_NODES,
    incident_notices,
    node_notices,
    notices_for,
    tellings,
)
from muster.notifier.core.ruleset import RuleSet
from muster.notifier.deliveries import report_ended
from muster.runtime.clock import Clock

if TYPE_CHECKING:
    import sqlalchemy as sa

    from muster.runtime.database import Database

Find = Callable[[RuleSet], tuple[Notice, ...]]


@dataclass(slots=True)
class Handlers:
    """Everything the notifier reacts to. stored: is told which lanes have something new to send."""

    database: Database
    clock: Clock
    stored: Callable[[set[Lane]], None]
    _rules: RuleSet = field(default_factory=RuleSet)
    _version: int = -1

    async def on_event(self, trigger: Wake) -> None:
        """Store one notice for each rule that names this event; twice is the same as once."""
        address = subjects.parse(trigger.subject)
        assert trigger.event is not None
        data, event, at = trigger.event.data, address.event, trigger.event.time
        match address.kind:
            case "job" if event in TELLING:
                await self._on_job(trigger, event)
            case "node" if event in TELLING_OF_NODES:
                find = partial(node_notices, event, data.node, at)
                await self._keep(lambda rules: find(rules.for_machines(Trigger.NODE_EXCLUDED)))
            case "incident" if event in TELLING_OF_INCIDENTS:
                told = partial(incident_notices, event, data.detail.incident, at)
                await self._keep(lambda rules: told(rules.for_machines(Trigger.INCIDENT)))

    async def _on_job(self, trigger: Wake, event: str) -> None:
        assert trigger.event is not None
        state, fact, at = trigger.event.data.job, trigger.event.data.detail, trigger.event.time
        if reminders.somebody_acted(event, state):
            work = partial(
                ledger.somebody_acted,
                tenant=state.tenant,
                subject=state.job,
                now=self.clock.now(),
            )
            report_ended(await self.database.run(work))
        told = tellings(event, state)
        if told:
            await self._keep(
                lambda rules: notices_for(event, state, fact, at, rules.for_job(state, told))
            )

    async def _keep(self, find: Find) -> None:
        lanes, ended = await self.database.run(partial(self._keep_in, find=find))
        report_ended(ended)
        self.stored(lanes)

    def _keep_in(
        self, connection: sa.Connection, *, find: Find
    ) -> tuple[set[Lane], list[ledger.Ended]]:
        """Find and store in one transaction, by the rules as any replica has made them."""
        version = store.rules_version(connection)
        if version != self._version:
            self._rules = RuleSet(store.load_rules(connection))
            self._version = version
        return ledger.keep(connection, find(self._rules), self.clock.now())
