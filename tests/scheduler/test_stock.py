"""Spot jobs hold no more than is offered, and give back what is offered no longer."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Any

import pytest

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.evolve import evolve
from muster.domain.nodes import NodeCondition, NodeState
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.domain.stock import StockChanged
from muster.scheduler.core.explain import explain_by
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.stock import Holder, givers
from muster.scheduler.core.verdicts import Plan, Waiting
from tests.scheduler.worlds import (
    POOL,
    at,
    decisions,
    held,
    node,
    placements,
    queued,
    running,
    world,
)
from tests.scheduler.worlds import victims as evicted


def offered(gpus: int | None, zone: str = "default", **more: Any) -> StockChanged:
    return StockChanged(pool=POOL, zone=zone, gpu_model="A100", gpus=gpus, **more)


def spots(count: int, **more: Any) -> list[NodeState]:
    return [node(f"s{i}", spot=True, **more) for i in range(count)]


def decide(nodes: list[NodeState], jobs: list[JobState], *stock: StockChanged) -> Plan:
    return plan(world(nodes, jobs, stock=stock), Policy())


def why(made: Plan, job: str) -> Waiting:
    return made.verdicts["t", job].why


# --- what may be held ----------------------------------------------------------------------------


@pytest.mark.parametrize(("gpus", "fits"), [(15, False), (16, True), (17, True)])
def test_a_gang_gets_what_is_offered_and_no_more(gpus: int, fits: bool) -> None:
    made = decide(spots(4), [queued("j", 2, kind="spot")], offered(gpus))
    assert ("j" in placements(made)) is fits


def test_what_is_held_counts_and_the_next_one_waits_for_stock() -> None:
    jobs = [running("a", ["s0"], kind="spot"), queued("b", 1, kind="spot")]
    made = decide(spots(4), jobs, offered(15))
    assert why(made, "b") is Waiting.STOCK
    told = explain_by(made, ("t", "b")).why
    assert told.numbers == {
        "zone": "default",
        "model": "A100",
        "offered": "15",
        "used": "8",
        "asked": "8",
    }
    assert "b" in placements(decide(spots(4), jobs, offered(16)))


@pytest.mark.parametrize("gpus", [0, None])
def test_none_left_and_not_offered_both_take_nobody(gpus: int | None) -> None:
    made = decide(spots(2), [queued("j", 1, kind="spot")], offered(gpus))
    assert why(made, "j") is Waiting.STOCK


def test_a_one_shot_job_without_stock_is_declined() -> None:
    job = queued("j", 1, kind="spot", auto=False).model_copy(update={"one_shot": True})
    made = decide(spots(2), [job], offered(0))
    assert isinstance(decisions(made)["j"], f.Declined)


def test_where_nothing_is_said_the_nodes_alone_tell() -> None:
    assert "j" in placements(decide(spots(2), [queued("j", 2, kind="spot")]))


def test_another_zone_and_ordinary_nodes_are_not_stock() -> None:
    nodes = [*spots(1, zone="z1"), node("o0")]
    jobs = [queued("j", 2, kind="spot")]
    assert set(placements(decide(nodes, jobs, offered(8, "z1")))["j"]) == {"s0", "o0"}
    assert why(decide(nodes, jobs, offered(7, "z1")), "j") is Waiting.STOCK
    assert set(placements(decide(nodes, jobs, offered(0, "z2")))["j"]) == {"s0", "o0"}


def test_a_gang_goes_where_stock_is_left() -> None:
    nodes = [
        *(node(f"a{i}", spot=True, zone="z1") for i in range(2)),
        *(node(f"b{i}", spot=True, zone="z2") for i in range(2)),
    ]
    made = decide(nodes, [queued("j", 2, kind="spot")], offered(8, "z1"), offered(16, "z2"))
    assert set(placements(made)["j"]) == {"b0", "b1"}


def test_a_higher_job_gets_the_stock_of_a_lower_one() -> None:
    jobs = [running("low", ["s0"], kind="spot", priority=10), queued("high", 1, kind="spot")]
    made = decide(spots(4), jobs, offered(8))
    assert evicted(made) == {"low"}
    assert "high" in placements(made)


# --- what must be given back ---------------------------------------------------------------------


def test_whole_gangs_leave_when_stock_falls() -> None:
    jobs = [running("a", ["s0", "s1"], kind="spot"), running("b", ["s2"], kind="spot")]
    made = decide(spots(4), jobs, offered(16, deadline=at(12.9)))
    assert decisions(made) == {
        "b": f.Preempted(cause=EvictionCause.SPOT_RECLAIM, nodes=("s2",), grace_s=12)
    }
    assert evicted(decide(spots(4), jobs, offered(15))) == {"a"}
    assert evicted(decide(spots(4), jobs, offered(None))) == {"a", "b"}
    assert not decisions(decide(spots(4), jobs, offered(24)))


def test_who_leaves_already_is_not_asked_twice_and_counts() -> None:
    jobs = [running("a", ["s0"], kind="spot"), running("b", ["s1"], kind="spot")]
    first = decide(spots(2), jobs, offered(8))
    (gone,) = evicted(first)
    told = decisions(first)[gone]
    after = [evolve(job, told, at(0)) if job.job == gone else job for job in jobs]
    assert not decisions(decide(spots(2), after, offered(8)))


def test_a_placement_on_paper_goes_first() -> None:
    paper = held(queued("paper", 1, kind="spot"), ["s1"])
    made = decide(spots(2), [running("a", ["s0"], kind="spot"), paper], offered(8))
    assert decisions(made) == {"paper": f.Unscheduled(cause=f.Withdrawal.STOCK_GONE)}


def test_a_storm_is_one_plan() -> None:
    jobs = [running(f"j{i}", [f"s{i}"], kind="spot") for i in range(100)]
    assert len(evicted(decide(spots(100), jobs, offered(0)))) == 100


@pytest.mark.parametrize(
    ("count", "plans"), [(989, [989]), (990, [990]), (991, [990, 1]), (1000, [990, 10])]
)
@pytest.mark.parametrize("by", ["notices", "stock"])
def test_a_plan_takes_in_as_many_as_a_batch_holds(by: str, count: int, plans: list[int]) -> None:
    jobs = [running(f"j{i}", [f"s{i}"], kind="spot") for i in range(count)]
    nodes, said = spots(count), [offered(0, deadline=at(60))]
    if by == "notices":
        taken = {"condition": NodeCondition.RECLAIMING, "deadline": at(60)}
        nodes, said = [each.model_copy(update=taken) for each in nodes], []
    made: list[int] = []
    while told := decisions(decide(nodes, jobs, *said)):
        made.append(len(told))
        jobs = [evolve(job, told[job.job], at(0)) if job.job in told else job for job in jobs]
    assert made == plans
    assert {job.phase for job in jobs} == {Phase.EVICTING}


@pytest.mark.parametrize("exact", [12, 0])
def test_givers_are_as_few_as_can_be(exact: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.scheduler.core.stock.EXACT", exact)
    dice = Random(7)
    for _ in range(500):
        holders = [
            Holder(("t", f"j{i}"), dice.choice([1, 2, 4, 8]), dice.choice([-1, 0, 1]), (i / 7, ""))
            for i in range(dice.randint(1, 7))
        ]
        owed = dice.randint(1, 20)
        chosen = givers(owed, holders)
        if sum(one.milli for one in holders) < owed:
            assert len(chosen) == len(holders)
            continue
        assert sum(one.milli for one in chosen) >= owed
        assert _cost(chosen) == min(map(_cost, _enough(owed, holders)))


@pytest.mark.parametrize("cheap", [12, 30])
def test_of_as_few_givers_those_who_lose_the_least(cheap: int) -> None:
    """A large job that has run for long is spared if a small one will do."""
    holders = [Holder(("t", f"j{i:02}"), 1000, 1, (float(i), "")) for i in range(cheap)]
    holders.append(Holder(("t", "dear"), 8000, 1, (1e6, "")))
    assert [one.key[1] for one in givers(1000, holders)] == ["j00"]
    assert [one.key[1] for one in givers(8000, holders)] == ["dear"]


def test_many_givers_are_the_cheapest_that_cover_as_much() -> None:
    dice = Random(11)
    for _ in range(60):
        holders = [
            Holder(("t", f"j{i}"), dice.choice([1, 2, 4, 8]), dice.choice([-1, 0, 1]), (i / 7, ""))
            for i in range(14)
        ]
        owed = dice.randint(1, 20)
        chosen = givers(owed, holders)
        assert sum(one.milli for one in chosen) >= owed
        for out in chosen:
            rest = sum(one.milli for one in chosen) - out.milli
            assert not any(
                other.tier == out.tier and other.cost < out.cost and rest + other.milli >= owed
                for other in holders
                if other not in chosen
            )


def _enough(owed: int, holders: list[Holder]) -> list[list[Holder]]:
    sizes = range(1, len(holders) + 1)
    every = (list(some) for n in sizes for some in combinations(holders, n))
    return [some for some in every if sum(one.milli for one in some) >= owed]


def _cost(some: list[Holder]) -> tuple[int, ...]:
    return tuple(sum(one.tier == tier for one in some) for tier in (1, 0, -1))


# --- who leaves, but too late --------------------------------------------------------------------


def leaving(name: str, on: str, grace: int, **more: Any) -> JobState:
    """A spot job that was told to leave at the instant of the plan."""
    told = f.Preempted(cause=EvictionCause.SPOT_RECLAIM, grace_s=grace)
    return evolve(running(name, [on], kind="spot", **more), told, at(0))


def test_a_second_fall_with_a_nearer_deadline_shortens_the_grace() -> None:
    made = decide(spots(1), [leaving("a", "s0", 60)], offered(0, deadline=at(20)))
    assert decisions(made) == {"a": f.GraceShortened(deadline=at(20))}


@pytest.mark.parametrize(
    ("grace", "deadline", "gpus"),
    [(60, 60.0, 0), (60, 61.0, 0), (60, None, 0), (60, 20.0, 8)],
)
def test_who_leaves_in_time_or_may_stay_is_left_alone(
    grace: int, deadline: float | None, gpus: int
) -> None:
    ends = at(deadline) if deadline is not None else None
    made = decide(spots(1), [leaving("a", "s0", grace)], offered(gpus, deadline=ends))
    assert not decisions(made)


def test_only_as_many_are_hurried_as_the_deadline_needs() -> None:
    jobs = [leaving("a", "s0", 10), leaving("b", "s1", 60), leaving("c", "s2", 60)]
    made = decide(spots(3), jobs, offered(8, deadline=at(20)))
    (hurried,) = decisions(made).items()
    assert hurried[0] in {"b", "c"}
    assert hurried[1] == f.GraceShortened(deadline=at(20))


def test_whoever_is_told_now_and_whoever_is_hurried_are_one_plan() -> None:
    jobs = [leaving("a", "s0", 60), running("b", ["s1"], kind="spot")]
    made = decide(spots(2), jobs, offered(0, deadline=at(20)))
    assert decisions(made) == {
        "a": f.GraceShortened(deadline=at(20)),
        "b": f.Preempted(cause=EvictionCause.SPOT_RECLAIM, nodes=("s1",), grace_s=20),
    }


def test_a_stop_by_its_owner_is_hurried_too() -> None:
    slow = running("a", ["s0"], kind="spot", grace_s=600)
    stopped = evolve(slow, f.StopRequested(by="ann", request="r"), at(0))
    made = decide(spots(1), [stopped], offered(0, deadline=at(20)))
    assert decisions(made) == {"a": f.GraceShortened(deadline=at(20))}


def test_nobody_leaves_in_place_of_one_that_overstays() -> None:
    """What is on its way out counts as gone however late it is: the fall asked for it alone."""
    stuck = evolve(
        running("a", ["s0"], kind="spot"),
        f.Preempted(cause=EvictionCause.SPOT_RECLAIM, grace_s=0),
        at(-3600),
    )
    made = decide(spots(2), [stuck, running("b", ["s1"], kind="spot")], offered(8))
    assert not decisions(made)
