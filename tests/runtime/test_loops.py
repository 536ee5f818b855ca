"""A service's loops end when they are told to, whatever a turn does with a cancellation."""

from __future__ import annotations

import asyncio
import contextlib

from muster.domain.edges import Owner
from muster.runtime.loops import LoopRunner
from muster.runtime.service import Loop, Service


async def test_a_turn_that_loses_its_cancellation_is_the_last_one() -> None:
    """As a library does that has an answer at the very moment it is cancelled."""
    began = asyncio.Event()
    turns = 0

    async def turn() -> None:
        nonlocal turns
        turns += 1
        began.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    runner = LoopRunner(Service(Owner.GATEWAY, loops=(Loop("stubborn", turn, every=60),)))
    runner.start()
    await began.wait()
    async with asyncio.timeout(5):
        await runner.stop()
    assert turns == 1
