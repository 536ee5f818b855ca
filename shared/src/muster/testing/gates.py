"""Coroutines driven by hand: they stop at gates, and the world decides which one goes on.

No event loop. Handlers await only their ports, and every port of a world passes gates, so an
interleaving of handlers is a sequence of choices, and a crash is a coroutine that is never resumed.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any

from muster.log.memory import LogFault


class Gate:
    """Where a coroutine waits; the answer is what the world orders for the operation.

    blocked: tells whether there is nothing to go on for yet (None = it may go on at any time).
    """

    __slots__ = ("blocked", "moment", "operation")

    def __init__(
        self, operation: str, moment: str, blocked: Callable[[], bool] | None = None
    ) -> None:
        self.operation, self.moment, self.blocked = operation, moment, blocked

    def __await__(self) -> Generator[Gate, LogFault, LogFault]:
        answer = yield self
        return answer


class ProcessDied(BaseException):
    """Ends a coroutine of a killed process that tries to go on; nothing may catch it."""


class Mood:
    """hurried: nobody interferes now, so coroutines stop only where they change something."""

    __slots__ = ("hurried",)

    def __init__(self) -> None:
        self.hurried = False


_CHANGES = ("append", "append_all", "cluster launch", "cluster signal", "cluster kill")


class ProcessHooks:
    """The gates of one life of one process; see `muster.log.memory.Hooks`."""

    def __init__(self, mood: Mood) -> None:
        self.dead = False
        self._mood = mood

    async def before(self, operation: str) -> LogFault:
        """Wait until the operation may happen, and learn how it goes."""
        if self._mood.hurried and not self.dead:
            return LogFault.NONE
        return await self.gate(Gate(operation, "before"))

    async def after(self, operation: str) -> None:
        """Wait until its caller may know of it."""
        if self._mood.hurried and not self.dead and operation not in _CHANGES:
            return
        await self.gate(Gate(operation, "after"))

    async def gate(self, gate: Gate) -> LogFault:
        """Wait at a gate. A dead process never gets through one."""
        if self.dead:
            raise ProcessDied
        answer = await gate
        if self.dead:
            raise ProcessDied
        return answer


Finished = Callable[[Exception | None], None]


def _no_matter() -> None:
    return None


class Task:
    """One coroutine of one process. `finished` hears of its end, `lost` that its process died.

    begin: makes the coroutine, at the first step.
    """

    __slots__ = ("_begin", "_context", "_coroutine", "_finished", "_lost", "gate", "name")

    def __init__(
        self,
        name: str,
        begin: Callable[[], Awaitable[None]],
        finished: Finished,
        lost: Callable[[], None] = _no_matter,
    ) -> None:
        self.name = name
        self.gate: Gate | None = None
        self._begin, self._finished, self._lost = begin, finished, lost
        self._context = contextvars.copy_context()
        self._coroutine: Coroutine[Any, LogFault, None] | None = None

    @property
    def blocked(self) -> bool:
        """Whether it waits for something that has not come."""
        gate = self.gate
        return gate is not None and gate.blocked is not None and gate.blocked()

    def resume(self, answer: LogFault = LogFault.NONE) -> bool:
        """Run to the next gate. Returns True when the coroutine has ended."""
        try:
            self.gate = self._context.run(self._send, answer)
        except StopIteration:
            self._finished(None)
            return True
        except Exception as error:  # noqa: BLE001 - the world parks it, as the real bus does
            self._finished(error)
            return True
        return False

    def _send(self, answer: LogFault) -> Gate:
        if self._coroutine is None:
            self._coroutine = _run(self._begin)
            return self._coroutine.send(None)  # type: ignore[arg-type, no-any-return]
        return self._coroutine.send(answer)  # type: ignore[no-any-return]

    def kill(self) -> None:
        """End it where it stands, as a killed process does: it hears nothing of it."""
        if self._coroutine is not None:
            with contextlib.suppress(ProcessDied, RuntimeError):
                self._context.run(self._coroutine.close)
        self._lost()


async def _run(begin: Callable[[], Awaitable[None]]) -> None:
    await begin()
