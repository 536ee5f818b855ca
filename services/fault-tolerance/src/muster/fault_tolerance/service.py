"""The composition root of fault tolerance."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import sqlalchemy as sa

from muster.bus import Responder
from muster.bus.topology import FAULT_JUDGEMENTS, FAULT_QUESTIONS
from muster.domain.edges import Owner
from muster.fault_tolerance.desk import Desk
from muster.fault_tolerance.handlers import Handlers
from muster.fault_tolerance.hanging.answers import Answers
from muster.fault_tolerance.hanging.asking import Asking
from muster.fault_tolerance.hanging.watching import Watching
from muster.fault_tolerance.judging.judging import Judging
from muster.fault_tolerance.judging.others import Others
from muster.fault_tolerance.judging.questions import Questions
from muster.fault_tolerance.lives import Lives
from muster.fault_tolerance.nodes import Nodes
from muster.fault_tolerance.rulebook import Rules
from muster.fault_tolerance.settings import FaultToleranceSettings
from muster.fault_tolerance.stream import subscriptions
from muster.fault_tolerance.surroundings import Surroundings
from muster.fault_tolerance.troubles import Troubles
from muster.runtime.database import Database, migrate
from muster.runtime.journal import Journal
from muster.runtime.known import WITH_INCIDENTS, Known
from muster.runtime.process import run
from muster.runtime.service import Loop, Runtime, Service

MIGRATIONS = Path(__file__).parent / "migrations"


def build(runtime: Runtime, settings: FaultToleranceSettings | None = None) -> Service:
    """Put fault tolerance together over a runtime."""
    settings = settings or FaultToleranceSettings()
    journal = Journal(Owner.FAULT_TOLERANCE, runtime.log, runtime.clock, runtime.ids)
    url = settings.database_url.get_secret_value() if settings.database_url else None
    database = runtime.database(Owner.FAULT_TOLERANCE, url)
    known = Known(runtime.log, WITH_INCIDENTS)
    around = Surroundings(known, database, runtime.clock, settings)
    troubles = Troubles(journal, database, around, settings)
    nodes = Nodes(journal, database, around, troubles, settings)
    rules = Rules(settings.rules_dir)
    rules.current()  # a fault in a site's rules is told now, and not at the first failure
    others = Others(around, troubles)
    judging = Judging(journal, Questions(runtime.bus), rules.current, others, runtime.aside)
    handlers = Handlers(journal, judging)
    watching = Watching(journal, Asking(runtime.bus), around, settings)
    return Service(
        owner=Owner.FAULT_TOLERANCE,
        subscriptions=subscriptions(handlers, Lives(known, database)),
        responders=(
            Responder(FAULT_QUESTIONS, Answers(journal, watching).answer),
            Responder(FAULT_JUDGEMENTS, Desk(around, database, runtime.clock).answer),
        ),
        loops=(
            Loop("deadlines", handlers.deadlines.step, settings.sweep_s),
            Loop("hangs", watching.step, settings.poll_s),
            Loop("incidents", troubles.sweep, settings.nodes_s),
            Loop("nodes", nodes.sweep, settings.nodes_s),
        ),
        start=partial(_start, database),
        stop=partial(_stop, known, database),
        ready=partial(_ready, database),
    )


async def _start(database: Database) -> None:
    await database.run(_migrate)


def _migrate(connection: sa.Connection) -> None:
    # migrations open a transaction of their own; `run` lends its thread, and a world its gate
    migrate(connection.engine, MIGRATIONS, Owner.FAULT_TOLERANCE.value)


async def _stop(known: Known, database: Database) -> None:
    await known.close()
    await database.end()


async def _ready(database: Database) -> None:
    await database.run(lambda connection: connection.execute(sa.text("SELECT 1")))


def main() -> None:
    """Run fault tolerance as a process of its own."""
    run(Owner.FAULT_TOLERANCE, build)


if __name__ == "__main__":
    main()
