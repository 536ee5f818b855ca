"""A fence is proof until the node is back, whatever else is recorded about the node meanwhile."""

from __future__ import annotations

from muster.domain.nodes import (
    NodeCordoned,
    NodeFact,
    NodeFenced,
    NodeJoined,
    NodeLeft,
    NodeLost,
    NodeShape,
    NodeState,
    NodeUncordoned,
    evolve_node,
)
from muster.executor.watch import Watch
from muster.log.memory import MemoryLog, Store
from tests.support.lives import START

SHAPE = NodeShape(gpus=8, gpu_model="x", cpus=8, memory_mib=1024)
JOINED = NodeJoined(pool="p", node="n1", cluster="c", shape=SHAPE)


def fences_after(*facts: NodeFact) -> set[str]:
    watch, state = Watch(MemoryLog(Store(lambda: START)), "p", "c"), None
    for fact in (JOINED, *facts):
        state = evolve_node(state, fact, START)
        watch._note_node(state)
    assert isinstance(state, NodeState)
    return set(watch.fenced)


def test_a_fenced_node_that_then_leaves_is_still_fenced() -> None:
    assert fences_after(NodeFenced()) == {"n1"}
    assert fences_after(NodeLeft(), NodeFenced(), NodeLeft()) == {"n1"}
    assert fences_after(NodeFenced(), NodeLost(), NodeCordoned()) == {"n1"}


def test_a_node_that_is_back_or_open_is_not() -> None:
    assert fences_after(NodeFenced(), NodeLeft(), JOINED) == set()
    assert fences_after(NodeFenced(), NodeUncordoned()) == set()
    assert fences_after(NodeLeft()) == set()
