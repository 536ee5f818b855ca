"""What is recorded about a node, given what the cluster shows."""

from __future__ import annotations

from datetime import timedelta

from muster.domain.nodes import (
    NodeChanged,
    NodeCondition,
    NodeFact,
    NodeJoined,
    NodeLeft,
    NodeReclaiming,
    NodeShape,
    NodeState,
)
from muster.executor.core.nodes import Shown, next_fact
from tests.support.lives import START

SHAPE = NodeShape(gpus=8, gpu_model="x", cpus=8, memory_mib=1024, spot=True)
SOON = START + timedelta(seconds=60)


def node(condition: NodeCondition = NodeCondition.READY, **more: object) -> NodeState:
    state = NodeState(pool="p", node="n1", cluster="c", shape=SHAPE, since=START)
    return state.model_copy(update={"condition": condition, **more})


def fact(known: NodeState | None, shown: Shown | None) -> NodeFact | None:
    return next_fact(known, shown, "n1", "p", "c")


def test_a_new_node_joins_and_a_returning_one_joins_again() -> None:
    joined = NodeJoined(pool="p", node="n1", cluster="c", shape=SHAPE)
    assert fact(None, Shown(SHAPE)) == joined
    assert fact(node(NodeCondition.GONE), Shown(SHAPE)) == joined
    assert fact(node(NodeCondition.LOST), Shown(SHAPE)) == joined


def test_a_known_node_is_no_news() -> None:
    for condition in (NodeCondition.READY, NodeCondition.RECLAIMING, NodeCondition.FENCED):
        assert fact(node(condition), Shown(SHAPE)) is None


def test_another_shape_is_a_change() -> None:
    other = SHAPE.model_copy(update={"gpus": 4})
    assert fact(node(), Shown(other)) == NodeChanged(shape=other)


def test_a_node_that_is_not_shown_has_left_once() -> None:
    assert fact(node(), None) == NodeLeft()
    assert fact(node(NodeCondition.GONE), None) is None
    assert fact(None, None) is None


def test_a_notice_of_reclaim_is_told_once_and_again_when_it_is_nearer() -> None:
    assert fact(node(), Shown(SHAPE, SOON)) == NodeReclaiming(deadline=SOON)
    told = node(NodeCondition.RECLAIMING, deadline=SOON)
    assert fact(told, Shown(SHAPE, SOON)) is None
    assert fact(told, Shown(SHAPE, START)) == NodeReclaiming(deadline=START)
