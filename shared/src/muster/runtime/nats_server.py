"""The embedded server: one nats-server for one state folder, for `muster up`, the demo and tests.

The server outlives the process that started it, even one that is killed: the next `start()` on the
folder adopts it. There is never a second one on a store, whoever races. It listens on loopback and
asks for a token, so that nobody else on a shared machine reaches it.
Must not know streams or subjects. Called by composition roots and by the tests' fixtures.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from muster.domain.errors import MusterError, Temporary
from muster.runtime.nats_binary import find_binary
from muster.runtime.nats_folder import Record, ServerFolder
from muster.runtime.nats_process import is_healthy, signal_server, spawn
from muster.runtime.ports import LOOPBACK, free_port, is_free
from muster.runtime.processes import is_running, start_mark

START_SECONDS = 60.0  # a large store is read back before the server calls itself healthy
STOP_SECONDS = 10.0
POLL_SECONDS = 0.05
WATCH_SECONDS = 0.25
STEADY_SECONDS = 30.0  # after that long the next death counts as the first
BACKOFF_SECONDS = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0)
PORT_TRIES = 5


class Happened(StrEnum):
    STARTED = "started"
    ADOPTED = "adopted"
    PORT_BUSY = "port_busy"
    DIED = "died"
    RESTARTED = "restarted"
    RESTART_FAILED = "restart_failed"


@dataclass(frozen=True, slots=True)
class ServerNews:
    """One thing that happened to the server, for the log."""

    what: Happened
    port: int
    pid: int | None = None
    detail: str = ""


class ServerNotReady(Temporary):
    """The server did not come up or did not end in time; the message has its last words."""


def _tell_nobody(news: ServerNews) -> None: ...


class EmbeddedServer:
    """`port` is a wish: the folder's last port goes before it, and a busy one is replaced."""

    def __init__(
        self,
        folder: Path,
        *,
        port: int = 4222,
        binary: Path | None = None,
        tell: Callable[[ServerNews], None] = _tell_nobody,
        start_seconds: float = START_SECONDS,
    ) -> None:
        self._folder = ServerFolder(folder)
        self._wanted = port
        self._forced = binary
        self._tell = tell
        self._start_seconds = start_seconds
        self._record: Record | None = None
        self._watcher: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """The address for clients, with the token in it: log `address` instead."""
        return f"nats://{self._known.token}@{self.address}"

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self._known.port}"

    @property
    def monitor_url(self) -> str:
        return f"http://{LOOPBACK}:{self._known.monitor_port}"

    @property
    def pid(self) -> int | None:
        return self._known.pid

    async def start(self, *, supervise: bool = True) -> str:
        """Have a healthy server on this folder, one's own or an adopted one; returns its URL.

        Raises: ServerMissing, ServerTooOld, ServerNotReady.
        """
        try:
            async with asyncio.timeout(self._start_seconds):
                while not await self._start_or_adopt():
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError as error:
            words = self._folder.last_words()
            raise ServerNotReady(f"nats-server is not healthy in time: {words}") from error
        if supervise and self._watcher is None:
            self._watcher = asyncio.create_task(self._watch(), name="embedded nats-server")
        return self.url

    async def detach(self) -> None:
        """Stop watching; the server goes on without us."""
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.cancel()
            await asyncio.wait([watcher])

    async def stop(self) -> None:
        """End the server, gently and then not, and wait until it is gone. Its data stays."""
        await self.detach()
        record = self._folder.read_record()
        if record is None:
            return
        self._keep(record.model_copy(update={"stopped": True}))
        for number in (signal.SIGTERM, signal.SIGKILL):
            signal_server(record, number)
            if await self._gone(STOP_SECONDS):
                return
        raise ServerNotReady(f"nats-server {record.pid} does not end: {self._folder.last_words()}")

    @property
    def _known(self) -> Record:
        if self._record is None:
            raise RuntimeError("the embedded server was not started")
        return self._record

    def _keep(self, record: Record) -> None:
        self._record = record
        self._folder.write_record(record)

    def _say(self, what: Happened, detail: str = "") -> None:
        self._tell(ServerNews(what, self._known.port, self._known.pid, detail))

    async def _start_or_adopt(self) -> bool:
        """False while somebody else is between taking the lock and a healthy server."""
        lock = self._folder.take_lock()
        if lock is None:
            return await self._adopt()
        try:
            await self._start(lock)
        finally:
            os.close(lock)
        return True

    async def _adopt(self) -> bool:
        """Take over the server that holds the lock, if it is healthy."""
        record = self._folder.read_record()
        if record is None or not await is_healthy(record.monitor_port):
            return False
        if record.stopped:
            signal_server(record, signal.SIGTERM)  # whoever was ending it may have died
            return False
        if record.pid is None or record.mark != start_mark(record.pid):
            # Its starter died before it could note the process; the server wrote its own id.
            pid = self._folder.read_pid()
            mark = start_mark(pid) if pid is not None else None
            if mark is None:
                return False
            record = record.model_copy(update={"pid": pid, "mark": mark})
        self._keep(record)
        self._say(Happened.ADOPTED)
        return True

    async def _start(self, lock: int) -> None:
        """On the port that the folder had last, else on the wanted one, else on a free one."""
        last = self._folder.read_record()
        port = last.port if last else self._wanted
        token = last.token if last else secrets.token_urlsafe(24)
        for _ in range(PORT_TRIES):
            record = Record(port=port, monitor_port=free_port(), token=token)
            if is_free(port) and await self._launch(record, lock):
                self._say(Happened.STARTED)
                return
            if is_free(port):
                break
            self._tell(ServerNews(Happened.PORT_BUSY, port))
            port = free_port()
        raise ServerNotReady(f"nats-server does not start: {self._folder.last_words()}")

    async def _launch(self, record: Record, lock: int) -> bool:
        """Start one server with the lock, and wait until it is healthy; False if it ended."""
        binary = await asyncio.to_thread(find_binary, self._forced)
        self._folder.prepare(record)
        pid = await asyncio.to_thread(spawn, binary.path, self._folder, lock)
        mark = start_mark(pid)
        self._keep(record.model_copy(update={"pid": pid, "mark": mark}))
        while mark is not None and is_running(pid, mark):
            if await is_healthy(record.monitor_port):
                return True
            await asyncio.sleep(POLL_SECONDS)
        return False

    async def _watch(self) -> None:
        """Start the server again whenever it dies, on the same port and store.

        Several processes may watch one server: the lock decides which of them starts it.
        """
        clock = asyncio.get_running_loop().time
        deaths, up_since = 0, clock()
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            lock = self._folder.take_lock()
            if lock is None:
                await self._follow()
                continue
            try:
                if self._was_stopped():
                    return
                self._say(Happened.DIED, self._folder.last_words())
                deaths = 0 if clock() - up_since > STEADY_SECONDS else deaths
                await asyncio.sleep(BACKOFF_SECONDS[min(deaths, len(BACKOFF_SECONDS) - 1)])
                await self._restart(lock)
            finally:
                os.close(lock)
            deaths, up_since = deaths + 1, clock()

    async def _follow(self) -> None:
        """Somebody else may have started the server again: know its process too."""
        known = self._known
        if known.pid is None or known.mark is None or not is_running(known.pid, known.mark):
            await self._adopt()

    def _was_stopped(self) -> bool:
        record = self._folder.read_record()
        return record is not None and record.stopped

    async def _restart(self, lock: int) -> None:
        """One try. Clients know the port, so a busy one is waited for and not replaced."""
        record = self._known.model_copy(update={"monitor_port": free_port()})
        try:
            async with asyncio.timeout(self._start_seconds):
                came_up = await self._launch(record, lock)
        except (MusterError, OSError, subprocess.SubprocessError) as error:
            self._say(Happened.RESTART_FAILED, f"{type(error).__name__}: {error}")
            return
        if came_up:
            self._say(Happened.RESTARTED)
        else:
            self._say(Happened.RESTART_FAILED, self._folder.last_words())

    async def _gone(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while (lock := self._folder.take_lock()) is None:
                    await asyncio.sleep(POLL_SECONDS)
                os.close(lock)
                return True
        return False
