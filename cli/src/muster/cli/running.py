"""Runs what is asynchronous, and lets signals end it in order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end. Ctrl-C cancels the work and raises KeyboardInterrupt."""
    return asyncio.run(work)


async def wanted_to_end() -> None:
    """Return when a person or the system wants this process to end; at the second time, at once."""
    loop = asyncio.get_running_loop()
    told = asyncio.Event()

    def tell() -> None:
        if told.is_set():
            raise KeyboardInterrupt
        told.set()

    for number in ENDING:
        loop.add_signal_handler(number, tell)
    await told.wait()
