"""Serves the application in the event loop of the service, and tells where.

Called by the service's start and stop. Leaves signals alone: they are the host's.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import structlog
import uvicorn
from starlette.types import ASGIApp

from muster.domain.errors import Permanent, Temporary
from muster.gateway.hub import Hub
from muster.gateway.settings import GatewaySettings

STOP_S = 3
ADDRESS_FILE = "gateway.url"


class PortTaken(Permanent):
    """Somebody else listens there."""


class _Quiet(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them to the host."""
        yield


class HttpServer:
    """state_dir: where the address is written to, for programs on this machine."""

    def __init__(self, app: ASGIApp, hub: Hub, settings: GatewaySettings, state_dir: Path) -> None:
        self._app, self._hub, self._settings = app, hub, settings
        self._file = state_dir / ADDRESS_FILE
        self._server: _Quiet | None = None
        self._task: asyncio.Task[None] | None = None
        self.url = ""

    async def start(self) -> None:
        """Listen, and return when connections are accepted. Raises PortTaken."""
        bound = self._bind()
        host, port = bound.getsockname()[:2]
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        self._server = _Quiet(
            uvicorn.Config(
                self._app,
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                timeout_graceful_shutdown=STOP_S,
            )
        )
        self._task = asyncio.create_task(self._server.serve(sockets=[bound]), name="gateway http")
        while not self._server.started:
            if self._task.done():
                raise Permanent("the HTTP server ended at its start") from self._task.exception()
            await asyncio.sleep(0.01)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(self.url + "\n", encoding="utf-8")
        structlog.get_logger().info("gateway listens", url=self.url)

    def _bind(self) -> socket.socket:
        host, port = self._settings.host, self._settings.port
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        bound = socket.socket(family)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, port))
        except OSError as error:
            bound.close()
            raise PortTaken(
                f"{host}:{port} cannot be listened on ({error.strerror}): choose another port with"
                " MUSTER_GATEWAY_PORT, or 0 for a free one"
            ) from error
        return bound

    async def ready(self) -> None:
        """Raise Temporary when nothing is served any more."""
        if self._task is None or self._task.done():
            raise Temporary("the HTTP server has ended")

    async def stop(self) -> None:
        """End every stream with a word, finish what is being answered, stop listening."""
        self._hub.clear()
        server, task = self._server, self._task
        self._file.unlink(missing_ok=True)
        if server is None or task is None:
            return
        server.should_exit = True
        await asyncio.wait({task})
