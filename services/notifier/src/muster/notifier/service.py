"""The composition root of the notifier."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import sqlalchemy as sa

from muster.domain.edges import Owner
from muster.notifier import rulebook, store
from muster.notifier.addressbook import from_machine
from muster.notifier.channels.feishu import FeishuChannel
from muster.notifier.channels.log import LogChannel
from muster.notifier.channels.port import Channel
from muster.notifier.handlers import Handlers
from muster.notifier.rulebook import Rulebook
from muster.notifier.settings import NotifierSettings
from muster.notifier.stream import subscriptions
from muster.runtime.clock import Clock
from muster.runtime.database import Database, migrate
from muster.runtime.process import run
from muster.runtime.service import Runtime, Service

MIGRATIONS = Path(__file__).parent / "migrations"


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
    handlers = Handlers(
        database=database,
        clock=runtime.clock,
        channels=channels,
        addresses=book.addresses,
        zone=settings.zone,
        lease=settings.claim_lease,
    )
    return Service(
        owner=Owner.NOTIFIER,
        subscriptions=subscriptions(handlers),
        start=partial(_start, handlers, book, runtime.clock),
        stop=partial(_stop, database, channels),
        ready=partial(_ready, database),
    )


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
    handlers.rules = await handlers.database.run(
        partial(store.put_rules, wanted=book.rules, now=clock.now())
    )


def _migrate(connection: sa.Connection) -> None:
    # migrations open a transaction of their own; `run` lends its thread, and a world its gate
    migrate(connection.engine, MIGRATIONS, Owner.NOTIFIER.value)


async def _stop(database: Database, channels: Mapping[str, Channel]) -> None:
    for channel in channels.values():
        await channel.close()
    database.close()


async def _ready(database: Database) -> None:
    await database.run(lambda connection: connection.execute(sa.text("SELECT 1")))


def main() -> None:
    """Run notifier as a process of its own."""
    run(Owner.NOTIFIER, build)


if __name__ == "__main__":
    main()
