"""Room kept for who waits too long: it starts in the end, and those behind it do not delay it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from muster.domain.facts import Scheduled
from muster.domain.nodes import NodeState
from muster.domain.state import JobState
from muster.domain.waiting_words import steady
from muster.scheduler.core.endings import Basis
from muster.scheduler.core.explain import explain
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.verdicts import Plan, Waiting
from tests.scheduler.timeline import Timeline, Work
from tests.scheduler.worlds import (
    NOW,
    at,
    decisions,
    held,
    node,
    only,
    placements,
    preempted,
    queued,
    role,
    running,
    victims,
    world,
)

POLICY = Policy(reserve_after_s=600, reserve_max_s=7200)
HOUR = 3600.0


def pool(count: int, gpus: int = 8) -> list[NodeState]:
    """Return equal nodes."""
    return [node(f"n{i:02}", gpus) for i in range(count)]


def waits(name: str, **more: Any) -> JobState:
    """Make a job without a deadline in the queue."""
    return queued(name, **{"auto": False, **more})


# --- small jobs and a big gang ------------------------------------------------------------------


def starved(policy: Policy, small: dict[str, Any] | None = None, **big: Any) -> Timeline:
    """Let small jobs keep 16 nodes full, with one that waits, and a gang of 16 come among them."""
    works = [Work(waits(f"s{i:03}", entered=i * 36, **(small or {})), runs=600) for i in range(500)]
    gang = waits("big", **{"workers": 16, "entered": 700, **big})
    return Timeline(pool(16), [*works, Work(gang, runs=60)], policy)


def test_without_a_reservation_small_jobs_starve_a_big_gang() -> None:
    line = starved(Policy(reserve_max_s=0))
    line.run(5 * HOUR)
    assert "big" not in line.started


def test_a_big_gang_starts_when_those_have_ended_who_were_there() -> None:
    line = starved(Policy(reserve_after_s=1800))
    line.run(5 * HOUR)
    assert 700 + 1800 <= line.started["big"] <= 700 + 1800 + 600
    began = sorted(line.started.values())
    assert sum(700 < when < 2500 for when in began) > 40, "until then small ones may pass"
    assert not [when for when in began if 2500 < when < line.started["big"]]


def test_a_higher_gang_has_its_nodes_at_once() -> None:
    line = starved(Policy(reserve_after_s=1800), priority=90)
    line.run(2 * HOUR)
    assert line.started["big"] == 700


@pytest.mark.sibling_of("SCL-03")
def test_small_jobs_of_higher_priority_go_before_it_until_its_wait_counts_for_more() -> None:
    line = starved(Policy(reserve_after_s=1800, age_s=60), small={"priority": 90}, guarantee=False)
    line.run(5 * HOUR)
    assert line.started["big"] > 700 + 40 * 60
    assert line.started["big"] < 700 + 40 * 60 + 1800 + 600


@pytest.mark.sibling_of("SCL-03")
def test_two_gangs_take_turns_with_the_small_ones() -> None:
    line = starved(Policy(reserve_after_s=1800))
    other = waits("other", workers=12, entered=900)
    line._to_come.append(Work(other, runs=60))
    line._to_come.sort(key=lambda work: -work.comes)
    line._runs["other"] = 60
    line.run(5 * HOUR)
    assert line.started["big"] < line.started["other"] < line.started["big"] + 1300


@pytest.mark.sibling_of("SCL-03")
def test_only_the_nodes_that_the_gang_may_use_are_kept() -> None:
    names = [f"n{i:02}" for i in range(4)]
    line = starved(Policy(reserve_after_s=600), workers=4, node_policy=only(*names))
    line.run(5 * HOUR)
    assert line.started["big"] <= 700 + 600 + 600
    meanwhile = [w for n, w in line.started.items() if 1300 < w < line.started["big"]]
    assert len(meanwhile) >= 8, "the other nodes go on"


def test_many_small_jobs_on_each_node_do_not_let_the_kept_room_wander() -> None:
    dice = Random(3)
    works = [
        Work(waits(f"s{i:04}", gpus=1, entered=i * 9), runs=dice.randint(300, 900))
        for i in range(500)
    ]
    gang = Work(waits("big", workers=4, entered=700), runs=60)
    line = Timeline(pool(8), [*works, gang], Policy(reserve_after_s=600))
    line.run(4 * HOUR, stop="big")
    assert line.started["big"] <= 700 + 600 + 900


# --- when nobody knows when they end ------------------------------------------------------------


def test_room_is_kept_for_a_while_then_given_to_others_for_as_long() -> None:
    eternal = running("eternal", ["n0"], entered=-90 * HOUR, since=-80 * HOUR, auto=False)
    big = waits("big", workers=2, entered=0)
    small = waits("small", entered=60)
    nodes = [node("n0"), node("n1")]

    def starts(now: float) -> Plan:
        return plan(world(nodes, [eternal, big, small], now), POLICY)

    assert set(placements(starts(599))) == {"small"}
    for now in (600, 7799, 600 + 2 * 7200):
        made = starts(now)
        assert placements(made) == {}
        assert made.verdicts["t", "small"].why is Waiting.RESERVED
        assert made.reservation is not None
        assert (made.reservation.job, made.reservation.until) == (("t", "big"), None)
    assert set(placements(starts(7800))) == {"small"}
    assert starts(0).next_at == at(600)
    assert starts(600).next_at == at(7800)
    assert starts(7800).next_at == at(600 + 2 * 7200)
    second = 600 + 2 * 7200  # twice as long as the first one
    assert starts(second).next_at == at(second + 2 * 7200)
    assert placements(starts(second + 2 * 7200 - 1)) == {}
    assert set(placements(starts(second + 2 * 7200))) == {"small"}
    assert placements(starts(second + 3 * 7200)) == {}


def test_room_is_kept_without_a_pause_while_limits_prove_the_end_however_far_away() -> None:
    far = running("r", ["n00"], max_runtime_s=90 * HOUR, auto=False)
    for now in (0, 7800, 50_000, 300_000):
        made = plan(world(pool(2), [far, BIG, waits("j")], now), POLICY)
        assert placements(made) == {}
        assert made.reservation is not None
        assert made.reservation.until is not None


def test_what_was_learned_tells_when() -> None:
    works = [Work(waits(f"a{i}", entered=i * 1000), runs=900) for i in range(6)]
    runs = Work(waits("r", entered=6100), runs=900)
    big = Work(waits("big", workers=2, entered=6200), runs=60)
    made: list[Plan] = []
    line = Timeline(pool(2), [*works, runs, big], Policy(reserve_after_s=60), made.append)
    line.run(6300)
    last = made[-1].reservation
    assert last is not None
    assert last.shadow.basis is Basis.LEARNED
    assert last.until is not None
    assert at(7000) <= last.until <= at(7000 + 200)
    # who is certainly gone before any of its kind was ever done may use the room meanwhile
    snapshot = line.snapshot()
    quick = waits("quick", entered=6290, max_runtime_s=60, start_deadline_s=30, grace_s=0)
    slow = waits("slow", entered=6290, max_runtime_s=700, start_deadline_s=30)
    for job, fits in ((quick, True), (slow, False)):
        listed = world([], [job]).jobs
        found = plan(replace(snapshot, jobs=(*snapshot.jobs, *listed)), Policy(reserve_after_s=60))
        assert bool(placements(found)) is fits


# --- who may use the room -----------------------------------------------------------------------

BUSY = running("r", ["n0"], max_runtime_s=HOUR, auto=False, grace_s=0)
"""Gone an hour after NOW - 40."""
BIG = waits("big", workers=2, entered=-1000)


def tried(*jobs: JobState, policy: Policy = POLICY) -> Plan:
    """Plan with a gang that needs both nodes, one of which is taken for an hour."""
    return plan(world(pool(2), [replaced(BUSY), BIG, *jobs]), policy)


def replaced(job: JobState) -> JobState:
    """Return the job on the first of the pool's nodes."""
    return job.model_copy(update={"held": {"n00": ("worker-0",)}})


