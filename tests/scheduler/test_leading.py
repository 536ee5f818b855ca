"""Two schedulers on one log: one decides, the other stands by, and nobody fights."""

from __future__ import annotations

import pytest

from muster.domain.errors import Conflict
from muster.domain.phases import Phase
from muster.log.memory import LogFault
from muster.scheduler.handlers import Scheduler
from tests.scheduler.pools import Faults, Pool, settle
from tests.scheduler.worlds import POOL


def leads(scheduler: Scheduler) -> bool:
    """Tell whether a scheduler believes that it decides."""
    cycle = scheduler.cycles.get(POOL)
    return cycle is not None and cycle.leadership.mine is not None


async def test_a_scheduler_alone_leads_at_once_and_again_after_a_restart() -> None:
    pool = Pool()
    await pool.join("n1")
    first = pool.scheduler()
    await settle(first, turns=2)
    assert leads(first)
    await pool.submit("a")
    again = pool.scheduler()
    await settle(again, turns=3)
    assert leads(again)
    assert (await pool.state("a")).phase is Phase.STARTING
    assert [one.event.data.detail.epoch for one in pool.events("epoch")] == [1, 2]


async def test_an_old_leaders_batch_fails_and_it_stands_by() -> None:
    pool, faults = Pool(), Faults()
    await pool.join("n1")
    old = pool.scheduler(faults)
    await settle(old)
    await pool.submit("a")
    new = pool.scheduler()

    async def takes_over() -> None:
        await settle(new, turns=1)

    faults.before_batch = [takes_over]
    await old.step()
    assert pool.events("decided") == []
    assert len(pool.events("epoch")) == 2
    await old.step()
    assert not leads(old)
    await settle(new, old)
    assert (await pool.state("a")).phase is Phase.STARTING
    assert [one.event.data.detail.epoch for one in pool.events("decided")] == [2]


async def test_not_one_batch_of_an_old_epoch_gets_in() -> None:
    pool = Pool()
    await pool.join("n1")
    old, new = pool.scheduler(), pool.scheduler()
    await settle(old)
    basis = old.cycles[POOL].leadership.basis
    await settle(new)
    journal = pool.journal(old._journal.owner)
    await pool.submit("a")
    await settle(new)
    record = await pool.decided()
    assert record is not None
    with pytest.raises(Conflict):
        await journal.record_all((), journal.about_pool(POOL, record, basis))


async def test_nobody_fights_and_a_pool_at_rest_has_no_heartbeat() -> None:
    pool = Pool()
    await pool.join("n1")
    one, two = pool.scheduler(), pool.scheduler()
    await settle(one, two)
    await pool.submit("a")
    await pool.submit("b")
    await settle(one, two)
    pool.pass_by(10)
    await settle(one, two)
    ended = await pool.log.end()
    for _ in range(300):
        pool.pass_by(1)
        await settle(one, two, turns=1)
    assert len(pool.events("epoch")) == 2
    # the placement that nobody launches is given up and made again: that is all there is
    assert _written(pool, ended) <= {"unscheduled", "scheduled", "decided", "summary"}


def _written(pool: Pool, after: int) -> set[str]:
    return {entry.subject.rpartition(".")[2] for entry in pool.store.entries[after:]}


async def test_a_standby_takes_over_when_there_is_work_and_no_sign_of_life() -> None:
    pool = Pool()
    await pool.join("n1")
    silent, standby = pool.scheduler(), pool.scheduler()
    await settle(standby)
    await settle(silent)
    await settle(standby)
    assert leads(silent)
    assert not leads(standby)
    await pool.submit("a")
    seconds = 0
    while (await pool.state("a")).phase is Phase.QUEUED:
        assert seconds < 30
        seconds += 1
        pool.pass_by(1)
        await settle(standby, turns=1)
    assert 6 <= seconds <= 14
    assert leads(standby)
    await settle(silent)
    assert not leads(silent)


async def test_a_standby_does_not_take_over_from_a_leader_that_works() -> None:
    pool = Pool()
    await pool.join("n1")
    standby, leader = pool.scheduler(), pool.scheduler()
    await settle(standby)
    await settle(leader)
    for index in range(60):
        await pool.submit(f"j{index}", gpus=1)
        pool.pass_by(1)
        await settle(standby, turns=1)
        await settle(leader, turns=2)
    assert leads(leader)
    assert not leads(standby)
    assert len(pool.events("epoch")) == 2


async def test_with_nothing_to_decide_nobody_takes_over() -> None:
    pool = Pool()
    await pool.join("n1")
    silent, standby = pool.scheduler(), pool.scheduler()
    await settle(standby)
    await settle(silent)
    for _ in range(100):
        pool.pass_by(5)
        await settle(standby, turns=1)
    assert leads(silent)
    assert len(pool.events("epoch")) == 2


async def test_of_two_that_see_a_new_pool_one_leads_it() -> None:
    pool = Pool()
    one, two = pool.scheduler(), pool.scheduler()
    await settle(one, two)
    assert pool.events("epoch") == []
    await pool.join("n1")
    await settle(one, two)
    assert [leads(one), leads(two)] == [True, False]
    assert len(pool.events("epoch")) == 1


async def test_an_epoch_that_was_written_unseen_is_taken_again() -> None:
    pool, faults = Pool(), Faults()
    await pool.join("n1")
    scheduler = pool.scheduler(faults)
    faults.next["append"] = [LogFault.LOST]
    await settle(scheduler)
    assert leads(scheduler)
    await pool.submit("a")
    await settle(scheduler)
    assert (await pool.state("a")).phase is Phase.STARTING


async def test_after_an_unknown_outcome_it_does_not_push_another_leader_out() -> None:
    pool, faults = Pool(), Faults()
    await pool.join("n1")
    first, second = pool.scheduler(faults), pool.scheduler()
    await settle(first)
    await pool.submit("a")
    faults.next["append_all"] = [LogFault.UNKNOWN_LOST]
    await first.step()
    await settle(second)
    await settle(first)
    assert leads(second)
    assert not leads(first)
    assert len(pool.events("epoch")) == 2
    assert (await pool.state("a")).phase is Phase.STARTING
