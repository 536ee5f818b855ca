"""Who leaves for whom: eligible, useful, minimal, from the bottom, and never without need."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.demand import Locality, LocalityMode
from muster.domain.nodes import NodeState
from muster.domain.progress import Progress
from muster.domain.state import JobState
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rank import lost_work
from tests.scheduler.worlds import (
    NOW,
    at,
    decide,
    decisions,
    held,
    launched,
    node,
    only,
    placements,
    preempted,
    queued,
    running,
    victims,
    world,
)


def low(name: str, *nodes: str, priority: int = 20, **more: Any) -> JobState:
    """Make a running job of low priority."""
    return running(name, list(nodes), priority=priority, **more)


def high(name: str = "h", workers: int = 1, gpus: int = 8, **more: Any) -> JobState:
    """Make a queued job of high priority."""
    return queued(name, workers, gpus, **{"priority": 80, **more})


N1, N2, N3, N4 = (node(f"n{i}") for i in range(1, 5))

TABLE: dict[str, tuple[list[NodeState], list[JobState], set[str], set[str]]] = {
    # nodes, jobs, placed, evicted
    "one is enough": (
        [N1, N2, N3],
        [low("a", "n1"), low("b", "n2"), low("c", "n3"), high()],
        {"h"},
        {"?"},
    ),
    "none if it fits without": ([N1, N2], [low("a", "n1"), high()], {"h"}, set()),
    "none if it never fits": (
        [N1, N2],
        [
            low("a", "n1", gpus=4),
            low("g", "n1", gpus=4, guarantee=True),
            high(),
            low("b", "n2", gpus=4),
            low("k", "n2", gpus=4, guarantee=True),
        ],
        set(),
        set(),
    ),
    "idle room counts first": (
        [N1],
        [
            low("v1", "n1", gpus=2),
            low("v2", "n1", gpus=2, priority=30),
            low("g", "n1", gpus=2, guarantee=True),
            high(gpus=4),
        ],
        {"h"},
        {"v1"},
    ),
    "from the bottom": (
        [N1, N2],
        [low("low", "n1", priority=10), low("mid", "n2", priority=50), high()],
        {"h"},
        {"low"},
    ),
    "never an equal": ([N1], [low("r", "n1", priority=50), high(priority=50)], set(), set()),
    "never a guaranteed one": ([N1], [low("r", "n1", guarantee=True), high()], set(), set()),
    "a guaranteed one evicts no equal": (
        [N1],
        [low("r", "n1", priority=50), high(priority=50, guarantee=True)],
        set(),
        set(),
    ),
    "spot for the rest, whatever the priority": (
        [N1],
        [low("s", "n1", kind="spot", priority=99), high(priority=1)],
        {"h"},
        {"s"},
    ),
    "idle for spot": (
        [N1],
        [low("i", "n1", kind="idle"), high(kind="spot", priority=1)],
        {"h"},
        {"i"},
    ),
    "idle evicts nobody": ([N1], [low("i", "n1", kind="idle"), high(kind="idle")], set(), set()),
    "idle before spot before the rest": (
        [N1, N2, N3],
        [
            low("r", "n1", priority=1),
            low("s", "n2", kind="spot"),
            low("i", "n3", kind="idle"),
            high(workers=2),
        ],
        {"h"},
        {"s", "i"},
    ),
    "whole gangs": ([N1, N2], [low("g", "n1", "n2"), high(node_policy=only("n1"))], {"h"}, {"g"}),
    "one gang rather than two": (
        [N1, N2, N3],
        [
            low("a", "n1", since=-10),
            low("b", "n2", since=-10),
            low("g", "n3", since=-900),
            high(node_policy=only("n1", "n2", "n3")),
        ],
        {"h"},
        {"?"},
    ),
    "an unusable candidate is passed over": (
        [N1, N2, N3],
        [low("big", "n1", "n2", guarantee=True), low("s", "n3", priority=30), high()],
        {"h"},
        {"s"},
    ),
    "only where the policy lets it go": (
        [N1, N2],
        [low("a", "n1", priority=10), low("b", "n2", priority=20), high(node_policy=only("n2"))],
        {"h"},
        {"b"},
    ),
    "the second recomputes against the first": (
        [N1, N2, N3],
        [
            low("x", "n1"),
            low("y", "n2"),
            low("z", "n3"),
            high("h1", workers=2, priority=90),
            high("h2", workers=2),
        ],
        {"h1"},
        {"?", "??"},
    ),
    "the hero is considered first": (
        [N1, N2, N3],
        [low("x", "n1", priority=10), low("y", "n2", priority=20), low("k", "n3", guarantee=True)]
        + [queued(f"s{i}") for i in range(5)]
        + [high("hero", priority=95)],
        {"hero", "s0"},
        {"x", "y"},
    ),
}


@pytest.mark.parametrize(("nodes", "jobs", "placed", "evicted"), TABLE.values(), ids=list(TABLE))
def test_table(
    nodes: list[NodeState], jobs: list[JobState], placed: set[str], evicted: set[str]
) -> None:
    made = decide(nodes, jobs)
    assert set(placements(made)) == placed
    assert len(victims(made)) == len(evicted)
    if not any(name.startswith("?") for name in evicted):
        assert victims(made) == evicted


def test_several_small_victims_give_way_to_one_that_is_enough() -> None:
    small = [low(f"s{i}", "n1", gpus=1, since=-1) for i in range(8)]
    made = decide([N1, N2], [*small, low("one", "n2", since=-9000), high()])
    assert victims(made) == {"one"}


def test_the_least_lost_work_leaves() -> None:
    jobs = [low("long", "n1", since=-9000), low("short", "n2", since=-5), high()]
    assert victims(decide([N1, N2], jobs)) == {"short"}


def test_lost_work_counts_from_the_last_checkpoint_heard_of() -> None:
    """The long job saved a moment ago; a checkpoint of a run before this one saves nothing."""
    saved = Progress(step=9, checkpoint_step=9, checkpointed_at=NOW - timedelta(seconds=10))
    old = Progress(step=9, checkpoint_step=9, checkpointed_at=NOW - timedelta(seconds=5000))
    long = low("long", "n1", since=-9000).model_copy(update={"progress": saved})
    short = low("short", "n2", since=-60).model_copy(update={"progress": old})
    assert (lost_work(long, NOW), lost_work(short, NOW)) == (8 * 10, 8 * 60)
    assert victims(decide([N1, N2], [long, short, high()])) == {"long"}


@pytest.mark.case("PRE-25")
def test_a_tie_is_broken_by_no_name() -> None:
    hit = {"a": 0, "b": 0, "c": 0}
    for turn in range(300):
        jobs = [low(f"{who}-{turn}", n) for who, n in (("a", "n1"), ("b", "n2"), ("c", "n3"))]
        (victim,) = victims(decide([N1, N2, N3], [*jobs, high()]))
        assert victims(decide([N3, N2, N1], [high(), *jobs[::-1]])) == {victim}
        hit[victim[0]] += 1
    assert all(60 <= count <= 141 for count in hit.values()), hit


@pytest.mark.sibling_of("PRE-25")
def test_who_has_many_jobs_is_hit_as_often_as_they_are() -> None:
    """Of three of one person and one of another each is a victim as often as any other."""
    hit = {"a": 0, "b": 0}
    nodes = [node(f"n{number}") for number in range(4)]
    for turn in range(200):
        names = [f"a{n}-{turn}" for n in range(3)] + [f"b-{turn}"]
        jobs = [low(name, f"n{number}") for number, name in enumerate(names)]
        (victim,) = victims(decide(nodes, [*jobs, high()]))
        hit[victim[0]] += 1
    assert 30 <= hit["b"] <= 72, hit


def test_the_victims_leave_and_the_beneficiary_waits_for_them() -> None:
    jobs = [low("a", "n1", grace_s=30), low("b", "n2", grace_s=90), high(workers=2)]
    made = decide([N1, N2], jobs)
    found = decisions(made)
    assert len(made.moves) == 1
    assert isinstance(found["a"], f.Preempted)
    assert (found["a"].cause, found["a"].by, found["a"].grace_s) == (
        EvictionCause.PRIORITY,
        "h",
        30,
    )
    assert isinstance(found["h"], f.Scheduled)
    assert {(wait.job, wait.attempt) for wait in found["h"].waits_for} == {("a", 1), ("b", 1)}
    assert found["h"].grace_s == 90


def test_an_idle_victim_is_reclaimed() -> None:
    found = decisions(decide([N1], [low("i", "n1", kind="idle"), high()]))
    assert isinstance(found["i"], f.Preempted)
    assert found["i"].cause is EvictionCause.IDLE_RECLAIM


def test_a_claim_in_progress_is_not_repeated() -> None:
    v1 = preempted(low("v1", "n1"), when=-5, by="h")
    waiting = held(high(), ["n1"], waits=[v1], when=-5)
    assert decide([N1, N2], [v1, low("v2", "n2"), waiting]).moves == ()


def test_what_leaves_anyway_is_counted_before_anybody_is_evicted() -> None:
    out = preempted(low("out", "n1"), when=-5)
    made = decide([N1, N2], [out, low("v", "n2"), high()])
    assert victims(made) == set()
    found = decisions(made)["h"]
    assert isinstance(found, f.Scheduled)
    assert (found.placement, found.grace_s) == ({"n1": ("worker-0",)}, 25)
    assert [wait.job for wait in found.waits_for] == ["out"]


def test_room_that_is_free_is_taken_before_room_that_is_promised() -> None:
    out = preempted(low("out", "n1"), when=-5)
    made = decide([N1, N3], [out, high()])
    assert placements(made) == {"h": {"n3": ("worker-0",)}}


def test_a_node_to_avoid_is_used_before_anybody_is_evicted() -> None:
    made = decide([N1, N2], [low("v", "n1"), high(avoid=("n2",))])
    assert victims(made) == set()
    assert placements(made) == {"h": {"n2": ("worker-0",)}}


def test_room_promised_on_a_node_to_avoid_is_used_before_anybody_is_evicted() -> None:
    out = preempted(low("out", "n2"), when=-5)
    made = decide([N1, N2], [low("v", "n1"), out, high(avoid=("n2",))])
    assert victims(made) == set()
    assert placements(made) == {"h": {"n2": ("worker-0",)}}


def test_a_node_to_avoid_where_it_does_not_fit_either_saves_nobody() -> None:
    sure = low("sure", "n2", gpus=4, guarantee=True)
    made = decide([N1, N2], [low("v", "n1"), sure, high(avoid=("n2",))])
    assert victims(made) == {"v"}


def test_a_suspected_node_is_used_before_anybody_is_evicted() -> None:
    made = decide([N1, node("n2", suspected=True)], [low("v", "n1"), high()])
    assert victims(made) == set()
    assert placements(made) == {"h": {"n2": ("worker-0",)}}


def test_a_spot_job_goes_to_other_nodes_before_anybody_is_evicted() -> None:
    jobs = [low("v", "s1", kind="spot"), high(kind="spot")]
    made = decide([node("s1", spot=True), N1], jobs)
    assert victims(made) == set()
    assert placements(made) == {"h": {"n1": ("worker-0",)}}


def test_who_does_not_leave_in_time_is_not_counted_on() -> None:
    stuck = preempted(low("stuck", "n1"), when=-1000)
    made = decide([N1, N2], [stuck, low("v", "n2"), high()])
    assert victims(made) == {"v"}
    assert placements(made) == {"h": {"n2": ("worker-0",)}}


def test_an_idle_job_waits_for_room_that_is_free_now() -> None:
    out = preempted(low("out", "n1"), when=-5)
    assert decide([N1], [out, queued("i", kind="idle")]).moves == ()


def test_nobody_else_gets_the_room_of_a_victim() -> None:
    victim = preempted(low("v", "n1"), when=-5, by="h")
    waiting = held(high(), ["n1"], waits=[victim], when=-5)
    made = decide([N1], [victim, waiting, queued("w"), queued("i", kind="idle")])
    assert made.moves == ()
    # nor once the victim is gone and the beneficiary has not started yet
    assert decide([N1], [waiting, queued("w"), queued("i", kind="idle")]).moves == ()


def test_what_a_beneficiary_leaves_of_its_victims_room_may_be_used() -> None:
    victim = preempted(low("v", "n1", gpus=8), when=-5, by="h")
    waiting = held(high(gpus=5), ["n1"], waits=[victim], when=-5)
    made = decide([N1], [victim, waiting, queued("w", gpus=3), queued("x", gpus=1)])
    found = decisions(made)
    assert set(found) == {"w"}
    assert isinstance(found["w"], f.Scheduled)
    assert [wait.job for wait in found["w"].waits_for] == ["v"]


def test_room_beside_a_victim_and_its_beneficiary_is_free() -> None:
    victim = preempted(low("v", "n1", gpus=4), when=-5, by="h")
    waiting = held(high(gpus=3), ["n1"], waits=[victim], when=-5)
    made = decide([N1], [victim, waiting, queued("w", gpus=4), queued("x", gpus=1, priority=1)])
    found = decisions(made)
    assert isinstance(found["w"], f.Scheduled)
    assert found["w"].waits_for == ()
    assert isinstance(found["x"], f.Scheduled)
    assert [wait.job for wait in found["x"].waits_for] == ["v"]


def test_room_beside_them_is_free_in_the_round_that_evicts_too() -> None:
    sure = low("k", "n1", gpus=2, guarantee=True)
    jobs = [low("v", "n1", gpus=4), sure, high(gpus=4), queued("w", gpus=2)]
    found = decisions(decide([N1], jobs))
    assert isinstance(found["h"], f.Scheduled)
    assert isinstance(found["w"], f.Scheduled)
    assert found["w"].waits_for == ()


def test_more_room_than_was_needed_goes_to_the_first_in_line() -> None:
    first = queued("first", gpus=3, priority=10, guarantee=True)
    last = queued("last", gpus=3, priority=10)
    made = decide([N1], [low("v", "n1"), first, high(gpus=5), last])
    assert set(decisions(made)) == {"v", "h", "first"}


def test_a_one_shot_job_may_have_what_is_left_over() -> None:
    shot = queued("s", gpus=3, kind="spot", auto=False)
    same = queued("s2", gpus=3, kind="spot", auto=False)
    found = decisions(decide([N1], [low("v", "n1", kind="spot"), shot, same, high(gpus=5)]))
    assert isinstance(found["s"], f.Scheduled)
    assert isinstance(found["s2"], f.Declined)


def test_a_higher_job_takes_the_hold_of_a_lower_one() -> None:
    victim = preempted(low("v", "n1"), when=-5, by="mid")
    mid = held(queued("mid", priority=50), ["n1"], waits=[victim], when=-5)
    made = decide([N1], [victim, mid, high()])
    found = decisions(made)
    assert found["mid"] == f.Unscheduled(cause=f.Withdrawal.HOLD_TAKEN, by="h")
    assert isinstance(found["h"], f.Scheduled)
    assert [wait.job for wait in found["h"].waits_for] == ["v"]
    assert len(made.moves) == 1


@pytest.mark.parametrize("more", [{"priority": 80}, {"guarantee": True}])
def test_a_hold_is_not_taken_from_an_equal_or_a_guaranteed_job(more: dict[str, Any]) -> None:
    victim = preempted(low("v", "n1"), when=-5, by="mid")
    mid = held(queued("mid", **more), ["n1"], waits=[victim], when=-5)
    assert decide([N1], [victim, mid, high()]).moves == ()


def test_a_placement_on_paper_goes_before_a_process() -> None:
    paper, runs = held(queued("paper", priority=20), ["n1"], when=-5), low("runs", "n2")
    found = decisions(decide([N1, N2], [paper, runs, high()]))
    assert set(found) == {"paper", "h"}
    assert isinstance(found["h"], f.Scheduled)
    assert found["h"].waits_for == ()


def test_a_job_that_has_launched_is_evicted_and_not_unscheduled() -> None:
    found = decisions(decide([N1], [launched(held(queued("s", priority=20), ["n1"])), high()]))
    assert isinstance(found["s"], f.Preempted)


@pytest.mark.parametrize(
    ("policy", "requeues", "after"),
    [
        (Policy(min_run_s=60), 0, 20),
        (Policy(cool_down_s=60), 0, 0),
        (Policy(cool_down_s=60), 1, 20),
    ],
    ids=["minimum run time", "no cool-down for the first time", "cool-down"],
)
def test_a_job_that_has_just_begun_is_spared(policy: Policy, requeues: int, after: float) -> None:
    victim = low("v", "n1", since=-40)
    ledgers = victim.ledgers.model_copy(update={"requeues": requeues})
    jobs = [victim.model_copy(update={"ledgers": ledgers}), high()]
    first = plan(world([N1], jobs), policy)
    if not after:
        assert victims(first) == {"v"}
        return
    assert first.moves == ()
    assert first.next_at is not None
    seconds = (first.next_at - at(0)).total_seconds()
    assert after <= seconds <= after + policy.cool_down_s / 4  # a cool-down is longer by lot
    assert not victims(plan(world([N1], jobs, after - 1), policy))
    assert victims(plan(world([N1], jobs, seconds), policy)) == {"v"}


def test_idle_jobs_are_not_spared() -> None:
    jobs = [low("i", "n1", kind="idle", since=-1), high()]
    assert victims(plan(world([N1], jobs), Policy(min_run_s=600))) == {"i"}


def test_what_is_placed_in_a_round_is_not_evicted_in_it() -> None:
    jobs = [queued("sure", guarantee=True, priority=1), queued("h", workers=2, priority=90)]
    assert set(placements(decide([N1, N2], jobs))) == {"sure"}


def test_rank_by_guarantee_alone_does_not_evict() -> None:
    jobs = [queued("first", priority=10, guarantee=True), high(), low("v", "n1", priority=20)]
    made = decide([N1], jobs)
    assert set(placements(made)) == {"h"}
    assert victims(made) == {"v"}


def test_a_debug_hold_may_be_evicted() -> None:
    from muster.domain.evolve import evolve

    holding = evolve(low("v", "n1", debug_hold_s=600), f.Succeeded(attempt=1), at(-5))
    assert holding.phase == "debug_holding"
    assert victims(decide([N1], [holding, high()])) == {"v"}


# --- idle jobs are planned as absent -------------------------------------------------------------


NEAR = Locality(mode=LocalityMode.PREFERRED, level="node")


@pytest.mark.parametrize("locality", [NEAR, None], ids=["asked", "not asked"])
def test_an_idle_job_does_not_keep_apart_a_gang_that_asks_to_be_near(
    locality: Locality | None,
) -> None:
    jobs = [
        low("i", "n1", gpus=4, kind="idle"),
        low("other", "n3", gpus=4, kind="idle"),
        low("sure", "n2", gpus=4, guarantee=True),
        low("sure3", "n3", gpus=4, guarantee=True),
        queued("gang", 2, 4, locality=locality),
    ]
    made = decide([N1, N2, N3], jobs)
    assert victims(made) == ({"i"} if locality else set())
    assert len(placements(made)["gang"]) == (1 if locality else 2)


def test_an_idle_job_stays_where_free_room_is_as_good() -> None:
    jobs = [low("i", "n1", gpus=4, kind="idle"), queued("gang", 2, 4, locality=NEAR)]
    made = decide([N1, N2], jobs)
    assert victims(made) == set()
    assert set(placements(made)["gang"]) == {"n2"}
