"""The composition root of the notifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

import sqlalchemy as sa

from muster.bus import Responder
from muster.bus.topology import NOTIFIER_QUESTIONS
from muster.domain.edges import Owner
from muster.notifier import lanes, ledger, metrics, rulebook, store
from muster.notifier.addressbook import from_machine
from muster.notifier.addresses import Addresses, Sealer
from muster.notifier.booking import Booking
from muster.notifier.channels.kinds import Means, kinds
from muster.notifier.channels.port import Address, Channel
from muster.notifier.core.cards import message
from muster.notifier.core.message import Message
from muster.notifier.core.notice import Lane, Notice
from muster.notifier.core.rules import Rule
from muster.notifier.core.wording import Look
from muster.notifier.deliveries import Deliveries, report_ended
from muster.notifier.desk import Desk
from muster.notifier.handlers import Handlers
from muster.notifier.rulebook import Rulebook
from muster.notifier.settings import NotifierSettings
from muster.notifier.stream import subscriptions
from muster.notifier.trying import Trying
from muster.notifier.vault import open_vault
from muster.runtime.clock import Clock
from muster.runtime.database import Database, migrate
from muster.runtime.process import run
from muster.runtime.service import Loop, Runtime, Service

MIGRATIONS = Path(__file__).parent / "migrations"
LOOK_S, SEND_S, SWEEP_S = 0.5, 0.1, 15.0
"""Seconds between two turns: a retry is late by the first, a new notice by the second at most."""


def build(
    runtime: Runtime,
    settings: NotifierSettings | None = None,
    *,
    book: Rulebook | None = None,
    channels: Mapping[str, Channel] | None = None,
    vault: Sealer | None = None,
) -> Service:
    """Put the notifier together over a runtime. Raises InvalidRules with every violation.

    book, channels and vault stand in for the rules file, the ways out and the keys; the simulation
    gives the first two, and keeps no addresses.
    """
    settings = settings or NotifierSettings()
    book = book if book is not None else load_rules(settings)
    if channels is None:
        channels = _channels(settings)
        vault = vault or open_vault(settings.key, settings.key_file, runtime.state_dir)
    url = settings.database_url.get_secret_value() if settings.database_url else None
    database = runtime.database(Owner.NOTIFIER, url)
    addresses = Addresses(book.addresses, vault)
    deliveries = Deliveries(
        database=database,
        clock=runtime.clock,
        channels=channels,
        addresses=addresses.find,
        build=partial(_message, look=Look(settings.zone, settings.links)),
        lease=settings.claim_lease,
        kept=settings.kept,
        pace=settings.pace,
        learn=addresses.learn,
    )
    handlers = Handlers(database, runtime.clock, deliveries.wake)
    desk = Desk(
        database=database,
        clock=runtime.clock,
        ids=runtime.ids,
        addresses=addresses,
        bookings=Booking(addresses, settings.allowlist),
        trying=Trying(
            database=database,
            clock=runtime.clock,
            channels=channels,
            addresses=addresses,
            build=partial(_test_message, look=Look(settings.zone, settings.links)),
            lease=settings.claim_lease,
        ),
        stored=deliveries.wake,
    )
    metrics.begin(channels)
    return Service(
        owner=Owner.NOTIFIER,
        subscriptions=subscriptions(handlers),
        responders=(Responder(NOTIFIER_QUESTIONS, desk.answer),),
        loops=_loops(deliveries, settings.senders),
        start=partial(_start, database, book, runtime.clock),
        stop=partial(_stop, database, channels),
        ready=partial(_ready, database),
    )


def _loops(deliveries: Deliveries, senders: int) -> tuple[Loop, ...]:
    """A pool of senders: an address that is slow keeps one of them, and no other address."""
    return (
        Loop("deliveries", deliveries.look, LOOK_S),
        *(Loop(f"sender-{n}", deliveries.send, SEND_S) for n in range(1, senders + 1)),
        Loop("ledger", deliveries.sweep, SWEEP_S),
    )


def _message(claim: ledger.Claim, address: Address | None, *, look: Look) -> Message:
    keywords = address.keywords if address else ()
    return message(
        claim.notices, replace(look, keywords=keywords, repeat=claim.repeat), claim.parcel.id
    )


def _test_message(notice: Notice, address: Address | None, *, look: Look) -> Message:
    keywords = address.keywords if address else ()
    return message((notice,), replace(look, keywords=keywords), notice.id)


def load_rules(settings: NotifierSettings) -> Rulebook:
    """Read the rules file; without one nobody is told anything by it."""
    if settings.rules_file is None:
        return Rulebook()
    text = settings.rules_file.read_text(encoding="utf-8")
    return rulebook.read(text, from_machine, settings.allowlist)


def _channels(settings: NotifierSettings) -> Mapping[str, Channel]:
    proxy = settings.proxy.get_secret_value() if settings.proxy else None
    means = Means(settings.allowlist, settings.send_timeout_s, proxy)
    return {name: kind.build(means) for name, kind in kinds().items()}


async def _start(database: Database, book: Rulebook, clock: Clock) -> None:
    await database.run(_migrate)
    report_ended(await database.run(partial(_put_in_force, book=book, now=clock.now())))


def _put_in_force(connection: sa.Connection, book: Rulebook, now: datetime) -> list[ledger.Ended]:
    wanted = [replace(rule, label=_label(rule, book)) for rule in book.rules]
    rules = store.put_rules(connection, wanted, now)
    lanes.open_lanes(connection, {Lane(rule.channel, rule.label) for rule in rules})
    return ledger.follow_rules(connection, now)


def _label(rule: Rule, book: Rulebook) -> str:
    address = book.addresses.get(rule.address)
    return address.label if address else rule.address


def _migrate(connection: sa.Connection) -> None:
    # migrations open a transaction of their own; `run` lends its thread, and a world its gate
    migrate(connection.engine, MIGRATIONS, Owner.NOTIFIER.value)


async def _stop(database: Database, channels: Mapping[str, Channel]) -> None:
    for channel in channels.values():
        await channel.close()
    await database.end()


async def _ready(database: Database) -> None:
    await database.run(lambda connection: connection.execute(sa.text("SELECT 1")))


def main() -> None:
    """Run notifier as a process of its own."""
    run(Owner.NOTIFIER, build)


if __name__ == "__main__":
    main()
