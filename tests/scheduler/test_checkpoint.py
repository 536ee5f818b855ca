"""A scheduler that starts from a file knows what one knows that has read the whole log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from muster.domain import facts as f
from muster.domain.edges import Owner
from muster.domain.nodes import NodeCordoned
from muster.domain.phases import Phase
from muster.domain.tenants import BlocklistSet, QuotaSet, Share
from muster.scheduler.core.snapshot import Snapshot
from muster.scheduler.cycle import checkpoint
from muster.scheduler.cycle.fold import Fold
from muster.scheduler.handlers import Scheduler
from tests.scheduler.pools import Pool, settle
from tests.scheduler.worlds import POOL, at


def seen(fold: Fold) -> Snapshot:
    """Return what a round would see of the pool."""
    found = fold.pools[POOL].snapshot(at(0), 1, None, frozenset())
    return Snapshot(
        pool=found.pool,
        now=found.now,
        upto=found.upto,
        nodes=tuple(sorted(found.nodes, key=lambda n: n.node)),
        jobs=tuple(sorted(found.jobs, key=lambda j: j.key)),
        last_round=found.last_round,
        runtimes=found.runtimes,
        tenants=found.tenants,
        evictions=found.evictions,
    )


async def lived(file: Path | None) -> tuple[Pool, Scheduler]:
    """Make a pool with a history: jobs that wait, run, leave and ended."""
    pool = Pool()
    await pool.join("n1", "n2", "n3")
    scheduler = pool.scheduler(file=file)
    for name in ("done", "low", "paper"):
        await pool.submit(name, resource={"priority": "low"})
        await settle(scheduler)
    await pool.launch("done")
    await pool.launch("low")
    await pool.write("done", f.Succeeded(attempt=1), f.Released(attempt=1))
    await pool.about_node("n1", NodeCordoned(), owner=Owner.ADMISSION)
    await pool.submit("high", workers=2, resource={"priority": "high"})
    await pool.submit("waits", workers=2)
    await settle(scheduler)
    share = Share(pool=POOL, gpu_model="A100", guaranteed=8, ceiling=99)
    await pool.about_tenant("t", QuotaSet(by="op", request="q1", shares=(share,)))
    await pool.about_tenant("t", BlocklistSet(by="op", request="b1", nodes={POOL: ("n9",)}))
    pool.store.put("jobs.t.waits.admitted", b"nonsense")
    await settle(scheduler)
    return pool, scheduler


async def scratch(pool: Pool) -> Scheduler:
    """Return a scheduler that has read the whole log."""
    fresh = pool.scheduler()
    await fresh._read(await fresh._open())
    return fresh


@pytest.mark.sibling_of("ADM-07")
async def test_a_fold_from_a_file_equals_a_fold_from_scratch(tmp_path: Path) -> None:
    pool, scheduler = await lived(None)
    file = tmp_path / "fold.json"
    assert checkpoint.save(file, scheduler.fold, scheduler.position)
    await pool.write("low", f.Released(attempt=1))
    await pool.submit("late")
    warm = pool.scheduler(file=file)
    await warm._read(await warm._open())
    cold = await scratch(pool)
    assert seen(warm.fold) == seen(cold.fold)
    one, two = warm.fold.pools[POOL], cold.fold.pools[POOL]
    assert (one.sign, one.epoch_head, one.epoch, one.decided) == (
        two.sign,
        two.epoch_head,
        two.epoch,
        two.decided,
    )
    assert set(one.jobs) == {("t", name) for name in ("paper", "high", "waits", "late")} - {
        ("t", name) for name in ("paper",) if ("t", name) not in two.jobs
    }


async def test_it_is_written_once_a_minute_and_started_from(tmp_path: Path) -> None:
    file = tmp_path / "fold.json"
    pool, scheduler = await lived(file)
    assert not file.exists()
    pool.pass_by(61)
    await settle(scheduler)
    await pool.submit("late")
    pool.pass_by(61)
    await settle(scheduler)
    assert file.exists()
    found = await checkpoint.load(file, frozenset(), pool.log)
    assert found is not None
    assert found.position > 0
    again = pool.scheduler(file=file)
    await again._open()
    assert again.position == found.position
    await pool.join("n4", "n5")
    await settle(again)
    assert (await pool.state("late")).phase is Phase.STARTING


@pytest.mark.parametrize("damage", ["cut", "changed", "format", "pools", "empty", "other json"])
async def test_a_file_that_is_not_right_is_not_used(tmp_path: Path, damage: str) -> None:
    pool, scheduler = await lived(None)
    file = tmp_path / "fold.json"
    checkpoint.save(file, scheduler.fold, scheduler.position)
    text, only = file.read_text(), frozenset[str]()
    outer = json.loads(text)
    match damage:
        case "cut":
            file.write_text(text[: len(text) // 2])
        case "changed":
            file.write_text(json.dumps({**outer, "body": outer["body"].replace("low", "lox")}))
        case "format":
            body = outer["body"].replace(f'"format": {checkpoint.FORMAT}', '"format": 0')
            file.write_text(json.dumps({"hash": checkpoint._hash(body), "body": body}))
        case "pools":
            only = frozenset({"default"})
        case "empty":
            file.write_text("")
        case _:
            file.write_text("[1]")
    assert await checkpoint.load(file, only, pool.log) is None


async def test_a_file_of_another_log_is_not_used(tmp_path: Path) -> None:
    _, scheduler = await lived(None)
    file = tmp_path / "fold.json"
    checkpoint.save(file, scheduler.fold, scheduler.position)
    other = Pool()
    assert await checkpoint.load(file, frozenset(), other.log) is None
    # the same sequences and subjects, written by somebody else
    other._numbers = iter(range(500_000, 900_000))  # type: ignore[assignment]
    await other.join("n1", "n2", "n3")
    for index in range(60):
        await other.submit(f"x{index}")
    assert await checkpoint.load(file, frozenset(), other.log) is None


async def test_a_folder_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    pool, scheduler = await lived(None)
    assert not checkpoint.save(tmp_path / "no" / "fold.json", scheduler.fold, 1)
    assert not checkpoint.save(tmp_path / "fold.json", Fold(), 1)
    assert await checkpoint.load(tmp_path / "none.json", frozenset(), pool.log) is None


async def test_run_times_are_learned_from_successes_and_from_run_limits() -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler()
    ends: dict[str, tuple[f.Fact, Owner]] = {
        "done": (f.Succeeded(attempt=1), Owner.EXECUTOR),
        "limit": (f.RunTimedOut(), Owner.EXECUTOR),
        "stopped": (f.StopRequested(by="u", request="r"), Owner.ADMISSION),
    }
    taught = []
    for name, (end, owner) in ends.items():
        await pool.submit(name, max_runtime_s=60)
        await settle(scheduler)
        await pool.launch(name)
        await pool.write(name, end, owner=owner)
        await pool.write(name, f.Released(attempt=1))
        await settle(scheduler)
        known = scheduler.pool(POOL).runtimes
        taught.append(max((kind.total for kind in known.kinds.values()), default=0))
    assert taught == [1, 2, 2]
