"""Tells what the ledger holds: a pool of senders, and no address waits for another.

The steps of the service's loops. A sender takes a lane that is due and free, leases it, sends one
message, settles it and takes the next. `look` finds what became due by itself (a retry, a restart,
a replica that died); the handler says at once what it has just stored. Awaits only the database and
the channels, and starts nothing of its own: the loops are the parallelism.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import structlog

from muster.notifier import ledger, metrics, silencing
from muster.notifier.channels.port import Address, Channel
from muster.notifier.channels.requests import request
from muster.notifier.core.choosing import AS_USUAL, Pace
from muster.notifier.core.delivery import (
    Attempt,
    Delivery,
    DeliveryState,
    Fault,
    Verdict,
    decide,
)
from muster.notifier.core.message import Message
from muster.notifier.core.notice import Lane
from muster.notifier.ledger import Claim, Taken
from muster.notifier.settings import MARGIN_S
from muster.runtime.clock import Clock

if TYPE_CHECKING:
    import sqlalchemy as sa

    from muster.runtime.database import Database

_A_TURN, _A_SWEEP, _SWEEPS = 20, 500, 20
_LOOK_AGAIN = timedelta(seconds=2)
"""What another replica has stored is seen after so long, whatever this one was told to wait for."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a claim."""

    claim: Claim
    verdict: Verdict
    delivery: Delivery


