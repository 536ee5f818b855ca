"""Every condition of a node against every fact: what it becomes, and since when it is that."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from muster.domain import nodes as n
from muster.domain.nodes import NodeCondition
from tests.support.lives import START

SHAPE = n.NodeShape(gpus=8, gpu_model="H100", cpus=64, memory_mib=1024)
JOINED = n.NodeJoined(pool="default", node="n1", cluster="c1", shape=SHAPE)
SOON = START + timedelta(hours=1)

FACTS: dict[str, n.NodeFact] = {
    "joined": JOINED,
    "changed": n.NodeChanged(shape=SHAPE.model_copy(update={"gpus": 4})),
    "occupied": n.NodeOccupied(foreign=n.ForeignUse(gpus=2)),
    "reclaiming": n.NodeReclaiming(deadline=SOON),
    "reclaim_lapsed": n.NodeReclaimLapsed(deadline=SOON),
    "lost": n.NodeLost(),
    "left": n.NodeLeft(),
    "fenced": n.NodeFenced(),
    "cordoned": n.NodeCordoned(),
    "uncordoned": n.NodeUncordoned(),
    "drained": n.NodeDrained(),
    "suspected": n.NodeSuspected(why="three failures"),
    "excluded": n.NodeExcluded(until=SOON, why="three failures"),
    "readmitted": n.NodeReadmitted(),
}
CONDITIONS = ("ready", "reclaiming", "lost", "fenced", "gone")
BECOMES: dict[str, tuple[str, str, str, str, str]] = {
    "joined": ("ready", "ready", "ready", "ready", "ready"),
    "changed": CONDITIONS,
    "occupied": CONDITIONS,
    "reclaiming": ("reclaiming", "reclaiming", "lost", "fenced", "gone"),
    "reclaim_lapsed": ("ready", "ready", "lost", "fenced", "gone"),
    "lost": ("lost", "lost", "lost", "fenced", "lost"),
    "left": ("gone", "gone", "gone", "gone", "gone"),
    "fenced": ("fenced", "fenced", "fenced", "fenced", "fenced"),
    "cordoned": CONDITIONS,
    "uncordoned": ("ready", "ready", "lost", "ready", "gone"),
    "drained": CONDITIONS,
    "suspected": CONDITIONS,
    "excluded": CONDITIONS,
    "readmitted": CONDITIONS,
}
"""fact -> what each of the conditions becomes, in their order."""


def node(condition: str) -> n.NodeState:
    state = n.evolve_node(None, JOINED, START)
    return state.model_copy(update={"condition": NodeCondition(condition)})


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


_SHUTS = {"cordoned", "drained", "excluded"}


def test_the_table_speaks_of_everything() -> None:
    assert set(FACTS) == set(BECOMES) == set(n.NODE_FACTS)
    assert set(CONDITIONS) == set(NodeCondition)


@pytest.mark.parametrize("event", list(FACTS))
@pytest.mark.parametrize("number", range(5), ids=CONDITIONS)
def test_what_a_condition_becomes(number: int, event: str) -> None:
    before, expected = CONDITIONS[number], BECOMES[event][number]
    after = n.evolve_node(node(before), FACTS[event], at(60))
    assert after.condition is NodeCondition(expected)
    begins = expected != before or event in {"joined", "fenced"}
    assert after.since == (at(60) if begins else START)
    assert after.version == 2
    assert after.schedulable is (expected == "ready" and event not in _SHUTS)


def test_what_is_said_of_a_fenced_node_moves_its_proof_not_to_a_later_instant() -> None:
    """Whatever began after the fence is not proven to be gone."""
    state = n.evolve_node(node("ready"), n.NodeFenced(), at(10))
    for second, event in enumerate(("cordoned", "suspected", "reclaiming", "lost"), 20):
        state = n.evolve_node(state, FACTS[event], at(second))
    assert (state.condition, state.since) == (NodeCondition.FENCED, at(10))
    assert n.evolve_node(state, n.NodeFenced(), at(90)).since == at(90)


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("cordoned", {"cordoned"}),
        ("drained", {"cordoned", "draining"}),
        ("suspected", {"suspected", "why"}),
        ("excluded", {"excluded_until", "excluded_at", "exclusions"}),
        ("readmitted", set()),
        ("changed", {"shape"}),
        ("reclaiming", {"condition", "deadline", "since"}),
        ("lost", {"condition", "since"}),
        ("left", {"condition", "since"}),
        ("fenced", {"condition", "since"}),
    ],
)
def test_what_a_fact_changes_on_a_ready_node(event: str, fields: set[str]) -> None:
    before = node("ready")
    after = n.evolve_node(before, FACTS[event], at(60))
    names = n.NodeState.model_fields
    changed = {name for name in names if getattr(before, name) != getattr(after, name)}
    assert changed == {"version", *fields}


def test_a_node_that_comes_back_is_as_it_is_now_and_stays_closed_if_it_was() -> None:
    state = node("ready")
    for event in ("drained", "reclaiming", "left"):
        state = n.evolve_node(state, FACTS[event], at(1))
    again = JOINED.model_copy(
        update={"cluster": "c2", "shape": SHAPE.model_copy(update={"gpus": 4})}
    )
    state = n.evolve_node(state, again, at(2))
    assert (state.cluster, state.shape.gpus, state.deadline) == ("c2", 4, None)
    assert (state.condition, state.cordoned, state.draining) == (NodeCondition.READY, True, True)


def test_a_node_comes_back_from_json_as_it_was() -> None:
    state = n.evolve_node(node("ready"), n.NodeReclaiming(deadline=SOON, request="r1"), at(1))
    assert n.NodeState.model_validate_json(state.model_dump_json(exclude_none=True)) == state
