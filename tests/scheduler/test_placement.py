"""Where gangs go: whole or not at all, whatever their roles and whatever the order."""

from __future__ import annotations

import random
from typing import Any

import pytest

from muster.domain.demand import Role, Toleration
from muster.domain.nodes import ForeignUse, NodeState, Taint, TaintEffect
from muster.scheduler.core.amounts import of_shape, room
from muster.scheduler.core.placement import Shortfall, place
from muster.scheduler.core.rooms import Site, Sites, gathered
from muster.scheduler.core.verdicts import Waiting
from tests.scheduler.worlds import (
    NOW,
    at,
    but,
    decide,
    demand,
    held,
    launched,
    node,
    only,
    placements,
    preempted,
    queued,
    reclaiming,
    role,
    running,
)


def sites(*nodes: NodeState) -> Sites:
    """Make sites of empty nodes."""
    return gathered(Site(one.node, one.shape, room(of_shape(one.shape))) for one in nodes)


def test_a_gang_is_placed_whole() -> None:
    made = decide([node("n1"), node("n2"), node("n3", gpus=4)], [queued("g", workers=2)])
    assert placements(made) == {"g": {"n1": ("worker-0",), "n2": ("worker-1",)}}


def test_a_gang_that_fits_in_part_is_not_placed_at_all() -> None:
    made = decide([node("n1"), node("n2"), node("n3", gpus=4)], [queued("g", workers=3)])
    assert made.moves == ()


def test_the_sum_of_what_is_free_places_nobody() -> None:
    nodes = [node(f"n{i}") for i in range(1, 5)]
    taken = [running(f"f{i}", [f"n{i}"], gpus=4, guarantee=True) for i in range(1, 5)]
    whole, parts = queued("g", workers=2), queued("g2", workers=4, gpus=4)
    assert placements(decide(nodes, [*taken, whole])) == {}
    assert set(placements(decide(nodes, [*taken, parts]))) == {"g2"}


ROLES = {
    "ray: the head has no GPU": (role("head", gpus=0, cpus=4), role(replicas=2, gpus=8, cpus=8)),
    "two kinds of worker": (role("a", replicas=2, gpus=2), role("b", replicas=1, gpus=6)),
    "the large one first": (role("small", gpus=30), role("large", gpus=50)),
}


@pytest.mark.parametrize(
    ("roles", "nodes"),
    [
        (ROLES["ray: the head has no GPU"], [node("n1"), node("n2")]),
        (ROLES["two kinds of worker"], [node("n1", gpus=6), node("n2", gpus=4)]),
        (ROLES["the large one first"], [node("n1", gpus=53), node("n2", gpus=31)]),
    ],
    ids=list(ROLES),
)
def test_roles_of_different_shape_are_placed_together(
    roles: tuple[Role, ...], nodes: list[NodeState]
) -> None:
    expected = place(roles, sites(*nodes))
    assert not isinstance(expected, Shortfall)
    assert sum(len(workers) for workers in expected.values()) == sum(r.replicas for r in roles)
    dice = random.Random(1)
    for _ in range(100):
        shuffled = dice.sample(list(roles), len(roles)), dice.sample(nodes, len(nodes))
        assert place(shuffled[0], sites(*shuffled[1])) == expected


def test_a_small_worker_may_go_first_where_the_large_ones_leave_it_no_room() -> None:
    roles = (role("head", gpus=0, cpus=60), role(gpus=2, replicas=3, cpus=10))
    found = place(roles, sites(node("n1", gpus=6, cpus=64), node("n2", gpus=8, cpus=32)))
    assert found == {"n1": ("head-0",), "n2": ("worker-0", "worker-1", "worker-2")}


AMOUNTS: dict[str, dict[str, Any]] = {
    "gpus": {"gpus": 9},
    "cpus": {"gpus": 1, "cpus": 65},
    "memory": {"gpus": 1, "memory_mib": 512_001},
    "an extended resource": {"gpus": 1, "extended": {"rdma/hca": 2}},
    "a model": {"gpus": 1, "gpu_model": "H100"},
}


@pytest.mark.parametrize("need", AMOUNTS.values(), ids=list(AMOUNTS))
def test_every_kind_of_amount_counts(need: dict[str, Any]) -> None:
    poor = node("poor", extended={"rdma/hca": 1})
    rich = node(
        "rich", gpus=16, cpus=128, memory_mib=1 << 20, extended={"rdma/hca": 8}, gpu_model="H100"
    )
    job = queued("j", roles=(role(**need),))
    assert placements(decide([poor], [job])) == {}
    assert placements(decide([poor, rich], [job])) == {"j": {"rich": ("worker-0",)}}


def test_tenths_of_a_core_add_up() -> None:
    job = queued("j", roles=(role(replicas=10, gpus=0, cpus=0.1),))
    assert set(placements(decide([node("n1", cpus=1)], [job]))) == {"j"}


def test_a_model_is_not_asked_of_a_worker_without_gpus() -> None:
    job = queued("j", roles=(role(gpus=0, gpu_model="H100", cpus=1),))
    assert set(placements(decide([node("n1")], [job]))) == {"j"}


