"""What can happen to a node, who may say so, and what it does."""

from __future__ import annotations

from datetime import timedelta

import pytest

from muster.domain import nodes as n
from muster.domain.edges import IllegalEdge, Owner
from muster.domain.nodes import NodeCondition as C
from tests.support.lives import START

SHAPE = n.NodeShape(gpus=8, gpu_model="H100", cpus=64, memory_mib=1024)
JOINED = n.NodeJoined(pool="default", node="n1", cluster="c", shape=SHAPE)


def node(*facts: n.NodeFact) -> n.NodeState:
    state = n.evolve_node(None, JOINED, START)
    for second, fact in enumerate(facts, 1):
        state = n.evolve_node(state, fact, START + timedelta(seconds=second))
    return state


def reclaiming(seconds: int) -> n.NodeReclaiming:
    return n.NodeReclaiming(deadline=START + timedelta(seconds=seconds))


CASES: dict[str, tuple[list[n.NodeFact], C, bool]] = {
    "joined": ([], C.READY, True),
    "cordoned": ([n.NodeCordoned()], C.READY, False),
    "drained": ([n.NodeDrained()], C.READY, False),
    "suspected": ([n.NodeSuspected(why="x")], C.READY, True),
    "kept out": ([n.NodeExcluded(until=START, why="x")], C.READY, False),
    "readmitted": ([n.NodeExcluded(until=START, why="x"), n.NodeReadmitted()], C.READY, True),
    "kept out and opened": (
        [n.NodeExcluded(until=START, why="x"), n.NodeUncordoned()],
        C.READY,
        True,
    ),
    "kept out, gone and back": (
        [n.NodeExcluded(until=START, why="x"), n.NodeLeft(), JOINED],
        C.READY,
        False,
    ),
    "reclaiming": ([reclaiming(9)], C.RECLAIMING, False),
    "lost": ([n.NodeLost()], C.LOST, False),
    "left": ([n.NodeLeft()], C.GONE, False),
    "fenced": ([n.NodeLost(), n.NodeFenced()], C.FENCED, False),
    "reclaim that did not happen": ([reclaiming(9), n.NodeUncordoned()], C.READY, True),
    "fenced and opened": ([n.NodeFenced(), n.NodeUncordoned()], C.READY, True),
    "opening does not find a lost node": ([n.NodeLost(), n.NodeUncordoned()], C.LOST, False),
    "back, and its operator's cordon stands": (
        [n.NodeCordoned(), n.NodeLeft(), JOINED],
        C.READY,
        False,
    ),
}


@pytest.mark.parametrize(("facts", "condition", "open_"), CASES.values(), ids=list(CASES))
def test_a_fact_sets_the_condition(facts: list[n.NodeFact], condition: C, open_: bool) -> None:
    state = node(*facts)
    assert (state.condition, state.schedulable) == (condition, open_)
    assert state.version == 1 + len(facts)


def test_the_nearer_reclaim_counts() -> None:
    assert node(reclaiming(60), reclaiming(20)).deadline == START + timedelta(seconds=20)
    assert node(reclaiming(20), reclaiming(60)).deadline == START + timedelta(seconds=20)


def test_opening_lifts_drain_suspicion_and_deadline() -> None:
    state = node(reclaiming(9), n.NodeDrained(), n.NodeSuspected(why="x"), n.NodeUncordoned())
    assert (state.draining, state.suspected, state.deadline) == (False, False, None)


def test_nothing_comes_before_joined() -> None:
    with pytest.raises(IllegalEdge, match="before joined"):
        n.evolve_node(None, n.NodeLost(), START)


@pytest.mark.parametrize("event", n.NODE_FACTS)
def test_only_its_owners_write_a_fact(event: str) -> None:
    values = {
        "joined": JOINED,
        "changed": n.NodeChanged(shape=SHAPE),
        "reclaiming": reclaiming(9),
        "reclaim_lapsed": n.NodeReclaimLapsed(deadline=START),
        "suspected": n.NodeSuspected(why="x"),
        "excluded": n.NodeExcluded(until=START, why="x"),
    }
    fact = values.get(event) or n.NODE_FACTS[event]()
    for owner in Owner:
        if owner in n.NODE_OWNERS[event]:
            n.evolve_node(node(), fact, START, owner)
            continue
        with pytest.raises(IllegalEdge, match="is not written by"):
            n.evolve_node(node(), fact, START, owner)


def test_every_fact_has_owners() -> None:
    assert set(n.NODE_OWNERS) == set(n.NODE_FACTS)


def test_a_request_is_remembered() -> None:
    facts = [n.NodeCordoned(request=f"r{number}") for number in range(40)]
    state = node(*facts)
    assert state.requests == tuple(f"r{number}" for number in range(8, 40))


def with_serial(serial: str | None) -> n.NodeJoined:
    return JOINED.model_copy(update={"shape": SHAPE.model_copy(update={"serial": serial})})


@pytest.mark.parametrize(
    ("before", "after", "kept_out"),
    [
        ("SN-1", "SN-1", True),
        ("SN-1", "SN-2", False),
        (None, "SN-2", True),
        ("SN-1", None, True),
    ],
)
def test_another_machine_under_the_same_name_is_another_node(
    before: str | None, after: str | None, kept_out: bool
) -> None:
    out = n.NodeExcluded(until=START, why="x")
    first, suspected = with_serial(before), n.NodeSuspected(why="x")
    state = node(first, suspected, out, n.NodeLeft(), with_serial(after))
    assert (state.excluded_until is not None) is kept_out
    assert state.suspected is kept_out
    assert state.exclusions == int(kept_out)


def test_exclusions_are_counted_until_an_operator_opens_the_node() -> None:
    out, back = n.NodeExcluded(until=START, why="x"), n.NodeReadmitted()
    state = node(out, back, out, back)
    assert (state.exclusions, state.excluded_until) == (2, None)
    assert state.excluded_at == START + timedelta(seconds=3)
    state = n.evolve_node(state, n.NodeUncordoned(), START + timedelta(seconds=9))
    assert (state.exclusions, state.cleared_at) == (0, START + timedelta(seconds=9))