@dataclass(slots=True)
class Deliveries:
    """The senders and what they share. lease: of a lane. kept: how long settled rows stay.

    build: puts a claim into a message for its address. addresses: by name, as they are now.
    """

    database: Database
    clock: Clock
    channels: Mapping[str, Channel]
    addresses: Callable[[str], Address | None]
    build: Callable[[Claim, Address | None], Message]
    lease: timedelta
    kept: timedelta
    pace: Pace = AS_USUAL
    learn: Callable[[sa.Connection, Lane], None] = lambda connection, lane: None
    _due: dict[Lane, datetime] = field(default_factory=dict)
    _busy: set[Lane] = field(default_factory=set)
    _open: dict[Lane, Tried] = field(default_factory=dict)

    def wake(self, lanes: Iterable[Lane]) -> None:
        """Let a sender look at these lanes at its next turn."""
        now = self.clock.now()
        self._due.update((lane, now) for lane in lanes)

    async def look(self) -> None:
        """Find the lanes whose next message is due."""
        now = self.clock.now()
        for lane in await self.database.run(partial(ledger.due, now=now)):
            self._due.setdefault(lane, now)

    async def send(self) -> None:
        """Send what is due on one lane after another, for one bounded turn."""
        for _ in range(_A_TURN):
            lane = self._next()
            if lane is None:
                return
            self._busy.add(lane)
            try:
                await self._send_on(lane)
            finally:
                self._busy.discard(lane)

    async def sweep(self) -> None:
        """End what is no news any more, forget what ended long ago, and count what waits."""
        await self._expire()
        now = self.clock.now()
        before = now - self.kept
        await self.database.run(partial(ledger.forget, before=before, limit=_A_SWEEP))
        waiting = await self.database.run(partial(ledger.pending, now=now))
        metrics.show_pending(self.channels, waiting)

    def _next(self) -> Lane | None:
        """Take the lane that has been due for longest and that no sender works on."""
        now = self.clock.now()
        free = [
            (at, lane) for lane, at in self._due.items() if at <= now and lane not in self._busy
        ]
        if not free:
            return None
        _, lane = min(free, key=lambda pair: (pair[0], pair[1].channel, pair[1].key))
        del self._due[lane]
        return lane

    async def _send_on(self, lane: Lane) -> None:
        """Send the lane's next message, or note until when there is none."""
        await self._settle(lane)
        taken = await self._take(lane)
        report_ended(taken.ended)
        now = self.clock.now()
        if taken.claim is not None:
            self._open[lane] = await self._try(taken.claim)
            await self._settle(lane)
            self._due.setdefault(lane, self.clock.now())
        elif taken.wait is not None:
            self._due.setdefault(lane, min(taken.wait, now + _LOOK_AGAIN))

    async def _take(self, lane: Lane) -> Taken:
        """Claim the next message; a claim that came too late for its lease to cover is not used."""
        begun = self.clock.monotonic()
        taken = await self.database.run(partial(self._take_in, lane=lane, now=self.clock.now()))
        if self.clock.monotonic() - begun <= MARGIN_S:
            return taken
        return Taken(ended=taken.ended)

    def _take_in(self, connection: sa.Connection, *, lane: Lane, now: datetime) -> Taken:
        channel = self.channels.get(lane.channel)
        if channel is None:
            return Taken()
        self.learn(connection, lane)
        return ledger.take(
            connection,
            lane,
            now,
            self.lease,
            self.pace,
            channel.limits,
            silencing.in_force(connection, now),
        )

    async def _try(self, claim: Claim) -> Tried:
        """Send it: one request. The receiver judges a signature by its own clock."""
        address = self.addresses(claim.notices[0].address)
        try:
            built = self.build(claim, address)
        except Exception as error:  # noqa: BLE001 - it would hold up its address for a day
            _log.exception("notice cannot be worded", notice=claim.parcel.id)
            return Tried(claim, Verdict(DeliveryState.DEAD), _unworded(error))
        at = self.clock.on_server(self.clock.now()) + timedelta(seconds=claim.lease.ahead)
        attempt = Attempt(
            parcel=claim.parcel.id,
            number=claim.number,
            urgent=claim.parcel.urgent,
            at=at,
            repeat=claim.repeat,
            form=claim.form,
            last_code=claim.last_code,
            failures=claim.lease.failures,
            probe=claim.parcel.probe,
            keywords=bool(address and address.keywords),
            ahead=claim.lease.ahead,
        )
        channel = self.channels[claim.lane.channel]
        delivery = await request(channel, address, built, at, claim.form)
        return Tried(claim, decide(delivery, attempt), delivery)

    async def _settle(self, lane: Lane) -> None:
        """Write down what became of the lane's last attempt, if that is still to do.

        While the database is away this raises, and the next turn begins here: what was sent and is
        remembered need not be sent again.
        """
        tried = self._open.get(lane)
        if tried is None:
            return
        work = partial(
            ledger.settle,
            claim=tried.claim,
            verdict=tried.verdict,
            delivery=tried.delivery,
            now=self.clock.now(),
        )
        try:
            written = await self.database.run(work)
        except BaseException:
            self._due.setdefault(lane, self.clock.now())
            raise
        del self._open[lane]
        self._report(tried, written=written)

    async def _expire(self) -> None:
        for _ in range(_SWEEPS):
            work = partial(ledger.expire, now=self.clock.now(), lease=self.lease, limit=_A_SWEEP)
            ended = await self.database.run(work)
            report_ended(ended)
            if len(ended) < _A_SWEEP:
                return

    def _report(self, tried: Tried, *, written: bool) -> None:
        claim, state = tried.claim, tried.verdict.state
        outcome = "retry" if state is DeliveryState.PENDING else state.value
        metrics.tried(claim.lane.channel, tried.delivery.fault)
        if written:
            for notice in claim.notices:
                metrics.ended(claim.lane.channel, notice.trigger, outcome)
        failed = state in {DeliveryState.DEAD, DeliveryState.UNKNOWN}
        (_log.warning if failed else _log.info)(
            "notice",
            notice=claim.parcel.id,
            rule=claim.notices[0].rule,
            subject=claim.notices[0].subject,
            transition=claim.notices[0].transition,
            lines=len(claim.notices),
            state=state.value,
            code=tried.delivery.code,
            why=tried.delivery.text,
            attempt=claim.number,
            overtaken=not written,
            address=claim.lane.key,
        )


def _unworded(error: Exception) -> Delivery:
    return Delivery(Fault.REFUSED, "unworded", type(error).__name__)


def report_ended(ended: Iterable[ledger.Ended]) -> None:
    """Count and log notices that ended without a further attempt; each is in the ledger."""
    for each in ended:
        metrics.ended(each.channel, each.trigger, each.state)
        _log.warning("notice not told", why=each.state, channel=each.channel, trigger=each.trigger)
