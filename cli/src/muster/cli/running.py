"""Runs what is asynchronous, and lets signals end it in order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end. Ctrl-C cancels the work and raises KeyboardInterrupt."""
    return asyncio.run(work)


def told_to_end() -> asyncio.Event:
    """Listen from now on; set when a person or the system wants this process to end.

    At the second time the process ends at once.
    """
    loop = asyncio.get_running_loop()
    told = asyncio.Event()

    def tell() -> None:
        if told.is_set():
            raise KeyboardInterrupt
        told.set()

    for number in ENDING:
        loop.add_signal_handler(number, tell)
    return told


@asynccontextmanager
async def ending_with_signals() -> AsyncIterator[None]:
    """Let every ending signal do what Ctrl-C does: cancel, then raise KeyboardInterrupt."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    others = [number for number in ENDING if number is not signal.SIGINT]
    told = False

    def end() -> None:
        nonlocal told
        told = True
        task.cancel()

    for number in others:
        loop.add_signal_handler(number, end)
    try:
        yield
    except asyncio.CancelledError:
        if told:
            raise KeyboardInterrupt from None
        raise
    finally:
        for number in others:
            loop.remove_signal_handler(number)
