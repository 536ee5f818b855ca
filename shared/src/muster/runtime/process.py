"""One service as a process of its own: what `python -m muster.<service>.service` runs.

The connection's inbox is `_INBOX_<service>`, as the server's permissions ask for. SIGTERM and
SIGINT end it gently; exit code 1 says that it could not start, with the reason in the log.
"""

from __future__ import annotations

import asyncio
import signal
import sys

import structlog

from muster.domain.edges import Owner
from muster.domain.errors import MusterError
from muster.runtime import telemetry
from muster.runtime.host import Builder, Host
from muster.runtime.settings import HostSettings


def run(owner: Owner, build: Builder) -> None:
    """Run one service until it is told to stop."""
    settings = HostSettings()
    telemetry.configure(owner.value, settings.log_level, settings.log_format)
    sys.exit(asyncio.run(_run(settings, owner, build)))


async def _run(settings: HostSettings, owner: Owner, build: Builder) -> int:
    log = structlog.get_logger().bind(service=owner.value)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    host = Host(settings, [(owner, build)])
    try:
        await host.start(provisioned=True)
    except MusterError as error:
        log.critical("cannot start", why=str(error))
        return 1
    log.info("started", http_port=host.http_port)
    await stopping.wait()
    log.info("stopping")
    await host.stop()
    return 0