def test_the_tightest_node_that_holds_all_is_taken() -> None:
    nodes = [node("n1", gpus=8), node("n2", gpus=4), node("n3", gpus=2)]
    made = decide(nodes, [queued("j", workers=3, gpus=1)])
    assert placements(made) == {"j": {"n2": ("worker-0", "worker-1", "worker-2")}}


CLOSED = {
    "cordoned": node("n1", cordoned=True),
    "kept out": node("n1", excluded_until=NOW),
    "draining": node("n1", cordoned=True, draining=True),
    "being taken back": reclaiming("n1", 60),
    "lost": node("n1", condition="lost"),
    "fenced": node("n1", condition="fenced"),
    "gone": node("n1", condition="gone"),
}


@pytest.mark.parametrize("closed", CLOSED.values(), ids=list(CLOSED))
def test_no_new_work_goes_to_a_node_that_is_shut(closed: NodeState) -> None:
    assert placements(decide([closed], [queued("j")])) == {}
    assert set(placements(decide([closed, node("n2")], [queued("j")]))) == {"j"}


@pytest.mark.parametrize(
    ("limits", "where"),
    [
        ({"node_policy": only("n2")}, "n2"),
        ({"node_policy": but("n1")}, "n2"),
        ({"avoid": ("n1",)}, "n2"),
        ({}, "n1"),
    ],
    ids=["NodeIn", "NodeNotIn", "avoid", "none"],
)
def test_the_jobs_own_limits_are_kept(limits: dict[str, Any], where: str) -> None:
    made = decide([node("n1"), node("n2")], [queued("j", **limits)])
    assert placements(made) == {"j": {where: ("worker-0",)}}


def test_a_node_to_avoid_is_no_prison_for_a_gang_as_large_as_its_pool() -> None:
    made = decide([node("n1"), node("n2")], [queued("j", workers=2, avoid=("n1",))])
    assert set(placements(made)["j"]) == {"n1", "n2"}


@pytest.mark.parametrize(
    ("nodes", "where"),
    [
        ([node("n1"), node("n2", gpus=4)], {"n1"}),
        ([node("n1"), node("n2", cordoned=True)], {"n1"}),
        ([node("n1"), node("n2")], {"n2"}),
    ],
    ids=["the others are too small", "the others are shut", "another one will do"],
)
def test_a_node_is_avoided_only_while_another_could_hold_the_gang(
    nodes: list[NodeState], where: set[str]
) -> None:
    made = decide(nodes, [queued("j", avoid=("n1",))])
    assert set(placements(made)["j"]) == where


def test_to_avoid_a_node_is_worth_some_waiting() -> None:
    busy = running("k", ["n2"], guarantee=True)
    assert placements(decide([node("n1"), node("n2")], [busy, queued("j", avoid=("n1",))])) == {}


def test_a_node_that_came_anew_since_is_the_second_choice() -> None:
    anew, busy = node("n1", since=at(-99)), running("k", ["n2"], guarantee=True)
    job = queued("j", avoid=("n1",), entered=-100)
    assert placements(decide([anew, node("n2")], [job])) == {"j": {"n2": ("worker-0",)}}
    assert placements(decide([anew, node("n2")], [busy, job])) == {"j": {"n1": ("worker-0",)}}


def test_a_suspected_node_is_the_second_choice() -> None:
    nodes = [node("n1", suspected=True), node("n2")]
    assert placements(decide(nodes, [queued("j")])) == {"j": {"n2": ("worker-0",)}}
    assert set(placements(decide(nodes, [queued("j", workers=2)]))) == {"j"}


@pytest.mark.parametrize(
    ("job", "where"),
    [
        (queued("j", kind="spot"), "spot"),
        (queued("j", kind="idle"), "spot"),
        (queued("j", kind="on_demand"), "own"),
        (queued("j", kind="reserved"), "own"),
        (queued("j", kind="spot", guarantee=True), "own"),
    ],
    ids=["spot", "idle", "on demand", "reserved", "guaranteed"],
)
def test_spot_capacity_is_for_jobs_that_can_lose_it(job: Any, where: str) -> None:
    nodes = [node("own"), node("spot", spot=True)]
    assert placements(decide(nodes, [job])) == {"j": {where: ("worker-0",)}}


def test_whatever_is_held_counts_until_it_is_released() -> None:
    ended = running("over", ["n1"])
    from muster.domain import facts as f
    from muster.domain.evolve import evolve

    ended = evolve(ended, f.Succeeded(attempt=1), at(-100))
    assert ended.terminal
    evicting = preempted(running("out", ["n2"]), when=-500)
    paper, started = held(queued("p"), ["n3"], when=-5), launched(held(queued("s"), ["n4"]))
    nodes = [node(f"n{i}") for i in range(1, 5)]
    made = decide(nodes, [ended, evicting, paper, started, queued("j", kind="idle")])
    assert placements(made) == {}


