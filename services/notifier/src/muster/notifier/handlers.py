"""Wake, see whom to tell, store it. Called by the bus for every event of a job.

The event itself is the news, so nothing else is read. Nothing is sent here: a bot that is slow or
away would hold the message, and the few messages in flight are everybody's. `deliveries` sends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from muster.bus import Trigger
from muster.contracts import subjects
from muster.notifier import ledger
from muster.notifier.core.notice import Lane
from muster.notifier.core.rules import Rule, notices_for

if TYPE_CHECKING:
    from muster.runtime.database import Database


@dataclass(slots=True)
class Handlers:
    """Everything the notifier reacts to. stored: is told which lanes have something new to send.

    rules: filled at start, before the first message.
    """

    database: Database
    stored: Callable[[set[Lane]], None]
    rules: tuple[Rule, ...] = field(default=())

    async def on_job(self, trigger: Trigger) -> None:
        """Store one notice for each rule that names this event; twice is the same as once."""
        assert trigger.event is not None
        event = subjects.parse(trigger.subject).event
        notices = notices_for(event, trigger.event.data.job, self.rules)
        if notices:
            self.stored(await self.database.run(partial(ledger.keep, notices=notices)))
