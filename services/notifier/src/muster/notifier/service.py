"""The composition root of the notifier."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from pathlib import Path

import sqlalchemy as sa

from muster.domain.edges import Owner
from muster.notifier import ledger, metrics, rulebook, store
from muster.notifier.addressbook import from_machine
from muster.notifier.channels.feishu import FeishuChannel
from muster.notifier.channels.log import LogChannel
from muster.notifier.channels.port import Channel
from muster.notifier.core.notice import Lane
from muster.notifier.core.rules import Rule
from muster.notifier.deliveries import Deliveries, report_ended
from muster.notifier.handlers import Handlers
from muster.notifier.rulebook import Rulebook
from muster.notifier.settings import NotifierSettings
from muster.notifier.stream import subscriptions
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
) -> Service:
    """Put the notifier together over a runtime. Raises InvalidRules with every violation.

    book and channels stand in for the rules file and the ways out; the simulation gives both.
    """
    settings = settings or NotifierSettings()
    book = book if book is not None else load_rules(settings)
    channels = channels if channels is not None else _channels(settings)
    url = settings.database_url.get_secret_value() if settings.database_url else None
    database = runtime.database(Owner.NOTIFIER, url)
    deliveries = Deliveries(
        database=database,
        clock=runtime.clock,
        channels=channels,
        addresses=book.addresses,
        zone=settings.zone,
        lease=settings.claim_lease,
        kept=settings.kept,
    )
    handlers = Handlers(database, deliveries.wake)
    metrics.begin(channels)
    return Service(
        owner=Owner.NOTIFIER,
        subscriptions=subscriptions(handlers),
        loops=_loops(deliveries, book),
        start=partial(_start, handlers, book, runtime.clock),
        stop=partial(_stop, database, channels),
        ready=partial(_ready, database),
    )


def _loops(deliveries: Deliveries, book: Rulebook) -> tuple[Loop, ...]:
    """One sender for each address that a rule names: what is slow is slow for itself alone."""
    lanes = sorted(_lanes(book), key=lambda lane: (lane.channel, lane.key))
    return (
        Loop("deliveries", deliveries.look, LOOK_S),
        *(
            Loop(f"sender-{number}", partial(deliveries.send, lane), SEND_S)
            for number, lane in enumerate(lanes, start=1)
        ),
        Loop("ledger", deliveries.sweep, SWEEP_S),
    )


def _lanes(book: Rulebook) -> set[Lane]:
    return {Lane(rule.channel, rule.address) for rule in book.rules}


def load_rules(settings: NotifierSettings) -> Rulebook:
    """Read the rules file; without one nobody is told anything."""
    if settings.rules_file is None:
        return Rulebook()
    text = settings.rules_file.read_text(encoding="utf-8")
    return rulebook.read(text, from_machine, settings.allowlist)


def _channels(settings: NotifierSettings) -> Mapping[str, Channel]:
    proxy = settings.proxy.get_secret_value() if settings.proxy else None
    feishu = FeishuChannel(settings.allowlist, timeout=settings.send_timeout_s, proxy=proxy)
    return {"feishu": feishu, "log": LogChannel()}


async def _start(handlers: Handlers, book: Rulebook, clock: Clock) -> None:
    await handlers.database.run(_migrate)
    work = partial(_put_in_force, book=book, now=clock.now())
    handlers.rules, withdrawn = await handlers.database.run(work)
    report_ended(withdrawn, "withdrawn")


def _put_in_force(
    connection: sa.Connection, book: Rulebook, now: datetime
) -> tuple[tuple[Rule, ...], list[Lane]]:
    rules = store.put_rules(connection, book.rules, now)
    ledger.open_lanes(connection, _lanes(book))
    return rules, ledger.follow_rules(connection, now)


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