def test_a_node_that_shrank_below_its_use_has_nothing_and_owes_nothing() -> None:
    nodes = [node("n1", gpus=2), node("n2", gpus=6)]
    holder = running("h", ["n1"], gpus=4, guarantee=True)
    made = decide(nodes, [holder, queued("c", gpus=0), queued("v", gpus=6)])
    assert placements(made)["v"] == {"n2": ("worker-0",)}
    assert placements(made)["c"] == {"n1": ("worker-0",)}


def test_the_order_is_guarantee_tier_priority_waiting_time_and_id() -> None:
    jobs = [
        queued("idle", kind="idle", entered=-900),
        queued("spot", kind="spot", priority=99, entered=-900),
        queued("low", priority=10, entered=-900),
        queued("b", entered=-100),
        queued("a", entered=-100),
        queued("older", entered=-101),
        queued("high", priority=90, entered=-1),
        queued("sure", priority=10, guarantee=True, entered=-1),
    ]
    expected = ["sure", "high", "older", "a", "b", "low", "spot", "idle"]
    for free in range(len(jobs) + 1):
        made = decide([node(f"n{i}") for i in range(free)], jobs)
        assert set(placements(made)) == set(expected[:free])


def test_a_job_that_waits_for_its_time_is_passed_over() -> None:
    jobs = [queued("later", priority=90, not_before=at(1)), queued("now")]
    assert set(placements(decide([node("n1")], jobs))) == {"now"}
    assert set(placements(decide([node("n1")], jobs, now=1))) == {"later"}


def test_a_demand_of_nothing_fits_anywhere() -> None:
    assert demand(gpus=0).gpus == 0
    assert set(placements(decide([node("n1", gpus=0)], [queued("j", gpus=0)]))) == {"j"}


def test_a_job_stays_in_its_zone() -> None:
    nodes = [node("n1", zone="a"), node("n2", zone="b")]
    assert placements(decide(nodes, [queued("g", zone="b")])) == {"g": {"n2": ("worker-0",)}}
    assert placements(decide(nodes, [queued("g", zone="c")])) == {}


# --- taints, and work that is not ours --------------------------------------------------------


def tainted(name: str, effect: str, key: str = "k", value: str = "v") -> NodeState:
    """Make a node with one taint."""
    return node(name, taints=(Taint(key=key, value=value, effect=TaintEffect(effect)),))


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        (None, False),
        (Toleration(), True),
        (Toleration(key="k"), True),
        (Toleration(key="k", value="v"), True),
        (Toleration(value="v"), True),
        (Toleration(key="k", value="w"), False),
        (Toleration(key="other"), False),
    ],
    ids=["none", "all", "key", "key and value", "value", "another value", "another key"],
)
def test_a_taint_keeps_off_who_does_not_tolerate_it(
    effect: str, toleration: Toleration | None, fits: bool
) -> None:
    job = queued("j", tolerations=(toleration,) if toleration else ())
    made = decide([tainted("n1", effect)], [job])
    assert bool(placements(made)) is fits
    if not fits:
        assert made.verdicts["t", "j"].why is Waiting.NODES_SHUT


def test_a_taint_that_only_prefers_makes_a_second_choice() -> None:
    nodes = [tainted("n1", "PreferNoSchedule"), node("n2")]
    assert set(placements(decide(nodes, [queued("j")]))["j"]) == {"n2"}
    assert set(placements(decide(nodes, [queued("j", workers=2)]))["j"]) == {"n1", "n2"}
    fine = queued("j", tolerations=(Toleration(key="k"),))
    assert set(placements(decide(nodes, [fine]))["j"]) == {"n1"}


def test_what_others_use_is_not_given_away() -> None:
    busy = node("n1", foreign=ForeignUse(gpus=5, cpus=60, memory_mib=500_000))
    assert placements(decide([busy], [queued("j", gpus=4)])) == {}
    assert set(placements(decide([busy], [queued("j", gpus=3)]))) == {"j"}
    assert placements(decide([busy], [queued("j", roles=(role(gpus=0, cpus=5),))])) == {}
    part = role(gpus=0, gpu_milli=600)
    jobs = [queued(f"j{i}", roles=(part,)) for i in range(4)]
    assert len(placements(decide([busy], jobs))) == 3


def test_what_others_use_now_is_no_reason_to_say_never() -> None:
    busy = node("n1", foreign=ForeignUse(gpus=5))
    assert decide([busy], [queued("j")]).verdicts["t", "j"].why is Waiting.NO_ROOM


def test_any_of_several_models_will_do() -> None:
    nodes = [node("n1", gpu_model="A100"), node("n2", gpu_model="H100"), node("n3", gpu_model="T4")]
    job = queued("g", roles=(role(replicas=2, gpus=8, gpu_model="H100|A100"),))
    assert set(placements(decide(nodes, [job]))["g"]) == {"n1", "n2"}
    more = queued("g", roles=(role(replicas=3, gpus=8, gpu_model="H100|A100"),))
    assert placements(decide(nodes, [more])) == {}
