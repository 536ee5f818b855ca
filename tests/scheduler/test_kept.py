"""What is kept packed is read again as it was: by rounds, batches and checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.domain.phases import Phase
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.cycle import checkpoint, kept
from tests.scheduler.pools import Pool, settle
from tests.scheduler.test_checkpoint import lived, scratch, seen
from tests.scheduler.worlds import POOL


async def test_a_packed_queue_is_the_same_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    _, loose = await lived(None)
    monkeypatch.setattr(kept, "AT_HAND", 0)
    pool, packed = await lived(None)
    assert seen(packed.fold) == seen(loose.fold)
    again = await scratch(pool)
    assert seen(again.fold) == seen(packed.fold)
    one, two = seen(again.fold), seen(loose.fold)
    assert plan(one, Policy()).moves == plan(two, Policy()).moves


async def test_a_long_packed_queue_is_placed_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "AT_HAND", 3)
    pool = Pool()
    scheduler = pool.scheduler()
    for number in range(20):
        await pool.submit(f"j{number:02d}", gpus=4)
        pool.pass_by(1)
        await settle(scheduler, turns=1)
    fold = scheduler.fold.pools[POOL]
    assert sum(one._recorded is not None for one in fold.jobs.values()) <= 2 * 3 + 1
    await pool.join("n1", "n2", "n3")
    await settle(scheduler)
    placed = [n for n in range(20) if (await pool.state(f"j{n:02d}")).phase is Phase.STARTING]
    assert placed == list(range(6))


async def test_a_checkpoint_of_a_packed_queue(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kept, "AT_HAND", 0)
    pool, scheduler = await lived(None)
    scheduler.fold.pools[POOL].shelf.tidy()
    file = tmp_path / "fold.json"
    assert checkpoint.save(file, scheduler.fold, scheduler.position)
    found = await checkpoint.load(file, frozenset(), pool.log)
    assert found is not None
    assert seen(found.fold) == seen(scheduler.fold)
