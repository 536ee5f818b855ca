"""What becomes of jobs whose nodes go, and of placements on paper whose time is over."""

from __future__ import annotations

from typing import Any

import pytest

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.demand import Toleration
from muster.domain.evolve import evolve
from muster.domain.nodes import NodeCondition, NodeState, Taint, TaintEffect
from muster.domain.phases import Phase
from muster.domain.reasons import ReasonCode, reason
from muster.domain.state import JobState
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.snapshot import Listed, Snapshot
from tests.scheduler.worlds import (
    at,
    decide,
    decisions,
    held,
    launched,
    node,
    preempted,
    queued,
    reclaiming,
    running,
    world,
)

CAUSES: dict[str, tuple[NodeState, str, EvictionCause | None]] = {
    # the node, the class of the job on it, why it leaves
    "spot capacity is taken back": (
        reclaiming("n1", 20, spot=True),
        "spot",
        EvictionCause.SPOT_RECLAIM,
    ),
    "spot capacity, idle job": (
        reclaiming("n1", 20, spot=True),
        "idle",
        EvictionCause.SPOT_RECLAIM,
    ),
    "another node, spot job": (reclaiming("n1", 20), "spot", EvictionCause.SPOT_RECLAIM),
    "another node, idle job": (reclaiming("n1", 20), "idle", EvictionCause.IDLE_RECLAIM),
    "another node, own capacity": (reclaiming("n1", 20), "reserved", EvictionCause.NODE_DRAIN),
    "spot capacity is lost": (
        node("n1", spot=True, condition="lost"),
        "spot",
        EvictionCause.SPOT_RECLAIM,
    ),
    "spot capacity is gone": (
        node("n1", spot=True, condition="gone"),
        "spot",
        EvictionCause.SPOT_RECLAIM,
    ),
    "spot capacity is fenced": (
        node("n1", spot=True, condition="fenced"),
        "spot",
        EvictionCause.SPOT_RECLAIM,
    ),
    "another node is lost": (node("n1", condition="lost"), "spot", None),
    "drained": (node("n1", cordoned=True, draining=True), "spot", EvictionCause.NODE_DRAIN),
    "cordoned": (node("n1", cordoned=True), "spot", None),
    "suspected": (node("n1", suspected=True), "spot", None),
}


@pytest.mark.parametrize(("going", "kind", "cause"), CAUSES.values(), ids=list(CAUSES))
def test_why_a_gang_leaves_with_a_node(
    going: NodeState, kind: str, cause: EvictionCause | None
) -> None:
    job = running("j", ["n1", "n2"], kind=kind)
    found = decisions(decide([going, node("n2")], [job])).get("j")
    if cause is None:
        assert found is None
        return
    assert isinstance(found, f.Preempted)
    assert (found.cause, found.nodes, found.by) == (cause, ("n1",), None)


@pytest.mark.parametrize(
    ("deadlines", "own", "grace"),
    [((120.0,), 30, 30), ((12.9,), 30, 12), ((-5.0,), 30, 0), ((50.0, 20.0), 600, 20)],
    ids=["the job's own", "the node's, in whole seconds", "over", "the nearest"],
)
def test_the_grace_is_the_jobs_or_what_is_left_of_the_nodes(
    deadlines: tuple[float, ...], own: int, grace: int
) -> None:
    names = [f"n{i}" for i in range(len(deadlines))]
    nodes = [reclaiming(name, end) for name, end in zip(names, deadlines, strict=True)]
    found = decisions(decide(nodes, [running("j", names, kind="spot", grace_s=own)]))["j"]
    assert isinstance(found, f.Preempted)
    assert found.grace_s == grace


def test_a_nearer_end_of_the_node_shortens_the_grace_once() -> None:
    evicting = preempted(running("j", ["n1"], kind="spot"), grace_s=600, when=-10)
    nodes = [reclaiming("n1", 45)]
    found = decisions(decide(nodes, [evicting]))["j"]
    assert found == f.GraceShortened(deadline=at(45))
    shorter = evolve(evicting, found, at(0))
    assert decide(nodes, [shorter], now=1).moves == ()


