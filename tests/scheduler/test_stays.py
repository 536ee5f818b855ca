"""What the log tells of stays: when one is over, and whether it was lost; kept over restarts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.demand import StabilityLevel
from muster.domain.edges import Owner
from muster.domain.evolve import evolve
from muster.domain.phases import Phase
from muster.domain.reasons import ReasonCode, reason
from muster.domain.state import JobState
from muster.domain.survival import Outlook
from muster.scheduler.core.stays import Stay, ended, stay_of
from muster.scheduler.core.steadiness import bounds
from muster.scheduler.core.survival import ENOUGH
from muster.scheduler.cycle.summary import JUDGE_EVERY_S
from muster.scheduler.handlers import Scheduler
from tests.scheduler.pools import Pool, settle
from tests.scheduler.worlds import POOL, at, queued

LOW, MEDIUM, HIGH = StabilityLevel
TOLD = Outlook(at=at(-60), risk=0.3, survive_1h=0.8)
WHY = reason(ReasonCode.HANG, seconds=1)


def placed(level: StabilityLevel | None = HIGH, **more: int) -> JobState:
    """Return an idle job that was placed a minute ago."""
    job = queued("i", gpus=1, kind="idle", stability_level=level, **more)
    fact = f.Scheduled(placement={"n1": ("worker-0",)}, outlook=TOLD)
    return evolve(job, fact, at(-60))


def told(state: JobState, facts: Sequence[f.Fact]) -> list[Stay]:
    """Let one fact follow the other, from now on one each minute; return the stays that ended."""
    found = []
    for minute, fact in enumerate(facts):
        now = at(60 * minute)
        before, state = state, evolve(state, fact, now)
        if stay := ended(before, state, fact, now):
            found.append(stay)
    return found


RUNS: tuple[f.Fact, ...] = (f.Launching(attempt=1), f.Started(attempt=1))
FAILS: tuple[f.Fact, ...] = (
    *RUNS,
    f.WorkersFailed(attempt=1, failures=(f.WorkerFailure(worker="worker-0", node="n1"),)),
)


def preempted(cause: EvictionCause) -> f.Fact:
    """Return the order to leave."""
    return f.Preempted(cause=cause, grace_s=30)


def replaced(cause: EvictionCause) -> tuple[f.Fact, ...]:
    """Return how fault tolerance gives nodes back."""
    return (*FAILS, f.ReplacementOrdered(cause=cause, reason=WHY))


LOST = {
    "spot capacity went": (*RUNS, preempted(EvictionCause.SPOT_RECLAIM)),
    "others need the room": (*RUNS, preempted(EvictionCause.IDLE_RECLAIM)),
    "a higher job": (*RUNS, preempted(EvictionCause.PRIORITY)),
    "a lender": (*RUNS, preempted(EvictionCause.QUOTA_RECLAIM)),
    "a drain": (*RUNS, preempted(EvictionCause.NODE_DRAIN)),
    "while it started": (f.Launching(attempt=1), preempted(EvictionCause.IDLE_RECLAIM)),
    "its node was lost": replaced(EvictionCause.NODE_LOST),
    "a gang that could not start": (f.Launching(attempt=1), f.StartFailed(attempt=1, why="w")),
    "its hold was taken": (f.Unscheduled(cause=f.Withdrawal.HOLD_TAKEN),),
    "its node went before": (f.Unscheduled(cause=f.Withdrawal.NODE_GONE),),
    "its stock went before": (f.Unscheduled(cause=f.Withdrawal.STOCK_GONE),),
}
LASTED = {
    "it was done": (*RUNS, f.Succeeded(attempt=1)),
    "its owner stopped it": (*RUNS, f.StopRequested(by="u", request="r")),
    "its time was over": (*RUNS, f.RunTimedOut()),
    "it failed": (*FAILS, f.Failed(reason=WHY)),
    "a person must look": (*FAILS, f.Escalated(reason=WHY)),
    "its own fault": replaced(EvictionCause.FAULT),
    "it waits to try again": replaced(EvictionCause.BACKOFF),
    "it was refused": (f.StartRefused(attempt=1, permanent=True, why="w"),),
    "its plan was given up": (f.Unscheduled(cause=f.Withdrawal.PLAN_ABANDONED),),
    "a victim did not go": (f.Unscheduled(cause=f.Withdrawal.VICTIM_OVERDUE),),
}


@pytest.mark.parametrize("how", LOST)
def test_a_stay_is_lost_for_reasons_that_are_not_the_jobs_own(how: str) -> None:
    facts = LOST[how]
    assert told(placed(), facts) == [Stay(HIGH, TOLD, at(60 * (len(facts) - 1)), lost=True)]


@pytest.mark.parametrize("how", LASTED)
def test_a_stay_that_the_job_or_its_owner_ends_lasted_at_least_so_long(how: str) -> None:
    facts = LASTED[how]
    (stay,) = told(placed(None), facts)
    assert (stay.level, stay.lost) == (LOW, False)
    assert stay.lasted.seconds == 60 * len(facts)


@pytest.mark.parametrize("how", [*LOST, *LASTED])
def test_what_comes_after_the_end_ends_nothing_again(how: str) -> None:
    facts = (LOST | LASTED)[how]
    state = placed()
    for fact in facts:
        state = evolve(state, fact, at(0))
    assert stay_of(state, at(0)) is None
    if state.phase is not Phase.QUEUED:
        assert told(state, [f.Released(attempt=state.attempt)]) == []


def test_a_failure_on_the_way_out_is_no_second_end() -> None:
    facts = (*RUNS, preempted(EvictionCause.PRIORITY), FAILS[-1], f.Failed(reason=WHY))
    assert [stay.lost for stay in told(placed(), facts)] == [True]


def test_a_restart_in_place_goes_on_with_the_stay() -> None:
    again = (*FAILS, f.Restarted(reason=WHY), f.Launching(attempt=2), f.Started(attempt=2))
    (stay,) = told(placed(), [*again, f.Succeeded(attempt=2)])
    assert stay.lasted.seconds == 60 * 7
    assert told(placed(), again) == []


def test_while_it_goes_on_it_has_lasted_until_now() -> None:
    assert stay_of(placed(), at(540)) == Stay(HIGH, TOLD, at(540), lost=False)
    assert stay_of(queued("q", kind="idle"), at(0)) is None


def test_the_chance_stays_with_a_job_until_it_queues_again() -> None:
    state = placed()
    for fact in (*RUNS, preempted(EvictionCause.IDLE_RECLAIM), f.Released(attempt=1)):
        state = evolve(state, fact, at(0))
        assert state.outlook == TOLD
    cause = EvictionCause.IDLE_RECLAIM
    assert evolve(state, f.Requeued(cause=cause, counted=True), at(0)).outlook is None
    assert evolve(state, f.NotRequeued(cause=cause), at(0)).outlook == TOLD


# --- the log, restarts and failovers -----------------------------------------------------------


async def lived(pool: Pool, scheduler: Scheduler, jobs: int, seconds: float = 3700) -> None:
    """Let idle jobs run, each for so long; every third is sent off after a minute."""
    for number in range(jobs):
        name = f"i{len(pool.events('submitted'))}"
        await pool.submit(name, gpus=1, resource={"type": "idle", "stability_level": "low"})
        await settle(scheduler)
        await pool.launch(name)
        if number % 3 == 0:
            pool.pass_by(60)
            leave = preempted(EvictionCause.IDLE_RECLAIM)
            await pool.write(name, leave, owner=Owner.SCHEDULER)
        else:
            pool.pass_by(seconds)
            await pool.write(name, f.Succeeded(attempt=1))
        await pool.release(name)
        await settle(scheduler)


async def test_it_is_told_when_it_changes_and_not_too_often() -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler()
    await settle(scheduler)
    pool.pass_by(2 * JUDGE_EVERY_S)
    await settle(scheduler)
    assert pool.events("stability") == []
    await lived(pool, scheduler, 1)
    pool.pass_by(JUDGE_EVERY_S - 61)
    await settle(scheduler)
    assert pool.events("stability") == []
    pool.pass_by(1)
    await settle(scheduler)
    (event,) = pool.events("stability")
    assert [one.stays for one in event.event.data.detail.levels] == [1, 0, 0]
    pool.pass_by(5 * JUDGE_EVERY_S)
    await settle(scheduler)
    assert len(pool.events("stability")) == 1


async def test_jobs_are_told_what_those_before_them_have_shown() -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler()
    await lived(pool, scheduler, ENOUGH)
    pool.pass_by(JUDGE_EVERY_S)
    await settle(scheduler)
    first, last = (await pool.state("i0")).outlook, pool.events("stability")[-1]
    assert first is not None
    assert first.survive_1h is None
    await lived(pool, scheduler, 1)
    state = await pool.state(f"i{ENOUGH}")
    assert state.outlook is not None
    assert state.outlook.survive_1h == last.event.data.detail.levels[0].survive_1h.chance
    assert state.outlook.survive_1h == pytest.approx(20 / 30, abs=1e-4)


async def test_a_restart_and_another_leader_know_the_same(tmp_path: Path) -> None:
    pool = Pool()
    await pool.join("n1")
    file = tmp_path / "fold.json"
    first = pool.scheduler(file=file)
    await lived(pool, first, ENOUGH)
    await pool.submit("going", gpus=1, resource={"type": "idle"})
    await settle(first)
    await pool.launch("going")
    pool.pass_by(JUDGE_EVERY_S)
    await settle(first)
    assert file.exists()
    await lived(pool, first, 1)
    warm, cold = pool.scheduler(file=file), pool.scheduler()
    for each in (warm, cold):
        await each._read(await each._open())
    one, two, three = (each.pool(POOL) for each in (first, warm, cold))
    now = pool.clock.now()
    assert len(one.stays_at(now)) == ENOUGH + 2
    assert one.stays_at(now) == two.stays_at(now) == three.stays_at(now)
    assert one.told_stability == two.told_stability == three.told_stability is not None
    assert [s.frozen(s.pool(POOL)).stability for s in (warm, cold)] == [one.told_stability] * 2


async def test_bounds_move_on_with_the_next_leader_and_call_for_a_new_plan() -> None:
    pool = Pool()
    await pool.join("n1")
    first = pool.scheduler()
    await lived(pool, first, ENOUGH)
    found = [bounds(first.pool(POOL).told_stability)[MEDIUM]]
    second, versions = pool.scheduler(), []
    for _ in range(8):
        pool.pass_by(JUDGE_EVERY_S)
        await settle(second)
        found.append(bounds(second.pool(POOL).told_stability)[MEDIUM])
        versions.append(second.pool(POOL).version)
    # two of three last an hour where there is no risk: less than either level promises
    assert list(dict.fromkeys(found)) == [0.35, 0.2, 0.1, 0.05]
    assert versions[-1] == versions[-2] > versions[0]
    assert bounds(second.pool(POOL).told_stability)[HIGH] == 0.0
