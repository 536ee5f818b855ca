"""A TCP relay in front of a server that can lose what one side says, and cut the line."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Self

from muster.runtime.ports import LOOPBACK


class LossyRelay:
    """Listens on `port`; what it loses is read and thrown away, as by a network that broke."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._before_exit: list[Callable[[], Awaitable[None]]] = []
        self.loses_answers = False
        self.loses_questions = False

    @property
    def port(self) -> int:
        assert self._server is not None
        number: int = self._server.sockets[0].getsockname()[1]
        return number

    def before_exit(self, close: Callable[[], Awaitable[None]]) -> None:
        """Close a client first: one that loses its relay would look for it for ever."""
        self._before_exit.append(close)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, LOOPBACK, 0)
        return self

    async def __aexit__(self, *failure: object) -> None:
        assert self._server is not None
        for close in self._before_exit:
            await close()
        self._server.close()
        while self._tasks:
            self.cut()
            await asyncio.wait(self._tasks, timeout=0.1)
        await self._server.wait_closed()

    def cut(self) -> None:
        """End every connection, as a network does that comes back with new ones."""
        for writer in tuple(self._writers):
            writer.transport.abort()

    def heal(self) -> None:
        """Lose nothing more; connections that lost something are of no use, so they end."""
        self.loses_answers = self.loses_questions = False
        self.cut()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._run(self._connect(reader, writer))

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(LOOPBACK, self._target)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, back}
        self._run(self._relay(reader, back, answers=False))
        self._run(self._relay(there, writer, answers=True))

    async def _relay(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, answers: bool
    ) -> None:
        try:
            while data := await source.read(65536):
                if self.loses_answers if answers else self.loses_questions:
                    continue
                target.write(data)
                await target.drain()
        except OSError:
            pass
        finally:
            self._writers.discard(target)
            target.close()
