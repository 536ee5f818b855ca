"""Several pieces of work at the same time, with a bound: for services, which know no event loop.

A host gives `at_most(n)`; worlds in virtual time and tests do one after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

Work = Callable[[], Awaitable[None]]
Together = Callable[[Sequence[Work]], Awaitable[None]]
"""Does every piece of work, whatever becomes of the others; then raises the first failure."""


async def one_by_one(works: Iterable[Work]) -> None:
    """One after the other; for worlds where nothing happens at the same time."""
    failure: Exception | None = None
    for work in works:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - raised again below
            failure = failure or error
    if failure is not None:
        raise failure


def at_most(count: int) -> Together:
    """So many at a time, in the order given."""

    async def together(works: Sequence[Work]) -> None:
        left = iter(works)
        done = await asyncio.gather(
            *(one_by_one(left) for _ in range(min(count, len(works)))), return_exceptions=True
        )
        for failure in done:
            if isinstance(failure, BaseException):
                raise failure

    return together
