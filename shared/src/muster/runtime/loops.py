"""Runs a service's loops: one turn after another, whatever a turn raises."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

import structlog
from prometheus_client import Counter

from muster.domain.errors import Conflict, Temporary
from muster.runtime.clock import ticks
from muster.runtime.punctuality import Punctuality
from muster.runtime.service import Loop, Service

BACKOFF_MAX_S = 10.0

_FAILURES = Counter(
    "muster_loop_failures_total", "Turns of a service's loop that raised", ["service", "loop"]
)


class LoopRunner:
    """The running loops of one service. clock: seconds that never step."""

    def __init__(self, service: Service, clock: Callable[[], float] = ticks) -> None:
        self._name = service.owner.value
        self._loops: Sequence[Loop] = service.loops
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = asyncio.Event()
        self.punctuality = Punctuality(self._name, clock)

    def start(self) -> None:
        """Start every loop, and the watch over them."""
        self.punctuality.watch(self._loops)
        watch = self.punctuality.run()
        self._tasks.append(asyncio.create_task(watch, name=f"{self._name}/punctuality"))
        for loop in self._loops:
            name = f"{self._name}/{loop.name}"
            self._tasks.append(asyncio.create_task(self._run(loop), name=name))

    async def stop(self) -> None:
        """Cancel the loops; a turn that is cut short is safe, as after a crash."""
        self._stopping.set()
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._tasks.clear()
        self.punctuality.forget()

    async def _run(self, loop: Loop) -> None:
        failures = 0
        while not self._stopping.is_set():  # a cancellation that meets an answer in a turn is lost
            delay = loop.every
            try:
                await loop.step()
                failures = 0
                self.punctuality.worked(loop.name)
            except (Temporary, Conflict) as error:
                failures += 1
                delay = max(loop.every, _backoff(failures))
                self._log(loop, failures, str(error))
            except Exception:  # noqa: BLE001 - the host is where a loop's errors end
                failures += 1
                delay = max(loop.every, _backoff(failures))
                _FAILURES.labels(self._name, loop.name).inc()
                structlog.get_logger().exception("loop failed", service=self._name, loop=loop.name)
            await asyncio.sleep(0 if self._stopping.is_set() else delay)

    def _log(self, loop: Loop, failures: int, why: str) -> None:
        # a server that is away is one line now and then, not one for each turn
        if failures in {1, 5} or failures % 50 == 0:
            structlog.get_logger().warning(
                "loop waits", service=self._name, loop=loop.name, why=why, times=failures
            )


def _backoff(failures: int) -> float:
    return float(min(BACKOFF_MAX_S, 0.1 * 2 ** min(failures, 10)))