@pytest.mark.parametrize(
    ("more", "fits"),
    [
        ({"max_runtime_s": 1800}, True),
        ({"max_runtime_s": 3400}, False),
        ({"max_runtime_s": 1800, "max_restarts": 1}, False),
        ({"max_runtime_s": 1800, "start_deadline_s": 2000}, False),
        ({"max_runtime_s": 1800, "debug_hold_s": 1000}, False),
        ({}, False),
        ({"kind": "idle"}, True),
        ({"kind": "spot"}, False),
        ({"priority": 10}, False),
        ({"priority": 51, "entered": -1000 + 601}, False),
    ],
    ids=str,
)
def test_who_may_use_the_room_meanwhile(more: dict[str, Any], fits: bool) -> None:
    made = tried(waits("j", **more))
    assert (set(placements(made)) == {"j"}) is fits
    found = made.reservation
    assert found is not None
    assert found.until == at(HOUR - 40)
    if not fits:
        assert made.verdicts["t", "j"].why is Waiting.RESERVED


@pytest.mark.parametrize(
    "more", [{"entered": -1001}, {"priority": 60}, {"guarantee": True}], ids=str
)
def test_who_stands_before_it_is_not_kept_out(more: dict[str, Any]) -> None:
    made = tried(waits("j", **more))
    assert set(placements(made)) == {"j"}
    assert made.reservation is not None
    assert made.reservation.until is None


