"""A process that runs the services named on its command line, as `python -m` runs one of them."""

from __future__ import annotations

import asyncio
import importlib
import signal
import sys

from muster.domain.edges import Owner
from muster.runtime import telemetry
from muster.runtime.host import Host
from muster.runtime.settings import HostSettings


async def main(services: list[str]) -> None:
    """Run until SIGTERM."""
    telemetry.configure("fleet", "WARNING")
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    builders = [
        (Owner(name.replace("_", "-")), importlib.import_module(f"muster.{name}.service").build)
        for name in services
    ]
    host = Host(HostSettings(), builders)
    await host.start(provisioned=True)
    await stopping.wait()
    await host.stop()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
