"""The cycle on the log in memory: leading, fencing, conflicts, unknown outcomes, proofs."""

from __future__ import annotations

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.phases import Phase
from tests.scheduler.pools import Pool, settle


async def test_a_job_is_placed_in_one_batch_with_the_record_of_the_round() -> None:
    pool = Pool()
    await pool.join("n1", "n2")
    await pool.submit("a", workers=2)
    await settle(pool.scheduler())
    state = await pool.state("a")
    assert state.phase is Phase.STARTING
    assert state.placed_on == {"worker-0": "n1", "worker-1": "n2"}
    decided, scheduled = pool.events("decided"), pool.events("scheduled")
    assert [one.seq for one in decided] == [scheduled[0].seq - 1]
    assert decided[0].event.data.detail.scheduled == 1


async def test_a_higher_job_gets_the_victims_nodes_in_the_batch_that_evicts() -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler()
    await pool.submit("low", resource={"priority": "low"})
    await settle(scheduler)
    await pool.launch("low")
    await pool.submit("high", resource={"priority": "high"})
    await settle(scheduler)
    low, high = await pool.state("low"), await pool.state("high")
    assert low.phase is Phase.EVICTING
    assert low.eviction is not None
    assert (low.eviction.cause, low.eviction.by) == (EvictionCause.PRIORITY, "high")
    assert high.phase is Phase.STARTING
    assert [wait.job for wait in high.waits_for] == ["low"]
    assert dict(high.held) == {"n1": ("worker-0",)}


async def test_a_pool_at_rest_is_not_written_to() -> None:
    pool = Pool()
    await pool.join("n1")
    await pool.submit("a")
    await pool.submit("b")
    scheduler = pool.scheduler()
    await settle(scheduler)
    before = await pool.log.end()
    for _ in range(50):
        pool.pass_by(10)
        await scheduler.step()
        if (await pool.state("a")).phase is Phase.STARTING and pool.clock.elapsed < 20:
            await pool.launch("a")
            before = await pool.log.end()
    assert [e.event.type for e in pool.events("summary")][1:] == []
    assert await pool.log.end() == before
    assert isinstance(pool.events("scheduled")[0].event.data.detail, f.Scheduled)
