"""How much spot jobs may hold where others may take it back: measured, kept to, and remembered."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.facts import Declined
from muster.domain.nodes import ForeignUse, NodeState
from muster.domain.phases import Phase
from muster.domain.pools import DemandHistory, SpotQuotaMeasured, SpotQuotaRow
from muster.domain.state import JobState
from muster.scheduler.core.eta import Unknown, eta
from muster.scheduler.core.explain import explain_by
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Order, Policy, SpotQuota
from muster.scheduler.core.snapshot import Eviction
from muster.scheduler.core.spot_quota import (
    EVERY_S,
    Found,
    feedback,
    measure,
    quota,
    row_of,
)
from muster.scheduler.core.verdicts import Plan, Waiting
from muster.scheduler.cycle import checkpoint
from muster.scheduler.cycle.stills import dump, load
from tests.scheduler.pools import Pool, auto_queue, settle
from tests.scheduler.worlds import (
    NOW,
    POOL,
    at,
    decisions,
    node,
    placements,
    queued,
    running,
    victims,
    world,
)

PRESENT = Policy(spot_quota=SpotQuota.NO_FORECAST)
FORECAST = Policy(spot_quota=SpotQuota.FORECAST)
SPOT: dict[str, Any] = {"kind": "spot"}


def row(quota: float | None, model: str = "A100", **more: Any) -> SpotQuotaRow:
    fields: dict[str, Any] = {"capacity": 32, "demand": 8, "forecast": 16, "held": 0, "eta": 1}
    fields |= {"evicted": 0, "kept": 0, "history": DemandHistory(hour=0, peak=8)}
    return SpotQuotaRow(gpu_model=model, quota=quota, **{**fields, **more})


def quoted(*rows: SpotQuotaRow, when: datetime = NOW) -> SpotQuotaMeasured:
    return SpotQuotaMeasured(at=when, upto=when, rows=rows)


def decide(
    nodes: list[NodeState], jobs: list[JobState], gpus: float | None, policy: Policy = PRESENT
) -> Plan:
    return plan(world(nodes, jobs, spot_quota=quoted(row(gpus))), policy)


def nodes(count: int, **more: Any) -> list[NodeState]:
    return [node(f"n{i}", **more) for i in range(count)]


# --- kept to -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("gpus", "fits"), [(15.999, False), (16, True), (17, True), (None, True)])
def test_a_spot_job_starts_within_the_quota_and_waits_beyond_it(
    gpus: float | None, fits: bool
) -> None:
    made = decide(nodes(4), [queued("j", 2, **SPOT)], gpus)
    assert ("j" in placements(made)) is fits
    if not fits:
        assert made.verdicts["t", "j"].why is Waiting.SPOT_QUOTA


@pytest.mark.parametrize(("waited", "starts"), [(86_399, False), (86_400, True)])
def test_the_quota_keeps_nobody_waiting_for_ever_and_says_when_to_look_again(
    waited: float, starts: bool
) -> None:
    made = decide(nodes(4), [queued("j", 4, entered=-waited, auto=False, **SPOT)], 4)
    assert ("j" in placements(made)) is starts
    jobs = [queued("j", 4, entered=-waited, **SPOT), queued("k", 1, entered=-10, **SPOT)]
    made = decide(nodes(4), jobs, 4)
    assert "k" not in placements(made)
    if not starts:
        assert made.next_at == at(1)


@pytest.mark.parametrize(("gpus", "fits"), [(15, False), (16, True)])
def test_what_spot_jobs_hold_counts_those_who_leave_too(gpus: float, fits: bool) -> None:
    made = decide(nodes(4), [running("a", ["n0"], **SPOT), queued("b", 1, **SPOT)], gpus)
    assert ("b" in placements(made)) is fits


def test_a_quota_limits_who_comes_and_sends_nobody_off() -> None:
    made = decide(nodes(4), [running(f"s{i}", [f"n{i}"], **SPOT) for i in range(3)], 0)
    assert decisions(made) == {}


@pytest.mark.parametrize("kind", ["on_demand", "reserved", "idle"])
def test_other_jobs_know_no_quota(kind: str) -> None:
    assert "j" in placements(decide(nodes(2), [queued("j", 2, kind=kind)], 0))


def test_an_equal_job_of_another_class_is_not_taken_for_one_that_the_quota_keeps_out() -> None:
    jobs = [queued("s", 1, entered=-200, **SPOT), queued("i", 1, kind="idle")]
    assert set(placements(decide(nodes(2), jobs, 0))) == {"i"}


def test_nodes_of_spot_capacity_are_not_limited_and_do_not_count() -> None:
    both = [*nodes(2), node("s0", spot=True), node("s1", spot=True)]
    jobs = [running("a", ["s0"], **SPOT), queued("b", 1, **SPOT), queued("c", 1, **SPOT)]
    made = decide(both, jobs, 8)
    assert placements(made).keys() == {"b", "c"}
    assert placements(decide(both, jobs, 0)).keys() == {"b"}


def test_each_model_has_a_quota_of_its_own() -> None:
    both = [node("a"), node("h", gpu_model="H100")]
    snapshot = world(both, [queued("j", 1, **SPOT)], spot_quota=quoted(row(0), row(8, "H100")))
    assert placements(plan(snapshot, PRESENT))["j"].keys() == {"h"}


def test_without_the_setting_or_a_measurement_nothing_is_limited() -> None:
    assert "j" in placements(decide(nodes(1), [queued("j", 1, **SPOT)], 0, Policy()))
    assert "j" in placements(plan(world(nodes(1), [queued("j", 1, **SPOT)]), FORECAST))


def test_a_one_shot_job_beyond_the_quota_had_its_round() -> None:
    made = decide(nodes(1), [queued("j", 1, auto=False, **SPOT)], 4)
    assert isinstance(decisions(made)["j"], Declined)


def test_it_is_explained_with_its_numbers_and_no_instant_is_promised() -> None:
    made = decide(nodes(4), [running("a", ["n0"], **SPOT), queued("b", 1, **SPOT)], 12)
    told = explain_by(made, ("t", "b"))
    assert told.why.code == "SPOT_QUOTA"
    assert told.why.numbers == {
        "model": "A100",
        "quota": "12",
        "used": "8",
        "asked": "8",
        "capacity": "32",
        "forecast": "16",
    }
    assert "12 GPUs of A100" in told.why.en
    assert "12 个 A100" in told.why.zh
    assert told.helps
    found = eta(made, ("t", "b"))
    assert (found.low, found.high, found.why) == (None, None, Unknown.QUOTA)


def test_in_strict_order_no_spot_job_passes_another_and_all_others_do() -> None:
    jobs = [
        running("full", ["n0"]),
        queued("big", 2, entered=-300, **SPOT),
        queued("small", 1, entered=-200, **SPOT),
        queued("own", 1, gpus=4),
    ]
    made = plan(world(nodes(2), jobs), Policy(order=Order.FIFO_SPOT))
    assert placements(made).keys() == {"own"}
    assert made.verdicts["t", "small"].why is Waiting.BEHIND
    assert "small" in placements(plan(world(nodes(2), jobs[:3]), Policy()))


# --- measured ----------------------------------------------------------------------------------


def measured(
    there: list[NodeState], jobs: list[JobState], now: float = 0, **more: Any
) -> SpotQuotaRow:
    made = plan(world(there, jobs, **more), PRESENT)
    found = measure(made, at(now)).of("A100")
    assert found is not None
    return found


def test_demand_is_what_others_hold_and_wait_for_and_capacity_what_is_open() -> None:
    jobs = [
        running("a", ["n0"]),
        running("s", ["n1"], **SPOT),
        running("i", ["n2"], kind="idle"),
        queued("q", 9, gpus=8),
        queued("never", 1, gpus=9),
        queued("more", 5, **SPOT),
    ]
    there = [*nodes(10), node("c", cordoned=True), node("x", foreign=ForeignUse(gpus=3))]
    found = measured([*there, node("s0", spot=True)], jobs)
    assert (found.capacity, found.demand, found.held) == (85, 8 + 72, 8)
    assert (found.forecast, found.quota) == (80, 5)


def test_a_model_that_is_away_is_not_forgotten() -> None:
    known = row(4.4, eta=0.3, history=DemandHistory(hour=0, peak=8, hours=400))
    for there in ([], [node("lost", condition="lost")], [node("h", gpu_model="H100")]):
        made = plan(world(there, [], spot_quota=quoted(known)), PRESENT)
        assert measure(made, at(0)).of("A100") == known


def test_a_wish_for_either_model_counts_where_more_is_left() -> None:
    both = [*nodes(1), *(node(f"h{i}", gpu_model="H100") for i in range(2))]
    made = plan(world(both, [running("k", ["h0", "h1"]), queued("q", 1)]), PRESENT)
    found = measure(made, NOW)
    assert [(one.gpu_model, one.demand) for one in found.rows] == [("A100", 8), ("H100", 16)]


def test_undisturbed_hours_and_evictions_are_counted_since_the_last_measurement() -> None:
    told = [
        Eviction(at(when), ("t", "v"), "b", EvictionCause.PRIORITY, spot_models=("A100",))
        for when in (-EVERY_S - 1, -EVERY_S, -1, 0)
    ]
    last = quoted(row(1), when=at(-EVERY_S))
    jobs = [running(f"s{i}", [f"n{i}"], **SPOT) for i in range(3)]
    found = measured(nodes(4), jobs, evictions=tuple(told), spot_quota=last)
    assert found.evicted == 2
    assert found.kept == pytest.approx(3 * EVERY_S / 3600)


def test_of_a_long_gap_nobody_claims_that_all_ran_undisturbed() -> None:
    last = quoted(row(1), when=at(-86_400))
    found = measured(nodes(2), [running("s", ["n0"], **SPOT)], spot_quota=last)
    assert found.kept == pytest.approx(2 * EVERY_S / 3600, abs=0.001)


@given(
    capacity=st.floats(0, 1e5),
    more=st.floats(0, 1e5),
    forecast=st.floats(0, 2e5),
    factor=st.floats(0.1, 2),
)
def test_a_quota_is_never_negative_nor_more_than_there_is_and_grows_with_capacity(
    capacity: float, more: float, forecast: float, factor: float
) -> None:
    found = quota(capacity, forecast, factor)
    assert 0 <= found <= capacity + 0.001
    assert quota(capacity + more, forecast, factor) >= found
    assert quota(capacity, forecast + more, factor) <= found


# --- the feedback ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evicted", "kept", "waits", "factor"),
    [
        (7.5, 72.4, True, None),
        (7.5, 72.5, True, 2 / 3),
        (7.4, 72.6, True, None),
        (2.6, 77.4, True, None),
        (2.5, 77.5, True, 1.0),
        (2.5, 77.5, False, None),
        (0.0, 80.0, True, 1.5),
        (0.0, 79.9, True, None),
        (80.0, 0.0, False, 0.5),
    ],
)
def test_it_moves_with_a_sample_that_is_large_enough_and_out_of_bounds(
    evicted: float, kept: float, waits: bool, factor: float | None
) -> None:
    """One in sixteen makes five of eighty hours."""
    found, moved = feedback(1.0, evicted, kept, waits, Policy(spot_evictions=1 / 16))
    assert moved is (factor is not None)
    assert found == pytest.approx(factor or 1.0, abs=0.001)


@given(
    st.lists(st.tuples(st.floats(0, 500), st.floats(0, 500), st.booleans()), max_size=60),
    st.floats(0.05, 1),
    st.floats(1, 4),
)
def test_no_course_of_evictions_takes_the_factor_out_of_its_bounds(
    course: list[tuple[float, float, bool]], low: float, high: float
) -> None:
    policy = Policy(spot_eta_min=low, spot_eta_max=high)
    factor = 1.0
    for evicted, kept, waits in course:
        factor, _ = feedback(factor, evicted, kept, waits, policy)
        assert low <= factor <= high


def test_bounds_of_one_switch_it_off_and_new_bounds_hold_at_once() -> None:
    still = Policy(spot_eta_min=1, spot_eta_max=1)
    assert feedback(1.0, 500, 500, True, still)[0] == 1.0
    assert feedback(1.7, 0, 0, False, still) == (1.0, False)


def test_the_sample_begins_anew_once_the_factor_was_moved() -> None:
    before = row(4, evicted=150, kept=150)
    found = row_of("A100", Found(capacity=32, demand=8), before, NOW, at(EVERY_S), PRESENT)
    assert (found.evicted, found.kept) == (0, 0)
    assert found.eta == 0.5
    assert found.quota == 12
    after = row_of("A100", Found(capacity=32, demand=8), found, NOW, at(EVERY_S), PRESENT)
    assert after.eta == 0.5


def test_it_grows_only_for_a_spot_job_that_waited_an_hour_for_the_quota() -> None:
    for waited, grows in ((3599, False), (3600, True)):
        jobs = [queued("j", 2, entered=-waited, **SPOT)]
        last = quoted(row(8, kept=300, demand=0), when=at(-EVERY_S))
        found = measured(nodes(2), jobs, spot_quota=last)
        assert (found.eta > 1) is grows


@given(st.lists(st.tuples(st.floats(0, 64), st.integers(0, 3), st.integers(0, 9)), max_size=80))
def test_any_course_gives_the_same_again_and_keeps_its_bounds(
    course: list[tuple[float, int, int]],
) -> None:
    def follow() -> list[SpotQuotaRow]:
        rows: list[SpotQuotaRow] = []
        for index, (demand, evicted, jobs) in enumerate(course):
            found = Found(64, demand, 8, jobs, evicted, index % 2 == 0)
            last, when = (rows[-1] if rows else None), at(index * 3600)
            rows.append(row_of("A100", found, last, when, when + timedelta(hours=1), FORECAST))
        return rows

    rows = follow()
    assert rows == follow()
    for one in rows:
        assert one.quota is None or 0 <= one.quota <= one.capacity
        assert 0.1 <= one.eta <= 2
        assert one.forecast is None or one.forecast >= one.demand - 0.001


# --- remembered --------------------------------------------------------------------------------


async def pool_with_spot() -> Pool:
    pool = Pool()
    await pool.join("n1", "n2")
    await pool.submit("spot", resource={"type": "spot"}, auto_queue=auto_queue())
    return pool


async def test_the_leader_measures_every_five_minutes_and_says_what_is_new() -> None:
    pool = await pool_with_spot()
    scheduler = pool.scheduler(policy=PRESENT)
    await settle(scheduler)
    assert len(pool.events("spot_quota")) == 1
    pool.pass_by(EVERY_S - 1)
    await settle(scheduler)
    assert len(pool.events("spot_quota")) == 1
    pool.pass_by(1)
    await settle(scheduler)
    assert len(pool.events("spot_quota")) == 2
    assert pool.events("spot_quota")[1].event.data.detail.of("A100").held == 8


async def test_with_the_quota_off_nothing_is_said() -> None:
    pool = await pool_with_spot()
    scheduler = pool.scheduler()
    await settle(scheduler)
    pool.pass_by(EVERY_S)
    await settle(scheduler)
    assert pool.events("spot_quota") == []


async def test_a_new_leader_goes_on_from_what_was_measured(tmp_path: Path) -> None:
    pool = await pool_with_spot()
    first = pool.scheduler(policy=PRESENT)
    await settle(first)
    for _ in range(3):
        pool.pass_by(3600)
        await settle(first)
    before = first.fold.pools[POOL].measured_quota
    assert before is not None
    file = tmp_path / "fold.json"
    assert checkpoint.save(file, first.fold, first.position)
    for second in (pool.scheduler(policy=PRESENT), pool.scheduler(policy=PRESENT, file=file)):
        await settle(second)
        assert second.fold.pools[POOL].measured_quota == before
    pool.pass_by(3600)
    await settle(second)
    after = second.fold.pools[POOL].measured_quota
    assert after is not None
    now, then = after.of("A100"), before.of("A100")
    assert now is not None
    assert then is not None
    assert now.history.hour == then.history.hour + 1
    assert now.history.hours == then.history.hours + 1


async def test_a_leader_that_was_replaced_cannot_say_anything_of_it() -> None:
    pool = await pool_with_spot()
    old = pool.scheduler(policy=PRESENT)
    await settle(old)
    new = pool.scheduler(policy=PRESENT)
    await new.step()
    await settle(new)
    count = len(pool.events("spot_quota"))
    pool.pass_by(EVERY_S)
    await old.cycles[POOL]._measure_quota()
    assert len(pool.events("spot_quota")) == count


async def test_evictions_of_spot_jobs_from_ordinary_nodes_are_remembered_with_their_models(
    tmp_path: Path,
) -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler(policy=PRESENT)
    await pool.submit("spot", resource={"type": "spot"}, auto_queue=auto_queue())
    await settle(scheduler)
    await pool.launch("spot")
    await pool.submit("own")
    await settle(scheduler)
    assert (await pool.state("spot")).phase is Phase.EVICTING
    told = scheduler.fold.pools[POOL].evictions
    assert [one.spot_models for one in told] == [("A100",)]
    file = tmp_path / "fold.json"
    assert checkpoint.save(file, scheduler.fold, scheduler.position)
    found = await checkpoint.load(file, frozenset(), pool.log)
    assert found is not None
    assert found.fold.pools[POOL].evictions == told
    await pool.write("spot", f.Signalled(attempt=1))
    await pool.release("spot")
    pool.pass_by(EVERY_S)
    await settle(scheduler)
    last = scheduler.fold.pools[POOL].measured_quota
    assert last is not None
    assert [one.evicted for one in last.rows] == [1]


async def test_a_lower_quota_is_kept_to_by_the_next_round_and_a_higher_one_lets_them_start() -> (
    None
):
    pool = Pool()
    await pool.join("n1", "n2")
    scheduler = pool.scheduler(policy=PRESENT)
    await pool.submit("own", gpus=8)
    await settle(scheduler)
    await pool.launch("own")
    await pool.submit("spot", resource={"type": "spot"}, auto_queue=auto_queue(), workers=2)
    pool.pass_by(EVERY_S)
    await settle(scheduler)
    assert (await pool.state("spot")).phase is Phase.QUEUED
    await pool.write("own", f.Succeeded(attempt=1), f.Released(attempt=1))
    await settle(scheduler)
    assert (await pool.state("spot")).phase is Phase.QUEUED
    pool.pass_by(EVERY_S)
    await settle(scheduler)
    assert (await pool.state("spot")).phase is Phase.STARTING


def test_a_snapshot_on_file_keeps_the_quota() -> None:
    snapshot = world(nodes(1), [queued("j", 1, **SPOT)], spot_quota=quoted(row(4)))
    assert load(dump(snapshot)).spot_quota == quoted(row(4))
    assert victims(plan(load(dump(snapshot)), PRESENT)) == set()
