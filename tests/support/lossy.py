"""A TCP relay in front of a server that can lose what one side says, and cut the line."""

from __future__ import annotations

import asyncio
from typing import Self

from muster.runtime.ports import LOOPBACK


class LossyRelay:
    """Listens on `port`; what it loses is read and thrown away, as by a network that broke."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._relays: set[asyncio.Task[None]] = set()
        self.loses_answers = False
        self.loses_questions = False

    @property
    def port(self) -> int:
        assert self._server is not None
        number: int = self._server.sockets[0].getsockname()[1]
        return number

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, LOOPBACK, 0)
        return self

    async def __aexit__(self, *failure: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await asyncio.gather(*self._relays, return_exceptions=True)
        await self._server.wait_closed()

    def cut(self) -> None:
        """End every connection, as a network does that comes back with new ones."""
        for writer in tuple(self._writers):
            writer.transport.abort()

    def heal(self) -> None:
        """Lose nothing more; connections that lost something are of no use, so they end."""
        self.loses_answers = self.loses_questions = False
        self.cut()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(LOOPBACK, self._target)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, back}
        for source, target, answers in ((reader, back, False), (there, writer, True)):
            task = asyncio.create_task(self._relay(source, target, answers))
            self._relays.add(task)
            task.add_done_callback(self._relays.discard)

    async def _relay(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, answers: bool
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
