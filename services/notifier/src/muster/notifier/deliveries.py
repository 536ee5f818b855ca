"""Tells what the ledger holds: one sender for each address, so that none waits for another.

The steps of the service's loops. A sender leases its lane, sends the oldest notice, settles it and
frees the lane. `look` finds what became due by itself (a retry, a restart, a replica that died);
the handler says at once what it has just stored. Awaits only the database and the channels, and
starts nothing of its own: the loops are the parallelism.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta, tzinfo
from functools import partial
from typing import TYPE_CHECKING

import structlog

from muster.notifier import ledger, metrics
from muster.notifier.channels.port import Address, Channel
from muster.notifier.core.cards import message
from muster.notifier.core.delivery import (
    LEFT,
    UNREADABLE,
    Delivery,
    DeliveryState,
    Verdict,
    decide,
)
from muster.notifier.core.notice import Lane, Notice
from muster.notifier.ledger import Claim
from muster.notifier.settings import MARGIN_S
from muster.runtime.clock import Clock

if TYPE_CHECKING:
    from muster.runtime.database import Database

_A_TURN, _A_SWEEP, _SWEEPS = 20, 500, 20
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Attempt:
    """What became of a claim."""

    claim: Claim
    verdict: Verdict
    delivery: Delivery


@dataclass(slots=True)
class Deliveries:
    """The senders and what they share. lease: of a lane. kept: how long settled rows stay."""

    database: Database
    clock: Clock
    channels: Mapping[str, Channel]
    addresses: Mapping[str, Address]
    zone: tzinfo
    lease: timedelta
    kept: timedelta
    _due: set[Lane] = field(default_factory=set)
    _open: dict[Lane, Attempt] = field(default_factory=dict)

    def wake(self, lanes: Iterable[Lane]) -> None:
        """Let the senders of these lanes look at their next turn."""
        self._due.update(lanes)

    async def look(self) -> None:
        """Wake the senders whose next notice is due."""
        self.wake(await self.database.run(partial(ledger.due, now=self.clock.now())))

    async def send(self, lane: Lane) -> None:
        """Send what is due on one lane, one after another, for one bounded turn."""
        await self._settle(lane)
        for _ in range(_A_TURN):
            if lane not in self._due or not await self._send_next(lane):
                return

    async def sweep(self) -> None:
        """End what is no news any more, forget what ended long ago, and count what waits."""
        await self._expire()
        before = self.clock.now() - self.kept
        await self.database.run(partial(ledger.forget, before=before, limit=_A_SWEEP))
        metrics.show_pending(self.channels, await self.database.run(ledger.pending))

    async def _send_next(self, lane: Lane) -> bool:
        """Send the next notice; False if there was none, or none may follow yet."""
        self._due.discard(lane)
        claim = await self._take(lane)
        if claim is None:
            return False
        self._open[lane] = attempt = await self._attempt(claim)
        await self._settle(lane)
        if attempt.verdict.state is not DeliveryState.PENDING:
            self._due.add(lane)
        return True

    async def _take(self, lane: Lane) -> Claim | None:
        """Claim the next notice; a claim that came too late for its lease to cover is not used."""
        begun = self.clock.monotonic()
        work = partial(ledger.take, lane=lane, now=self.clock.now(), lease=self.lease)
        claim = await self.database.run(work)
        return claim if self.clock.monotonic() - begun <= MARGIN_S else None

    async def _attempt(self, claim: Claim) -> Attempt:
        if claim.notice is None:
            return Attempt(claim, LEFT, UNREADABLE)
        delivery = await self._tell(claim.notice, claim.repeat)
        verdict = decide(delivery, claim.notice, claim.attempt, repeat=claim.repeat)
        return Attempt(claim, verdict, delivery)

    async def _tell(self, notice: Notice, repeat: bool) -> Delivery:
        address = self.addresses.get(notice.address)
        keywords = address.keywords if address else ()
        built = message(notice, self.zone, repeat=repeat, keywords=keywords)
        outside = self.clock.on_server(self.clock.now())  # a bot judges signatures by its own clock
        return await self.channels[notice.channel].send(address, built, outside)

    async def _settle(self, lane: Lane) -> None:
        """Write down what became of the lane's last attempt, if that is still to do.

        While the database is away this raises, and the next turn begins here: what was sent and is
        remembered need not be sent again.
        """
        attempt = self._open.get(lane)
        if attempt is None:
            return
        work = partial(
            ledger.settle,
            claim=attempt.claim,
            verdict=attempt.verdict,
            delivery=attempt.delivery,
            now=self.clock.now(),
        )
        written = await self.database.run(work)
        del self._open[lane]
        self._report(attempt, written=written)

    async def _expire(self) -> None:
        for _ in range(_SWEEPS):
            work = partial(ledger.expire, now=self.clock.now(), lease=self.lease, limit=_A_SWEEP)
            ended = await self.database.run(work)
            report_ended(ended, "stale")
            if len(ended) < _A_SWEEP:
                return

    def _report(self, attempt: Attempt, *, written: bool) -> None:
        claim, state = attempt.claim, attempt.verdict.state
        outcome = "retry" if state is DeliveryState.PENDING else state.value
        if written:
            metrics.NOTICES.labels(claim.lane.channel, outcome).inc()
        address = self.addresses.get(claim.lane.key)
        rule, job, transition = claim.key
        failed = state in {DeliveryState.FAILED, DeliveryState.UNKNOWN}
        (_log.warning if failed else _log.info)(
            "notice",
            notice=claim.notice.id if claim.notice else "",
            rule=rule,
            job=job,
            transition=transition,
            state=state.value,
            code=attempt.delivery.code,
            why=attempt.delivery.text,
            attempt=claim.attempt,
            overtaken=not written,
            address=address.label if address else "",
        )


def report_ended(ended: Iterable[Lane], outcome: str) -> None:
    """Count and log notices that ended without a further attempt; each is in the ledger."""
    for channel, count in Counter(lane.channel for lane in ended).items():
        metrics.NOTICES.labels(channel, outcome).inc(count)
        _log.warning("notices not told", why=outcome, channel=channel, count=count)