def test_a_later_end_of_the_node_changes_nothing() -> None:
    evicting = preempted(running("j", ["n1"], kind="spot"), grace_s=30, when=-10)
    assert decide([reclaiming("n1", 45)], [evicting]).moves == ()


@pytest.mark.parametrize(
    "going",
    [reclaiming("n1", 20), node("n1", condition="lost"), node("n1", cordoned=True)],
    ids=["reclaiming", "lost", "cordoned"],
)
def test_a_placement_on_paper_is_taken_back_when_its_node_goes(going: NodeState) -> None:
    paper = held(queued("j", workers=2), ["n1", "n2"], when=-5)
    found = decisions(decide([going, node("n2")], [paper]))["j"]
    assert found == f.Unscheduled(cause=f.Withdrawal.NODE_GONE)


def test_the_nodes_of_a_placement_that_was_taken_back_are_free_at_once() -> None:
    paper = held(queued("j", workers=2), ["n1", "n2"], when=-5)
    found = decisions(decide([node("n1", cordoned=True), node("n2")], [paper, queued("w")]))
    assert isinstance(found["w"], f.Scheduled)
    assert found["w"].placement == {"n2": ("worker-0",)}


def test_a_launched_gang_leaves_in_the_usual_way() -> None:
    started = launched(held(queued("j", kind="spot"), ["n1"]))
    found = decisions(decide([reclaiming("n1", 20, spot=True)], [started]))["j"]
    assert isinstance(found, f.Preempted)


def _waits_for(victim: JobState, when: float = -5) -> JobState:
    return held(queued("h", priority=80), ["n1"], waits=[victim], when=when, grace_s=30)


def test_a_plan_whose_victims_do_not_leave_is_given_up() -> None:
    victim = preempted(running("v", ["n1"]), when=-5)
    waiting = _waits_for(victim)
    assert decide([node("n1")], [victim, waiting], now=84.9).moves == ()
    assert decide([node("n1")], [victim, waiting]).next_at == at(85)
    found = decisions(decide([node("n1")], [victim, waiting], now=85))
    assert found == {"h": f.Unscheduled(cause=f.Withdrawal.VICTIM_OVERDUE)}


def test_a_plan_that_nobody_carries_out_is_given_up() -> None:
    waiting = _waits_for(preempted(running("v", ["n1"]), when=-5))
    found = decisions(decide([node("n1")], [waiting], now=85))
    assert found == {"h": f.Unscheduled(cause=f.Withdrawal.PLAN_ABANDONED)}


def test_a_plan_whose_victim_stays_after_all_is_given_up() -> None:
    victim = preempted(running("v", ["n1"]), when=-20)
    waiting = _waits_for(victim, when=-20)
    failure = f.WorkerFailure(worker="worker-0", node="n1", exit_code=1)
    faulted = evolve(victim, f.WorkersFailed(attempt=1, failures=(failure,)), at(-10))
    assert decide([node("n1")], [faulted, waiting]).moves == ()
    why = reason(ReasonCode.RESTARTING, count=1, limit=3, why="exit code 1")
    # an order to leave rules a restart out today: a victim of which the order is not known
    spared = evolve(running("v", ["n1"]), f.WorkersFailed(attempt=1, failures=(failure,)), at(-10))
    again = evolve(spared, f.Restarted(reason=why), at(-5))
    assert (again.phase, again.attempt, bool(again.held)) == (Phase.STARTING, 2, True)
    listed = (Listed(again, 1, stay=1), Listed(waiting, 2, stay=1))
    snapshot = Snapshot(pool="default", now=at(0), upto=9, nodes=(node("n1"),), jobs=listed)
    found = decisions(plan(snapshot, Policy()))
    assert found == {"h": f.Unscheduled(cause=f.Withdrawal.PLAN_ABANDONED)}