def test_room_beside_the_gang_is_free_for_everybody() -> None:
    half = waits("half", workers=2, gpus=6, entered=-1000)
    made = plan(world(pool(2), [replaced(BUSY), half, waits("j", gpus=2)]), POLICY)
    assert placements(made) == {"j": {"n01": ("worker-0",)}}
    made = plan(world(pool(2), [replaced(BUSY), half, waits("j", gpus=3)]), POLICY)
    assert placements(made) == {}


def test_several_may_use_the_room_together_and_in_turn() -> None:
    short = {"max_runtime_s": 1000, "gpus": 4}
    made = tried(waits("a", **short), waits("b", **short), waits("c", **short), waits("d", gpus=1))
    assert set(placements(made)) == {"a", "b"}
    assert made.board.free("n01").gpus == 0


def test_what_is_kept_counts_as_free_on_the_board() -> None:
    made = tried()
    assert made.reservation is not None
    assert made.board.free("n01").gpus == 8


@pytest.mark.parametrize(
    "more",
    [
        {"kind": "idle"},
        {"kind": "spot"},
        {"not_before": at(60)},
        {"workers": 3},
        {"node_policy": only("n7")},
        {"entered": -10},
    ],
    ids=str,
)
def test_no_room_is_kept_for_what_lacks_something_else(more: dict[str, Any]) -> None:
    big = waits("big", **{"workers": 2, "entered": -1000, **more})
    made = plan(world(pool(2), [replaced(BUSY), big, waits("j")]), POLICY)
    assert set(placements(made)) == {"j"}
    assert made.reservation is None


def test_the_reserved_and_those_kept_out_say_so() -> None:
    snapshot = world(pool(2), [replaced(BUSY), BIG, waits("j")])
    mine, other = (explain(snapshot, ("t", name), POLICY).why for name in ("big", "j"))
    assert (mine.code, other.code) == (Waiting.NO_ROOM, Waiting.RESERVED)
    assert "since 2029-12-31 23:53:20 UTC" in mine.en
    assert "kept for big" in other.en
    for told in (mine, other):
        assert "2030-01-01 00:59:20" in told.en
        assert "2030-01-01 00:59:20" in told.zh
        assert "00:59:20" not in steady(told).en + steady(told).zh


# --- nobody is blocked from below ---------------------------------------------------------------


def test_a_placement_on_paper_of_a_lower_job_never_blocks_a_higher_one() -> None:
    victim = preempted(running("v", ["n00"], kind="spot"), when=-5)
    paper = held(waits("low", workers=2, priority=20), ["n00", "n01"], waits=[victim], when=-5)
    made = plan(world(pool(2), [victim, paper, waits("high", priority=80)]), POLICY)
    assert set(placements(made)) == {"high"}


def test_a_reservation_never_blocks_who_stands_before_it() -> None:
    made = tried(waits("high", priority=90, entered=-1))
    assert set(placements(made)) == {"high"}
    assert victims(made) == set()


