"""A whole Muster in this process: server, services, record; until somebody wants it ended.

Called by `muster up`. The workers of jobs are processes of their own, and go on when this ends.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime

from muster.cli.stack import logfile, workers
from muster.cli.stack.folder import Up, this_process
from muster.cli.stack.nodes import describe
from muster.cli.stack.services import Choices, builders, host_settings
from muster.cli.stack.wishes import Wishes
from muster.cli.texts import say
from muster.runtime.host import Host
from muster.runtime.nats_server import EmbeddedServer, Happened, ServerNews
from muster.runtime.ports import LOOPBACK, free_port, is_free

Tell = Callable[[str], None]


class Stack:
    """start, then stop, which gives the claimed folder back. tell: says in a line what happens."""

    def __init__(self, wishes: Wishes, claimed: int, tell: Tell) -> None:
        self._wishes, self._folder, self._tell = wishes, wishes.folder, tell
        self._claimed: int | None = claimed
        self._host: Host | None = None
        self._how = Happened.STARTED
        self.server = EmbeddedServer(self._folder.nats, port=wishes.nats_port, tell=self._on_server)

    async def start(self) -> Up:
        """Have everything running. Raises CliError; what had been started is stopped again."""
        nodes = describe(self._wishes.nodes_file)
        up = this_process(datetime.now(UTC)).model_copy(update={"nodes": nodes})
        self._folder.write(up)
        logfile.log_to(self._folder.log, self._wishes.log_level)
        try:
            url = await self.server.start()
            port = await self._start_services(url)
        except BaseException:
            await self.stop()
            raise
        up = up.model_copy(
            update={
                "ready": True,
                "gateway": f"http://{LOOPBACK}:{port}",
                "health": self._health(),
                "nats": self._server_words(),
            }
        )
        self._folder.write(up)
        return up

    async def _start_services(self, url: str) -> int:
        port = self._gateway_port()
        choices = Choices(
            gateway_port=port,
            workdir=self._wishes.workdir,
            nodes_file=self._wishes.nodes_file,
            rules_file=self._wishes.rules_file,
        )
        self._host = Host(host_settings(self._folder.path, url), builders(choices))
        await self._host.start()
        return port

    def _gateway_port(self) -> int:
        wanted = self._wishes.gateway_port
        if wanted and is_free(wanted):
            return wanted
        instead = free_port()
        if wanted:
            self._tell(say("up.port_busy", port=wanted, instead=instead))
        return instead

    def _health(self) -> str:
        port = self._host.http_port if self._host is not None else None
        return f"http://{LOOPBACK}:{port}" if port else ""

    def _server_words(self) -> str:
        how = say(f"up.how.{self._how}")
        return say("up.nats.value", address=self.server.address, pid=self.server.pid, how=how)

    def _on_server(self, news: ServerNews) -> None:
        match news.what:
            case Happened.STARTED | Happened.ADOPTED:
                self._how = news.what
            case Happened.PORT_BUSY:
                self._tell(say("up.nats_port_busy", port=news.port))
            case Happened.DIED:
                self._tell(say("up.nats_died"))
            case Happened.RESTARTED:
                self._tell(say("up.nats_restarted", pid=news.pid))
            case Happened.RESTART_FAILED:
                self._tell(say("up.nats_restart_failed", detail=news.detail))

    async def stop(self) -> None:
        """Stop the services, then the server unless it is to be kept; say what goes on."""
        if self._host is not None:
            await self._host.stop()
        if self._wishes.keep_nats:
            await self.server.detach()
        else:
            await self.server.stop()
        if left := await workers.living(self._folder):
            self._tell(say("up.workers_go_on", count=len(left)))
        self._folder.forget()
        if self._claimed is not None:
            os.close(self._claimed)
            self._claimed = None
