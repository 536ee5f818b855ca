"""Brakes: both sides of each limit, and that nothing that fails ever breaks them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.demand import NodePolicy, NodePolicyType
from muster.domain.incidents import IncidentClosed, IncidentOpened, IncidentUpdated
from muster.domain.nodes import NodeState
from muster.domain.room import holds
from muster.fault_tolerance.core import brakes as b
from muster.fault_tolerance.core.brakes import Ground, Held, Needed
from tests.fault_tolerance.fleets import NOW, ago, demand, fleet, node

SOON = NOW + timedelta(hours=24)


def out(state: NodeState, minutes: float = 120) -> NodeState:
    """The node, kept out so many minutes ago."""
    update = {"excluded_until": SOON, "excluded_at": ago(minutes=minutes), "exclusions": 1}
    return state.model_copy(update=update)


def held(nodes: list[NodeState], **values: Any) -> Held | None:
    guaranteed = values.pop("guaranteed", {})
    found = b.brake(nodes[0], Ground(nodes, guaranteed, **values), NOW)
    return found.held if found else None


@pytest.mark.parametrize(
    ("size", "fresh", "expected"),
    [
        (40, 1, None),
        (40, 2, Held.FLEET),
        (39, 1, Held.FLEET),
        (60, 2, None),
        (5, 0, None),
        (10, 1, Held.FLEET),
    ],
)
def test_a_twentieth_of_the_fleet_an_hour(size: int, fresh: int, expected: Held | None) -> None:
    nodes = fleet(size)
    recent = [out(each, 59) for each in nodes[-fresh:]] if fresh else []
    assert held([*nodes[: size - fresh], *recent]) is expected


def test_an_hour_later_others_may_follow() -> None:
    nodes = fleet(20)
    assert held([*nodes[:-1], out(nodes[-1], 60)]) is None
    assert held([*nodes[:-1], out(nodes[-1], 59.9)]) is Held.FLEET


def test_a_node_that_was_readmitted_within_the_hour_still_counts() -> None:
    nodes = fleet(20)
    back = out(nodes[-1], 30).model_copy(update={"excluded_until": None})
    assert held([*nodes[:-1], back]) is Held.FLEET


@pytest.mark.parametrize(
    ("size", "away", "expected"),
    [
        (5, 0, None),
        (4, 0, Held.SMALL),
        (1, 0, Held.SMALL),
        (10, 1, None),
        (10, 2, Held.POOL),
        (11, 1, None),
    ],
)
def test_a_fifth_of_a_pool(size: int, away: int, expected: Held | None) -> None:
    nodes = fleet(size)
    gone = [out(each) for each in nodes[-away:]] if away else []
    elsewhere = fleet(100, pool="other")
    assert held([*nodes[: size - away], *gone, *elsewhere]) is expected


def test_a_small_pool_is_told_that_none_of_its_nodes_can_ever_be_kept_out() -> None:
    found = b.brake(fleet(4)[0], Ground(fleet(4), {}), NOW)
    assert found is not None
    assert "has 4 node(s) and no node of it can ever be kept out" in found.en
    assert "5 or more" in found.en
    assert "只有 4 个节点，无法自动排除任何节点（至少需要 5 个节点）" in found.zh


@pytest.mark.parametrize(("guaranteed", "expected"), [(32, None), (33, Held.GUARANTEE)])
def test_what_is_guaranteed_stays(guaranteed: int, expected: Held | None) -> None:
    assert held(fleet(5), guaranteed={"H100": guaranteed, "A100": 999}) is expected


def test_nodes_that_are_closed_or_silent_hold_no_guarantee() -> None:
    nodes = fleet(6)
    nodes[5] = nodes[5].model_copy(update={"cordoned": True})
    assert held(nodes, guaranteed={"H100": 33}) is Held.GUARANTEE
    assert held(nodes, guaranteed={"H100": 32}) is None


@pytest.mark.parametrize(
    ("workers", "expected"),
    [
        pytest.param(4, None, id="fits without"),
        pytest.param(5, Held.GANG, id="fits only with"),
        pytest.param(6, None, id="never fits anyway"),
    ],
)
def test_a_gang_that_fits_is_not_kept_out(workers: int, expected: Held | None) -> None:
    assert held(fleet(5), needed=[Needed("j1", demand(workers))]) is expected


def test_block_lists_and_node_policies_count() -> None:
    """The one case that must never be: an exclusion that makes a block list too long."""
    four = Needed("j1", demand(4), frozenset({"n4"}))
    assert held(fleet(5), needed=[four]) is Held.GANG
    policy = NodePolicy(type=NodePolicyType.NODE_NOT_IN, nodes=("n3",))
    chosen = Needed("j1", demand(4, node_policy=policy))
    assert held(fleet(5), needed=[chosen]) is Held.GANG
    elsewhere = Needed("j1", demand(4), frozenset({"n0"}))
    assert held(fleet(5), needed=[elsewhere]) is None


def test_a_silent_pool_loses_nothing_more() -> None:
    assert held(fleet(50), frozen=True) is Held.FROZEN


def test_every_brake_says_why_in_both_languages() -> None:
    grounds = {
        Held.FLEET: Ground([*fleet(9), out(node("x"), 1)], {}),
        Held.POOL: Ground([*fleet(8), out(node("x"), 90), out(node("y"), 90)], {}),
        Held.SMALL: Ground(fleet(4), {}),
        Held.GUARANTEE: Ground(fleet(5), {"H100": 40}),
        Held.GANG: Ground(fleet(5), {}, [Needed("j1", demand(5))]),
        Held.FROZEN: Ground(fleet(5), {}, frozen=True),
    }
    assert set(grounds) == set(Held)
    for kind, ground in grounds.items():
        found = b.brake(ground.fleet[0], ground, NOW)
        assert found is not None
        assert found.held is kind
        assert found.en
        assert found.zh
        assert "{" not in found.en + found.zh


@given(
    size=st.integers(1, 40),
    sick=st.lists(st.tuples(st.integers(0, 39), st.integers(0, 30)), max_size=60),
    guaranteed=st.integers(0, 320),
    gangs=st.lists(st.tuples(st.integers(1, 40), st.sets(st.integers(0, 39))), max_size=4),
)
def test_whatever_fails_the_brakes_are_kept(
    size: int,
    sick: list[tuple[int, int]],
    guaranteed: int,
    gangs: list[tuple[int, set[int]]],
) -> None:
    """Nodes turn out sick one after the other, some minutes apart, in any order."""
    nodes = {f"n{number}": each for number, each in enumerate(fleet(size))}
    needed = [
        Needed(f"j{number}", demand(workers), frozenset(f"n{each}" for each in blocked))
        for number, (workers, blocked) in enumerate(gangs)
    ]
    before = {need.name: _fits(need, nodes.values()) for need in needed}
    now, times = NOW, []
    for number, minutes in sick:
        now += timedelta(minutes=minutes)
        state = nodes.get(f"n{number % size}")
        assert state is not None
        if state.excluded_until is not None:
            continue
        ground = Ground(list(nodes.values()), {"H100": guaranteed}, needed)
        if b.brake(state, ground, now) is None:
            update = {"excluded_until": now + timedelta(days=28), "excluded_at": now}
            nodes[state.node] = state.model_copy(update=update)
            times.append(now)
    kept_out = [each for each in nodes.values() if each.excluded_until is not None]
    assert len(kept_out) <= 0.2 * size
    for at in times:
        within = [each for each in times if timedelta() <= at - each < timedelta(hours=1)]
        assert len(within) <= max(1, 0.05 * size)
    if kept_out:
        assert 8 * (size - len(kept_out)) >= guaranteed
    assert all(_fits(need, nodes.values()) for need in needed if before[need.name])


def _fits(need: Needed, nodes: Any) -> bool:
    left = [e.shape for e in nodes if e.excluded_until is None and e.node not in need.blocked]
    return holds(left, need.demand)


STOP = b.Brake(Held.POOL, "too many", "太多")


def next_fact(known: Any, brake: Any, newest: Any = NOW, nodes: Any = ("n1",)) -> Any:
    return b.next_fact(known, NOW, "default", brake, nodes if brake else (), newest)


def test_people_are_told_once_of_what_a_brake_holds() -> None:
    first = next_fact(None, STOP)
    assert isinstance(first, IncidentOpened)
    assert (first.incident.en, first.incident.zh) == ("too many", "太多")
    assert first.incident.nodes == ("n1",)
    assert next_fact(first.incident, STOP) is None
    more = next_fact(first.incident, STOP, nodes=("n1", "n2"))
    assert isinstance(more, IncidentUpdated)
    done = next_fact(first.incident, None)
    assert isinstance(done, IncidentClosed)
    assert next_fact(done.incident, None) is None
    again = next_fact(done.incident, STOP)
    assert isinstance(again, IncidentOpened)
    assert again.incident.number == 2


def test_a_person_who_knows_of_it_is_told_again_only_of_new_failures() -> None:
    first = next_fact(None, STOP)
    closed = first.incident.model_copy(update={"closed_at": NOW, "closed_by": "ann"})
    assert next_fact(closed, STOP, NOW) is None
    assert isinstance(next_fact(closed, STOP, NOW + timedelta(seconds=1)), IncidentOpened)
