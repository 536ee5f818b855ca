"""Which nodes failures point at: several jobs, more often than the fleet, not for ever."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.nodes import NodeCondition
from muster.fault_tolerance.core import suspicion as s
from tests.fault_tolerance.fleets import NOW, ago, fault, node

TWO_USERS = [fault("j1"), fault("j2", "bob"), fault("j3", "bob")]
STAYS = [(ago(hours=2), 12)]
SICK = [fault("j1"), fault("j2", "bob"), fault("j3", "eve")]


def suspected(faults: list[s.Fault], stays: list[s.Stay] | None = None, fleet: float = 0.0) -> bool:
    rating = s.rate(faults, STAYS if stays is None else stays, NOW)
    return s.suspicion(node(), rating, fleet, 0) is not None


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        pytest.param(SICK, True, id="three jobs of three users"),
        pytest.param(TWO_USERS, True, id="of two users"),
        pytest.param([fault("j1"), fault("j2"), fault("j3")], False, id="of one user"),
        pytest.param([fault("j1"), fault("j2", "bob")], False, id="two jobs"),
        pytest.param([fault("j1"), fault("j1"), fault("j2", "bob")], False, id="one of them twice"),
        pytest.param([], False, id="none"),
    ],
)
def test_it_takes_several_jobs_of_several_people(faults: list[s.Fault], expected: bool) -> None:
    assert suspected(faults) is expected


@pytest.mark.parametrize(("attempts", "expected"), [(20, True), (24, False), (400, False)])
def test_few_failures_of_many_attempts_are_no_suspicion(attempts: int, expected: bool) -> None:
    assert suspected(SICK, [(ago(hours=1), attempts)]) is expected


@pytest.mark.parametrize(("fleet", "expected"), [(0.08, True), (0.09, False)])
def test_a_node_is_held_against_its_fleet(fleet: float, expected: bool) -> None:
    assert suspected(SICK, fleet=fleet) is expected


@pytest.mark.parametrize(("days", "expected"), [(0, True), (20, True), (28, False), (40, False)])
def test_old_failures_are_forgotten(days: float, expected: bool) -> None:
    faults = [fault(f"j{n}", f"u{n}", at=ago(days=days)) for n in range(6)]
    assert suspected(faults, [(ago(days=days), 6)]) is expected


def test_a_failure_weighs_half_each_week() -> None:
    assert s.weight(NOW, NOW) == 1
    assert s.weight(ago(days=7), NOW) == pytest.approx(0.5)
    assert s.weight(ago(days=14), NOW) == pytest.approx(0.25)
    assert s.weight(ago(days=27.9), NOW) > 0
    assert s.weight(ago(days=28), NOW) == 0
    assert s.weight(NOW + timedelta(hours=1), NOW) == 1  # a clock that runs ahead


def test_hardware_that_reports_itself_is_believed_at_once() -> None:
    rating = s.rate([fault("j1", hard=True, rule="xid.79")], [(ago(hours=1), 500)], NOW)
    found = s.suspicion(node(), rating, 0.0, 0)
    assert found is not None
    assert (found.hard, found.proposed, found.ttl) == (True, True, timedelta(hours=24))
    assert "xid.79" in found.en
    assert "xid.79" in found.zh


@pytest.mark.parametrize(
    ("earlier", "hours", "proposed"), [(0, 24, False), (1, 48, True), (2, 96, True), (9, 672, True)]
)
def test_each_repeat_rests_twice_as_long(earlier: int, hours: int, proposed: bool) -> None:
    found = s.suspicion(node(), s.rate(SICK, STAYS, NOW), 0.0, earlier)
    assert found is not None
    assert (found.ttl, found.proposed) == (timedelta(hours=hours), proposed)


@pytest.mark.parametrize("field", ["cleared_at", "excluded_at"])
def test_what_was_before_an_operators_word_or_a_rest_is_over(field: str) -> None:
    history = {"name:default/n1": (tuple(SICK), tuple(STAYS))}

    def jobs(minutes: float, *, fresh: bool = True) -> int:
        state = node("n1", **{field: ago(minutes=minutes)})
        (found,) = s.assess([state], history, NOW)
        return (found.fresh if fresh else found.whole).jobs

    assert jobs(59) == 0
    assert jobs(61) == 3
    assert jobs(59, fresh=False) == 3


def test_a_machine_is_known_by_its_serial() -> None:
    history = {"serial:SN-1": (tuple(SICK), tuple(STAYS))}
    nodes = [node("renamed", serial="SN-1"), node("n1", serial="SN-2"), node("n2")]
    assert [each.fresh.jobs for each in s.assess(nodes, history, NOW)] == [3, 0, 0]


def test_a_node_is_held_against_the_others_and_one_that_is_gone_against_nobody() -> None:
    name, stays = "name:default/n1", tuple(STAYS)
    alone = s.assess([node(), node("n2")], {name: (tuple(SICK), stays)}, NOW)
    assert [bool(each.why) for each in alone] == [True, False]
    bad = {f"name:default/n{number}": (tuple(SICK), stays) for number in range(4)}
    assert not any(each.why for each in s.assess([node(f"n{n}") for n in range(4)], bad, NOW))
    gone = node(condition=NodeCondition.GONE)
    assert s.assess([gone], {name: (tuple(SICK), stays)}, NOW) == ()


def test_a_machine_that_comes_back_renamed_stays_out() -> None:
    until = NOW + timedelta(hours=3)
    old = node(
        "old", serial="SN-1", excluded_until=until, exclusions=2, condition=NodeCondition.GONE
    )
    new = node("new", serial="SN-1")
    assert s.carried(new, [old, new], NOW) is old
    assert s.earlier(new, [old, new]) == 2
    assert s.carried(new, [old, new], until) is None
    other = node("new", serial="SN-2")
    assert s.carried(other, [old, other], NOW) is None
    opened = node("new", serial="SN-1", cleared_at=NOW)
    assert s.carried(opened, [old, opened], NOW) is None
    there = old.model_copy(update={"condition": NodeCondition.READY})
    assert s.carried(new, [there, new], NOW) is None


def test_the_fleets_rate_is_that_of_nodes_with_work() -> None:
    idle, good = s.rate([], [], NOW), s.rate([], [(NOW, 10)], NOW)
    bad = s.rate(SICK, [(ago(hours=1), 3)], NOW)
    assert s.usual([idle, good, bad]) == pytest.approx(0.5)
    assert s.usual([idle, idle, bad]) == pytest.approx(1.0)
    assert s.usual([idle]) == 0


FAULTS = st.lists(
    st.builds(
        fault,
        st.sampled_from([f"j{n}" for n in range(8)]),
        st.sampled_from(["ann", "bob", "eve"]),
        at=st.floats(0, 40).map(lambda days: ago(days=days)),
    ),
    max_size=20,
)
COUNTS = st.lists(st.tuples(st.floats(0, 40).map(lambda d: ago(days=d)), st.integers(1, 50)))


@given(FAULTS, COUNTS)
def test_a_rate_lies_between_its_bounds(faults: list[s.Fault], stays: list[s.Stay]) -> None:
    rating = s.rate(faults, stays, NOW)
    assert 0 <= rating.low <= rating.rate + 1e-9
    assert rating.rate <= rating.high + 1e-9 <= 1 + 1e-9
    assert rating.failed <= rating.stays + 1e-9


@given(FAULTS, COUNTS, st.floats(0, 1))
def test_one_persons_jobs_never_make_a_node_suspect(
    faults: list[s.Fault], stays: list[s.Stay], fleet: float
) -> None:
    mine = [fault(each.job[1], at=each.at) for each in faults]
    assert s.suspicion(node(), s.rate(mine, stays, NOW), fleet, 0) is None


@given(st.floats(0, 100), st.floats(0.1, 100), st.floats(0, 100))
def test_more_work_without_failures_never_makes_a_node_worse(
    bad: float, good: float, more: float
) -> None:
    assert s.wilson(bad, bad + good + more)[0] <= s.wilson(bad, bad + good)[0] + 1e-9
