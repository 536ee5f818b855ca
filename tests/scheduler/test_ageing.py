"""Waiting raises a job's place in line, by a bound that is stated; and the place is then kept."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.domain.state import JobState
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from tests.scheduler.worlds import (
    at,
    decide,
    decisions,
    held,
    node,
    placements,
    queued,
    running,
    victims,
    world,
)

HOUR = 3600.0
POLICY = Policy()


def line(*jobs: JobState, policy: Policy = POLICY) -> list[str]:
    """Return the queue in its order."""
    return [job for _, job in plan(world([], jobs), policy).verdicts]


def test_priority_comes_first_in_ordinary_waits() -> None:
    low = queued("low", priority=10, entered=-12 * HOUR)
    mid = queued("mid", priority=50, entered=-6 * HOUR)
    assert line(low, mid, queued("high", priority=90, entered=-60)) == ["high", "mid", "low"]


def test_who_waits_long_enough_passes_a_higher_one_that_came_later() -> None:
    low = queued("low", priority=10, entered=-14 * HOUR)
    assert line(queued("high", priority=90, entered=-60), low) == ["low", "high"]
    assert line(queued("high", priority=90, entered=-60), low, policy=Policy(age_s=60_000)) == [
        "high",
        "low",
    ]


def test_no_wait_passes_a_guarantee_or_a_tier() -> None:
    old = queued("old", priority=99, entered=-1000 * HOUR)
    sure = queued("sure", priority=1, guarantee=True)
    spot = queued("spot", priority=99, kind="spot", entered=-9000 * HOUR)
    assert line(spot, old, sure) == ["sure", "old", "spot"]


jobs = st.lists(
    st.tuples(st.integers(min_value=1, max_value=99), st.integers(min_value=0, max_value=200_000)),
    min_size=1,
    max_size=12,
)


@settings(max_examples=200, deadline=None)
@given(jobs, st.integers(min_value=0, max_value=300_000), st.integers(min_value=1, max_value=900))
def test_nobody_is_passed_by_who_came_later_than_the_bound(
    made: list[tuple[int, int]], later: int, age_s: int
) -> None:
    policy = Policy(age_s=age_s)
    states = [queued(f"j{i}", priority=p, entered=when) for i, (p, when) in enumerate(made)]
    order = line(*states, policy=policy)
    entered = {state.job: (state.demand.priority or 0, state.entered_at) for state in states}
    for place, behind in enumerate(order):
        priority, came = entered[behind]
        assert came is not None
        for ahead in order[:place]:
            other = entered[ahead][1]
            assert other is not None
            assert (other - came).total_seconds() <= (99 - priority) * age_s
    # and the order is the same at any later instant
    then = world([], states, now=later)
    assert [job for _, job in plan(then, policy).verdicts] == order


def test_a_place_got_by_waiting_is_not_taken_by_whom_it_passed() -> None:
    old = queued("old", priority=10, entered=-14 * HOUR)
    high = queued("high", priority=90, entered=-60)
    made = decide([node("n1")], [old, high])
    assert set(placements(made)) == {"old"}
    on_paper = held(old, ["n1"], when=0)
    assert decisions(decide([node("n1")], [on_paper, high], now=1)) == {}
    runs = running("old", ["n1"], priority=10, entered=-14 * HOUR, since=0)
    assert victims(decide([node("n1")], [runs, high], now=HOUR)) == set()
    made = decide([node("n1")], [runs, high], now=13 * HOUR)
    assert victims(made) == set()
    assert made.next_at == at(14 * HOUR)
    assert victims(decide([node("n1")], [runs, high], now=14 * HOUR)) == {"old"}


def test_a_short_wait_protects_from_nobody() -> None:
    runs = running("low", ["n1"], priority=10, entered=-12 * HOUR, since=0)
    assert victims(decide([node("n1")], [runs, queued("high", priority=90)], now=60)) == {"low"}


def test_a_wait_protects_within_its_tier_and_never_from_a_guarantee() -> None:
    runs = running("old", ["n1"], priority=10, entered=-140 * HOUR, since=0)
    sure = queued("sure", priority=20, guarantee=True)
    assert victims(decide([node("n1")], [runs, sure], now=60)) == {"old"}
    spot = running("old", ["n1"], kind="spot", priority=90, entered=-140 * HOUR, since=0)
    nodes = [node("n1", spot=False)]
    assert victims(decide(nodes, [spot, queued("low", priority=10)], now=60)) == {"old"}


def test_a_restart_in_place_ends_the_protection() -> None:
    runs = running("old", ["n1"], priority=10, entered=-14 * HOUR, since=0)
    snapshot = world([node("n1")], [runs, queued("high", priority=90)], now=60)
    first, *rest = snapshot.jobs
    again = type(first)(first.state.model_copy(update={"attempt": 2}), first.seq, first.stay)
    made = plan(replace(snapshot, jobs=(again, *rest)), POLICY)
    assert victims(made) == {"old"}


def test_equal_instants_are_told_apart_by_the_job_not_by_the_tenant() -> None:
    assert line(queued("a", tenant="z"), queued("b", tenant="a")) == ["a", "b"]