def test_a_restart_in_place_is_no_placement_on_paper() -> None:
    failure = f.WorkerFailure(worker="worker-0", node="n1", exit_code=1)
    faulted = evolve(running("j", ["n1"]), f.WorkersFailed(attempt=1, failures=(failure,)), at(-9))
    why = reason(ReasonCode.RESTARTING, count=1, limit=3, why="exit code 1")
    again = evolve(faulted, f.Restarted(reason=why), at(-5))
    drained = node("n1", cordoned=True, draining=True)
    assert isinstance(decisions(decide([drained], [again]))["j"], f.Preempted)
    found = decisions(decide([node("n1")], [again, queued("h", priority=80)]))
    assert isinstance(found["j"], f.Preempted)


def test_who_was_told_to_leave_and_failed_first_is_not_told_again() -> None:
    failure = f.WorkerFailure(worker="worker-0", node="n1", exit_code=1)
    told = preempted(running("j", ["n1"], kind="spot"), when=-10)
    faulted = evolve(told, f.WorkersFailed(attempt=1, failures=(failure,)), at(-5))
    assert faulted.phase is Phase.FAULTED
    nodes = [reclaiming("n1", 20, spot=True)]
    assert decide(nodes, [faulted]).moves == ()
    assert decide([node("n1")], [faulted, queued("h", priority=80)]).moves == ()
    untold = evolve(
        running("j", ["n1"], kind="spot"), f.WorkersFailed(attempt=1, failures=(failure,)), at(-5)
    )
    assert isinstance(decisions(decide(nodes, [untold]))["j"], f.Preempted)


def test_each_job_gets_one_event_a_round() -> None:
    nodes = [reclaiming("n1", 20, spot=True), reclaiming("n2", 10, spot=True)]
    jobs: list[Any] = [running("j", ["n1", "n2"], kind="spot"), queued("h", priority=90)]
    assert set(decisions(decide(nodes, jobs))) == {"j"}


def test_jobs_set_aside_are_counted_and_left_alone() -> None:
    job = running("j", ["n1"], kind="spot")
    snapshot = world(
        [reclaiming("n1", 20, spot=True), node("n2", cordoned=True)],
        [job, queued("q")],
        set_aside=frozenset({("t", "j"), ("t", "q")}),
    )
    assert plan(snapshot, Policy()).moves == ()


def test_a_node_that_came_back_evicts_nobody() -> None:
    back = node("n1", spot=True, condition=NodeCondition.READY)
    assert decide([back], [running("j", ["n1"], kind="spot")]).moves == ()


# --- taints -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("effect", "tolerated", "leaves"),
    [
        ("NoExecute", False, True),
        ("NoExecute", True, False),
        ("NoSchedule", False, False),
        ("PreferNoSchedule", False, False),
    ],
)
def test_a_taint_that_ends_what_runs_is_a_drain(effect: str, tolerated: bool, leaves: bool) -> None:
    taint = Taint(key="maintenance", effect=TaintEffect(effect))
    tolerations = (Toleration(key="maintenance"),) if tolerated else ()
    job = running("j", ["n1"], tolerations=tolerations)
    facts = decisions(decide([node("n1", taints=(taint,)), node("n2")], [job]))
    if leaves:
        assert facts["j"] == f.Preempted(
            cause=EvictionCause.NODE_DRAIN, nodes=("n1",), grace_s=job.demand.grace_s
        )
    else:
        assert facts == {}


@pytest.mark.parametrize("effect", ["NoExecute", "NoSchedule"])
def test_a_placement_on_paper_is_taken_back_from_a_node_that_got_a_taint(effect: str) -> None:
    taint = Taint(key="maintenance", effect=TaintEffect(effect))
    paper = held(queued("j"), ["n1"])
    facts = decisions(decide([node("n1", taints=(taint,))], [paper]))
    assert facts["j"] == f.Unscheduled(cause=f.Withdrawal.NODE_GONE)
