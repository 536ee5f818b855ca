"""Wake, see whom to tell, claim, send, settle. Called by the bus for every event of a job.

The event itself is the news, so nothing else is read. A notice is sent by whoever claims it; what
cannot be sent now comes again with its message. Between sending and settling a process may die:
then the notice is sent once more, with the same id in its footer (at least once, never lost).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from functools import partial
from typing import TYPE_CHECKING

import structlog

from muster.bus import Trigger
from muster.contracts import subjects
from muster.domain.errors import Temporary
from muster.notifier import store
from muster.notifier.channels.port import Address, Channel
from muster.notifier.core.cards import message
from muster.notifier.core.delivery import STALE, Delivery, DeliveryState, Verdict, decide, is_stale
from muster.notifier.core.notice import Notice
from muster.notifier.core.rules import Rule, notices_for
from muster.notifier.store import Claim, Standing
from muster.runtime.clock import Clock

if TYPE_CHECKING:
    from muster.runtime.database import Database

_SHORTEST_WAIT_S = 0.5
_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Handlers:
    """Everything the notifier reacts to. `rules` is filled at start, before the first message."""

    database: Database
    clock: Clock
    channels: Mapping[str, Channel]
    addresses: Mapping[str, Address]
    zone: tzinfo
    lease: timedelta
    rules: tuple[Rule, ...] = field(default=())

    async def on_job(self, trigger: Trigger) -> None:
        """Tell everybody whose rule names this event; come again for those not reached yet."""
        assert trigger.event is not None
        event = subjects.parse(trigger.subject).event
        notices = notices_for(event, trigger.event.data.job, self.rules)
        waits = [wait for notice in notices if (wait := await self._tell(notice)) is not None]
        if waits:
            later = max(_SHORTEST_WAIT_S, min(waits))
            raise Temporary(f"{len(waits)} of {len(notices)} notices not told yet", delay=later)

    async def _tell(self, notice: Notice) -> float | None:
        """Tell one; returns seconds until it is worth coming again, None when it is settled."""
        claim = await self._claim(notice)
        match claim.standing:
            case Standing.DONE:
                return None
            case Standing.BUSY:
                return claim.wait
            case Standing.OURS:
                return await self._attempt(notice, claim.attempt)

    async def _claim(self, notice: Notice) -> Claim:
        now = self.clock.now()
        return await self.database.run(
            partial(store.claim, notice=notice, now=now, lease=self.lease)
        )

    async def _attempt(self, notice: Notice, attempt: int) -> float | None:
        now = self.clock.now()
        delivery = STALE if is_stale(notice, now) else await self._send(notice, attempt, now)
        verdict = decide(delivery, notice, attempt)
        await self._settle(notice, attempt, verdict, delivery)
        self._report(notice, attempt, verdict, delivery)
        return verdict.wait

    async def _send(self, notice: Notice, attempt: int, now: datetime) -> Delivery:
        address = self.addresses.get(notice.address)
        keywords = address.keywords if address else ()
        built = message(notice, self.zone, attempt=attempt, keywords=keywords)
        return await self.channels[notice.channel].send(address, built, now)

    async def _settle(
        self, notice: Notice, attempt: int, verdict: Verdict, delivery: Delivery
    ) -> None:
        await self.database.run(
            partial(
                store.settle,
                notice=notice,
                attempt=attempt,
                state=verdict.state,
                delivery=delivery,
                now=self.clock.now(),
                wait=verdict.wait,
            )
        )

    def _report(self, notice: Notice, attempt: int, verdict: Verdict, delivery: Delivery) -> None:
        address = self.addresses.get(notice.address)
        failed = verdict.state in {DeliveryState.FAILED, DeliveryState.UNKNOWN}
        (_log.warning if failed else _log.info)(
            "notice",
            notice=notice.id,
            rule=notice.rule,
            job=notice.job,
            transition=notice.transition,
            state=verdict.state.value,
            code=delivery.code,
            why=delivery.text,
            attempt=attempt,
            address=address.label if address else "",
        )
