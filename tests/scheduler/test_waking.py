"""News wakes a scheduler that has read the log; one that still reads does not wait for any."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from muster.domain.phases import Phase
from muster.log import Recorded, Unreadable
from muster.log.memory import MemoryFollower
from tests.scheduler.pools import Pool


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each reading of the log would have waited for the first news."""
    asked: list[float] = []
    true = MemoryFollower.next

    async def listen(self: MemoryFollower, wait: float = 0.0) -> Sequence[Recorded | Unreadable]:
        asked.append(wait)
        return await true(self, wait)

    monkeypatch.setattr(MemoryFollower, "next", listen)
    return asked


async def test_it_waits_for_the_first_news_of_a_turn_and_then_reads_what_there_is(
    waits: list[float],
) -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler()
    scheduler.wake_on_news(0.1, 0.0)
    await scheduler.step()
    assert set(waits) == {0.0}
    waits.clear()
    await pool.submit("a")
    await scheduler.step()
    assert waits[0] == 0.1
    assert set(waits[1:]) == {0.0}
    assert (await pool.state("a")).phase is Phase.STARTING


async def test_without_that_it_never_waits(waits: list[float]) -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler()
    for _ in range(3):
        await scheduler.step()
    assert set(waits) == {0.0}
