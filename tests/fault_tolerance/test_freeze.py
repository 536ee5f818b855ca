"""Mass silence: both sides of both limits, how it ends, and what is told of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.incidents import Incident, IncidentClosed, IncidentOpened, IncidentUpdated
from muster.domain.nodes import NodeCondition, NodeState
from muster.fault_tolerance.core import freeze
from muster.fault_tolerance.core.freeze import Frozen, frozen
from tests.fault_tolerance.fleets import NOW, fleet, lost, node


def pool(size: int, *silent: float) -> list[NodeState]:
    """A pool of this size of which some fell silent, at seconds after NOW."""
    return [*fleet(size - len(silent)), *(lost(f"s{n}", at) for n, at in enumerate(silent))]


def is_frozen(nodes: list[NodeState], last: Incident | None = None) -> bool:
    return frozen("default", nodes, NOW, last) is not None


@pytest.mark.parametrize(
    ("size", "silent", "expected"),
    [
        (100, 4, False),
        (100, 5, True),
        (20, 3, False),
        (20, 4, True),
        (10, 1, False),
        (10, 2, True),
        (11, 2, False),
        (11, 3, True),
        (4, 1, False),
        (4, 2, True),
        (1, 1, False),
    ],
)
def test_five_nodes_or_a_fifth_of_the_pool(size: int, silent: int, expected: bool) -> None:
    assert is_frozen(pool(size, *[0.0] * silent)) is expected


@pytest.mark.parametrize(("spread", "expected"), [(60.0, True), (60.1, False)])
def test_within_a_minute(spread: float, expected: bool) -> None:
    times = [spread * n / 4 for n in range(5)]
    assert is_frozen(pool(100, *times)) is expected


def test_nodes_that_were_lost_long_before_do_not_count() -> None:
    assert not is_frozen(pool(100, -900, -800, -700, 0, 10, 20, 30))
    found = frozen("default", pool(100, -900, 0, 10, 20, 30, 40), NOW)
    assert found is not None
    assert found.nodes == ("s1", "s2", "s3", "s4", "s5")
    assert found.since == NOW


@pytest.mark.parametrize("condition", [NodeCondition.READY, NodeCondition.FENCED])
def test_it_is_over_when_enough_are_heard_of_or_proven_dead(condition: NodeCondition) -> None:
    nodes = pool(100, 0, 1, 2, 3, 4)
    assert is_frozen(nodes)
    nodes[-1] = nodes[-1].model_copy(update={"condition": condition})
    assert not is_frozen(nodes)


def gone(count: int, **values: Any) -> list[NodeState]:
    """Nodes that the cluster no longer lists."""
    named = {"condition": NodeCondition.GONE, "since": NOW} | values
    return [node(f"s{number}", **named) for number in range(count)]


@pytest.mark.parametrize(("minutes", "expected"), [(9.9, True), (10, False)])
def test_nodes_that_vanish_unannounced_are_doubted_for_a_while(
    minutes: float, expected: bool
) -> None:
    nodes = [*fleet(95), *gone(5)]
    at = NOW + timedelta(minutes=minutes)
    assert (frozen("default", nodes, at) is not None) is expected
    assert frozen("default", [*fleet(95), *gone(4)], NOW) is None


@pytest.mark.parametrize("meant", [{"cordoned": True}, {"deadline": NOW}, {"spot": True}])
def test_nodes_that_were_meant_to_go_freeze_nothing(meant: dict[str, Any]) -> None:
    nodes = gone(9)
    spot = meant.pop("spot", False)
    shape = nodes[0].shape.model_copy(update={"spot": spot})
    leaving = [each.model_copy(update={"shape": shape, **meant}) for each in nodes]
    assert frozen("default", [*fleet(95), *leaving], NOW) is None


def test_a_person_says_that_they_are_dead() -> None:
    nodes = pool(100, 0, 1, 2, 3, 4)
    opened = freeze.next_fact(None, frozen("default", nodes, NOW), NOW)
    assert isinstance(opened, IncidentOpened)
    at = NOW + timedelta(seconds=30)
    word = opened.incident.model_copy(update={"closed_at": at, "closed_by": "ann"})
    assert not is_frozen(nodes, word)
    assert not is_frozen([*nodes, lost("late", 31)], word)
    assert is_frozen([*nodes, *(lost(f"late{n}", 31) for n in range(5))], word)
    by_itself = word.model_copy(update={"closed_by": None})
    assert is_frozen(nodes, by_itself)


def test_what_is_told_of_it() -> None:
    found = frozen("default", pool(100, 0, 1, 2, 3, 4), NOW)
    opened = freeze.next_fact(None, found, NOW)
    assert isinstance(opened, IncidentOpened)
    assert opened.incident.pool == "default"
    assert opened.incident.nodes == ("s0", "s1", "s2", "s3", "s4")
    assert "5 of 100 nodes" in opened.incident.en
    assert "100 个节点中有 5 个" in opened.incident.zh
    assert freeze.next_fact(opened.incident, found, NOW) is None
    more = frozen("default", pool(100, 0, 1, 2, 3, 4, 5), NOW)
    updated = freeze.next_fact(opened.incident, more, NOW)
    assert isinstance(updated, IncidentUpdated)
    assert len(updated.incident.nodes) == 6
    closed = freeze.next_fact(updated.incident, None, NOW)
    assert isinstance(closed, IncidentClosed)
    assert closed.incident.closed_by is None
    assert freeze.next_fact(closed.incident, None, NOW) is None
    again = freeze.next_fact(closed.incident, found, NOW)
    assert isinstance(again, IncidentOpened)
    assert again.incident.number == 2


@given(st.integers(1, 60), st.lists(st.floats(-300, 300), max_size=30))
def test_few_within_any_minute_never_freeze(size: int, times: list[float]) -> None:
    silent = times[:size]
    found: Frozen | None = frozen("default", pool(size, *silent), NOW)
    most = max((sum(at <= each <= at + 60 for each in silent) for at in silent), default=0)
    assert (found is not None) is (most >= freeze.enough(size))
