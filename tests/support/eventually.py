"""Waiting in tests for what other processes do: look often, give up after a bound."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TypeVar, overload

T = TypeVar("T")


@overload
async def eventually(
    look: Callable[[], Awaitable[T]], *, within: float = 15.0, every: float = 0.02
) -> T: ...


@overload
async def eventually(look: Callable[[], T], *, within: float = 15.0, every: float = 0.02) -> T: ...


async def eventually(
    look: Callable[[], T | Awaitable[T]], *, within: float = 15.0, every: float = 0.02
) -> T:
    """Return the first true result of `look`; AssertionError with the last one after `within` s.

    The bound is generous, since it is only ever reached by a failure: a busy machine is not one.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + within
    while True:
        seen = look()
        result = await seen if inspect.isawaitable(seen) else seen
        if result:
            return result
        if loop.time() >= end:
            raise AssertionError(f"not within {within} s; last seen: {result!r}")
        await asyncio.sleep(every)
