"""What is recorded about a node, given what the cluster shows."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from muster.domain.edges import Owner
from muster.domain.nodes import (
    ForeignUse,
    NodeChanged,
    NodeCondition,
    NodeFact,
    NodeJoined,
    NodeLeft,
    NodeOccupied,
    NodeReclaiming,
    NodeReclaimLapsed,
    NodeShape,
    NodeState,
    evolve_node,
)
from muster.executor.core.nodes import Shown, next_fact, told
from tests.support.lives import START

SHAPE = NodeShape(gpus=8, gpu_model="x", cpus=8, memory_mib=1024, spot=True)
SOON = START + timedelta(seconds=60)


def node(condition: NodeCondition = NodeCondition.READY, **more: object) -> NodeState:
    state = NodeState(pool="p", node="n1", cluster="c", shape=SHAPE, since=START)
    return state.model_copy(update={"condition": condition, **more})


LAPSE = timedelta(seconds=480)


def fact(known: NodeState | None, shown: Shown | None, now: datetime = START) -> NodeFact | None:
    return next_fact(known, shown, "n1", "p", "c", now, LAPSE)


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


def test_a_notice_that_came_to_nothing_lapses() -> None:
    told = node(NodeCondition.RECLAIMING, deadline=SOON, cordoned=True)
    just_before, just_then = SOON + LAPSE - timedelta(microseconds=1), SOON + LAPSE
    for shown in (Shown(SHAPE), Shown(SHAPE, SOON)):  # whether the cluster still tells of it or not
        assert fact(told, shown, just_before) is None
        assert fact(told, shown, just_then) == NodeReclaimLapsed(deadline=SOON)
    opened = evolve_node(told, NodeReclaimLapsed(deadline=SOON), just_then, Owner.EXECUTOR)
    assert (opened.condition, opened.deadline, opened.cordoned) == ("ready", None, True)
    assert fact(opened, Shown(SHAPE, SOON), just_then) is None  # the old notice is no news
    again = NodeReclaiming(deadline=SOON + LAPSE)
    assert fact(opened, Shown(SHAPE, SOON + LAPSE), just_then) == again


def test_a_notice_of_a_cloud_whose_clock_is_behind_is_heard_and_lasts_as_long() -> None:
    past, now = START - timedelta(hours=1), SOON
    assert fact(node(), Shown(SHAPE, past), now) == NodeReclaiming(deadline=past)
    told = evolve_node(node(), NodeReclaiming(deadline=past), now)
    just_before = now + LAPSE - timedelta(microseconds=1)
    assert fact(told, Shown(SHAPE, past), just_before) is None
    assert fact(told, Shown(SHAPE, past), now + LAPSE) == NodeReclaimLapsed(deadline=past)


def test_a_later_notice_keeps_a_node_shut() -> None:
    told = node(NodeCondition.RECLAIMING, deadline=SOON)
    later = Shown(SHAPE, SOON + timedelta(seconds=300))
    assert fact(told, later, SOON + LAPSE) is None
    end = SOON + timedelta(seconds=300)
    assert fact(told, later, end + LAPSE) == NodeReclaimLapsed(deadline=end)


@pytest.mark.parametrize("condition", [c for c in NodeCondition if c != "reclaiming"])
def test_a_lapse_opens_no_node_that_is_shut_for_another_reason(condition: NodeCondition) -> None:
    known = node(condition, deadline=SOON)
    assert fact(known, Shown(SHAPE), SOON + LAPSE) in (None, _joined(condition))
    after = evolve_node(known, NodeReclaimLapsed(deadline=SOON), SOON + LAPSE)
    assert (after.condition, after.deadline) == (condition, None)


def _joined(condition: NodeCondition) -> NodeFact | None:
    back = condition in {NodeCondition.GONE, NodeCondition.LOST}
    return NodeJoined(pool="p", node="n1", cluster="c", shape=SHAPE) if back else None


def use(cpus: float = 0, memory_mib: int = 0, **more: object) -> ForeignUse:
    return ForeignUse(cpus=cpus, memory_mib=memory_mib, **more)  # type: ignore[arg-type]


def test_what_others_take_is_told_when_it_changes_and_with_the_node_itself() -> None:
    busy = use(gpus=4)
    assert fact(None, Shown(SHAPE, foreign=busy)) == NodeJoined(
        pool="p", node="n1", cluster="c", shape=SHAPE, foreign=busy
    )
    assert fact(node(), Shown(SHAPE, foreign=busy)) == NodeOccupied(foreign=busy)
    assert fact(node(foreign=busy), Shown(SHAPE, foreign=busy)) is None
    assert fact(node(foreign=busy), Shown(SHAPE)) == NodeOccupied(foreign=None)
    assert fact(node(foreign=None), Shown(SHAPE, foreign=use())) is None


def test_a_notice_of_reclaim_does_not_wait_for_foreign_use() -> None:
    assert fact(node(), Shown(SHAPE, SOON, use(gpus=1))) == NodeReclaiming(deadline=SOON)
    told_of = node(NodeCondition.RECLAIMING, deadline=SOON)
    assert fact(told_of, Shown(SHAPE, SOON, use(gpus=1))) == NodeOccupied(foreign=use(gpus=1))


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (None, use(0.2, 1), use(1, 1024)),
        (None, use(1, 1024), use(1, 1024)),
        (use(1, 1024), use(1.01, 1025), use(2, 2048)),  # more is told at once
        (use(2, 2048), use(0.9, 900), use(2, 2048)),  # a little less is not
        (use(2, 2048), use(1, 1024), use(2, 2048)),
        (use(3, 3072), use(1, 1024), use(1, 1024)),  # much less is
        (use(2, 2048), use(gpus=1), use(gpus=1)),
        (use(2), use(1.5, extended={"rdma": 1, "none": 0}), use(2, extended={"rdma": 1})),
        (use(1, gpus=2), use(1, gpus=1), use(1, gpus=1)),  # GPUs exactly
    ],
)
def test_foreign_use_is_told_in_steps(
    before: ForeignUse | None, now: ForeignUse, said: ForeignUse
) -> None:
    assert told(before, now) == said


def test_use_that_trembles_about_a_limit_is_told_once() -> None:
    last: ForeignUse | None = None
    words = []
    for cpus in (0.9, 1.1, 0.9, 1.1, 1.0, 1.2, 0.8):
        last = told(last, use(cpus))
        words.append(last)
    assert words == [use(1), *[use(2)] * 6]
    assert last == use(2)