# --- the proof, in many small pools -------------------------------------------------------------

seeds = st.integers(min_value=0, max_value=2**32)


def random_work(dice: Random, name: str, comes: float, *, limited: bool, idle: float = 0.2) -> Work:
    """Make a job that runs no longer than its limit, if it has one."""
    limit = dice.randint(60, 6000)
    runs = max(1, int(limit * dice.choice([0.2, 0.9, 1.0, dice.random()])))
    more: dict[str, Any] = {"max_runtime_s": limit} if limited else {}
    if dice.random() < idle:
        more |= {"kind": "idle"}
    state = waits(
        name,
        workers=dice.randint(1, 3),
        gpus=dice.choice([1, 2, 4, 8]),
        entered=comes,
        start_deadline_s=dice.choice([0, 60, 900]),
        grace_s=0,
        **more,
    )
    return Work(state, runs)


@settings(max_examples=15, deadline=None)
@given(seeds)
@example(275139)  # an idle job is told to leave the kept room in the middle of a round
def test_a_gang_starts_no_later_than_it_was_first_promised(seed: int) -> None:
    dice = Random(seed)
    count = dice.randint(2, 6)
    works = [random_work(dice, f"a{i}", dice.randint(0, 500), limited=True) for i in range(14)]
    for number in range(20):
        limited = dice.random() < 0.7
        works.append(random_work(dice, f"b{number}", 1000 + number * 150, limited=limited))
    gang = waits("big", workers=dice.randint(2, count), gpus=8, entered=600)
    works.append(Work(gang, 60))
    promised: list[datetime] = []

    def watch(made: Plan) -> None:
        found = made.reservation
        if found and found.job == ("t", "big") and found.shadow.basis is Basis.LIMITS:
            promised.append(found.shadow.at)

    line = Timeline(pool(count), works, Policy(reserve_after_s=300, reserve_max_s=20_000), watch)
    line.run(20 * HOUR, stop="big")
    assert "big" in line.started
    if promised:
        assert line.started["big"] <= (promised[0] - NOW).total_seconds()
        assert promised == sorted(promised, reverse=True)


@settings(max_examples=15, deadline=None)
@given(seeds)
def test_who_stands_behind_changes_nothing_of_the_promise(seed: int) -> None:
    dice = Random(seed)
    count = dice.randint(2, 6)
    works = [
        random_work(dice, f"a{i}", dice.randint(0, 500), limited=True, idle=0) for i in range(14)
    ]
    gang = Work(waits("big", workers=count, gpus=8, entered=600), 60)
    line = Timeline(pool(count), [*works, gang], Policy(reserve_after_s=300))
    line.run(1000)
    behind = [random_work(dice, f"b{i}", 990, limited=True, idle=0).state for i in range(10)]
    alone = line.snapshot()
    crowded = replace(alone, jobs=(*alone.jobs, *world([], behind).jobs))
    one, two = plan(alone, line.policy), plan(crowded, line.policy)
    if one.reservation is None:
        assert two.reservation is None or two.reservation.job[1].startswith("b")
        return
    assert two.reservation is not None
    assert one.reservation == two.reservation


def test_a_shared_card_in_kept_room_is_lent_too() -> None:
    share: dict[str, Any] = {"roles": (role(gpus=0, gpu_milli=250),), "auto": False}
    there = running("s", ["n01"], **share, max_runtime_s=HOUR, grace_s=0)
    there = there.model_copy(update={"cards": {"worker-0": 0}})
    gang = waits("big", entered=-1000, roles=(role(replicas=2, gpus=0, gpu_milli=600),))
    guest = waits("j", kind="idle", roles=(role(gpus=0, gpu_milli=200),))
    nodes = pool(2, gpus=1)
    busy = replaced(running("r", ["n00"], gpus=1, max_runtime_s=HOUR, auto=False, grace_s=0))
    made = plan(world(nodes, [busy, there, gang, guest]), POLICY)
    assert made.reservation is not None
    assert made.reservation.until is not None
    assert placements(made) == {"j": {"n01": ("worker-0",)}}
    told = decisions(made)["j"]
    assert isinstance(told, Scheduled)
    assert told.cards == {"worker-0": 0}
