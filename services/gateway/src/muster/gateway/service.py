"""The composition root of the gateway."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from muster.domain.edges import Owner
from muster.gateway.follow import Follow
from muster.gateway.handlers import Handlers
from muster.gateway.hub import Hub
from muster.gateway.readiness import Readiness
from muster.gateway.reading import Reading
from muster.gateway.settings import GatewaySettings
from muster.gateway.stream import subscriptions
from muster.runtime.database import Database, upgrade
from muster.runtime.journal import Journal
from muster.runtime.process import run
from muster.runtime.service import Loop, Runtime, Service

if TYPE_CHECKING:
    from muster.gateway.http.server import HttpServer

MIGRATIONS = Path(__file__).parent / "migrations"
HAND_OVER_S = 1.0


def build(runtime: Runtime, settings: GatewaySettings | None = None) -> Service:
    """Put the gateway together over a runtime. With `http` off nothing of HTTP is imported."""
    settings = settings or GatewaySettings()
    url = settings.database_url.get_secret_value() if settings.database_url else None
    database = runtime.database(Owner.GATEWAY, url)
    hub = Hub(settings.stream_replay)
    follow = Follow(runtime.log, hub, settings.follow_wait_s)
    journal = Journal(Owner.GATEWAY, runtime.log, runtime.clock, runtime.ids)
    handlers = Handlers(journal, database, follow.view, settings)
    readiness = Readiness(runtime.log, runtime.bus, database, follow, runtime.clock, settings.lag_s)
    server = _server(runtime, settings, database, follow, hub, readiness)
    return Service(
        owner=Owner.GATEWAY,
        subscriptions=subscriptions(handlers),
        loops=(
            Loop("follow", follow.step, settings.follow_s),
            Loop("hand_over", handlers.hand_over, HAND_OVER_S),
            Loop("sweep", handlers.sweep, settings.sweep_s),
            Loop("trim", handlers.trim, settings.trim_s),
        ),
        start=partial(_start, database, server),
        stop=partial(_stop, database, follow, server),
        ready=partial(_ready, readiness, server),
    )


def _server(
    runtime: Runtime,
    settings: GatewaySettings,
    database: Database,
    follow: Follow,
    hub: Hub,
    readiness: Readiness,
) -> HttpServer | None:
    if not settings.http:
        return None
    from muster.gateway.http.app import create  # noqa: PLC0415 - not where HTTP is off
    from muster.gateway.http.server import HttpServer  # noqa: PLC0415
    from muster.gateway.http.surface import Surface  # noqa: PLC0415

    reading = Reading(runtime.log, database, follow.view)
    surface = Surface(reading, hub, readiness, runtime.bus, settings)
    return HttpServer(create(surface), hub, settings, runtime.state_dir)


async def _start(database: Database, server: HttpServer | None) -> None:
    await database.run(partial(upgrade, migrations=MIGRATIONS, name=Owner.GATEWAY.value))
    if server is not None:
        await server.start()


async def _stop(database: Database, follow: Follow, server: HttpServer | None) -> None:
    if server is not None:
        await server.stop()
    await follow.close()
    database.close()


async def _ready(readiness: Readiness, server: HttpServer | None) -> None:
    if server is not None:
        await server.ready()
    await readiness.ready()


def main() -> None:
    """Run the gateway as a process of its own."""
    run(Owner.GATEWAY, build)


if __name__ == "__main__":
    main()
