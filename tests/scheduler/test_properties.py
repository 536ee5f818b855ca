"""Properties of every plan, in small worlds where all that can follow can be looked at."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.domain import facts as f
from muster.domain.demand import Demand
from muster.domain.nodes import NodeState
from muster.domain.state import JobState
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rank import level
from muster.scheduler.core.verdicts import Plan
from tests.scheduler.small_world import SmallWorld, over_capacity, subsets, usage
from tests.scheduler.worlds import (
    decide,
    decisions,
    node,
    placements,
    queued,
    running,
    victims,
    world,
)

seeds = st.integers(min_value=0, max_value=2**32)
many = settings(max_examples=150, deadline=None)


@many
@given(seeds)
def test_no_node_is_over_its_capacity_in_any_state_that_can_follow(seed: int) -> None:
    small = SmallWorld(Random(seed))
    for _ in range(12):
        small.carry_out(small.plan())
        assert over_capacity(small.nodes, small.books) == []
        small.live()


@many
@given(seeds)
def test_every_move_is_whole_eligible_and_of_use(seed: int) -> None:
    small = SmallWorld(Random(seed))
    for _ in range(12):
        made = small.plan()
        _check_moves(made, small)
        small.carry_out(made)
        small.live()


def _check_moves(made: Plan, small: SmallWorld) -> None:
    for move in made.moves:
        facts = {decision.job[1]: decision.fact for decision in move.decisions}
        for name, fact in facts.items():
            if isinstance(fact, f.Scheduled):
                _check_placement(small, name, fact)
            if isinstance(fact, f.Preempted | f.Unscheduled) and fact.by is not None:
                victim, other = small.books[name], small.books[fact.by]
                assert not victim.demand.guarantee
                assert level(victim) < level(other)
                beneficiary = facts[fact.by]
                assert isinstance(beneficiary, f.Scheduled)
                assert set(victim.held) & set(beneficiary.placement)


def _check_placement(small: SmallWorld, name: str, fact: f.Scheduled) -> None:
    state = small.books[name]
    placed = sorted(worker for workers in fact.placement.values() for worker in workers)
    assert placed == sorted(state.demand.workers)
    for where in fact.placement:
        assert small.nodes[where].schedulable
        assert not (small.nodes[where].shape.spot and state.demand.tier == 2)


@many
@given(seeds)
def test_a_plan_does_not_depend_on_the_order_of_its_input(seed: int) -> None:
    small = SmallWorld(Random(seed))
    for _ in range(8):
        one, two = small.plan(), small.plan()
        assert one.moves == two.moves
        assert list(one.verdicts.items()) == list(two.verdicts.items())
        assert (one.next_at, one.cursor) == (two.next_at, two.cursor)
        small.carry_out(one)
        small.live()


@many
@given(seeds)
def test_when_nothing_happens_rounds_come_to_rest(seed: int) -> None:
    small = SmallWorld(Random(seed))
    for _ in range(6):
        small.carry_out(small.plan())
        small.live()
    made = small.plan()
    for _ in range(10):
        small.carry_out(made)
        made = small.plan()
    assert made.moves == ()


# --- one job against a full pool, and the oracle that tries every set of victims ----------------

guests = st.lists(
    st.tuples(
        st.integers(min_value=1, max_value=4),
        st.sampled_from([10, 30, 50, 70]),
        st.sampled_from(["on_demand", "spot", "idle"]),
        st.booleans(),
        st.integers(min_value=1, max_value=2),
    ),
    max_size=7,
)
pools = st.lists(st.integers(min_value=1, max_value=6), min_size=1, max_size=3)
arrivals = st.tuples(
    st.integers(min_value=1, max_value=3),
    st.integers(min_value=1, max_value=4),
    st.sampled_from([10, 50, 90]),
    st.sampled_from(["on_demand", "spot"]),
)


def _fill(
    sizes: list[int], wanted: list[tuple[int, int, str, bool, int]]
) -> tuple[list[NodeState], list[JobState]]:
    """Put guests onto nodes, first come first served."""
    free = {f"n{i}": size for i, size in enumerate(sizes)}
    jobs: list[JobState] = []
    for number, (gpus, priority, kind, guarantee, workers) in enumerate(wanted):
        where = [name for name, left in free.items() if left >= gpus][:workers]
        if len(where) < workers:
            continue
        for name in where:
            free[name] -= gpus
        sure = guarantee and kind == "on_demand"
        jobs.append(
            running(f"g{number}", where, gpus, priority=priority, kind=kind, guarantee=sure)
        )
    return [node(name, size) for name, size in zip(free, sizes, strict=True)], jobs


def _fits(nodes: list[NodeState], staying: list[JobState], demand: Demand) -> bool:
    """Tell by counting whether a gang of one role fits beside these jobs."""
    used, role = usage(staying), demand.roles[0]
    free = [one.shape.gpus - used.get(one.node, 0) for one in nodes]
    return sum(left // role.gpus for left in free) >= role.replicas


@settings(max_examples=300, deadline=None)
@given(pools, guests, arrivals)
def test_victims_are_needed_enough_and_taken_from_the_bottom(
    sizes: list[int],
    wanted: list[tuple[int, int, str, bool, int]],
    arrival: tuple[int, int, int, str],
) -> None:
    nodes, jobs = _fill(sizes, wanted)
    workers, gpus, priority, kind = arrival
    job = queued("new", workers, gpus, priority=priority, kind=kind)
    made = decide(nodes, [*jobs, job])
    eligible = [j for j in jobs if not j.demand.guarantee and level(j) < level(job)]
    ways = [
        gone
        for gone in subsets(j.job for j in eligible)
        if _fits(nodes, [j for j in jobs if j.job not in gone], job.demand)
    ]
    out = victims(made)
    assert ("new" in placements(made)) == bool(ways)
    if not ways:
        assert out == set()
        return
    assert out in ways
    assert not any(way < out for way in ways), "some victim was not needed"
    tiers = {j.job: level(j)[0] for j in jobs}

    def cost(way: set[str]) -> tuple[int, ...]:
        found = [tiers[name] for name in way]
        return found.count(2), found.count(1), found.count(0)

    assert cost(out) == min(map(cost, ways)), "fewer would do, of the highest tier touched first"


budgets = st.sampled_from(
    [
        Policy(max_searches=1),
        Policy(max_looks=1),
        Policy(max_attempts=1),
        Policy(max_attempts=2, max_looks=40, max_searches=1),
    ]
)


@settings(max_examples=150, deadline=None)
@given(pools, guests, budgets)
def test_a_budget_reaches_everybody_in_the_end(
    sizes: list[int], wanted: list[tuple[int, int, str, bool, int]], budget: Policy
) -> None:
    nodes, jobs = _fill(sizes, wanted)
    waiting = [queued(f"w{gpus}", gpus=gpus, priority=90) for gpus in range(1, 6)]
    full = decide(nodes, [*jobs, *waiting])
    cursor, seen = None, set[str]()
    for _ in range(10):
        cut = plan(world(nodes, [*jobs, *waiting], cursor=cursor), budget)
        seen |= {job for job, fact in decisions(cut).items() if isinstance(fact, f.Scheduled)}
        cursor = cut.cursor
        if cursor is None:
            break
    assert cursor is None
    assert (seen == set()) == (placements(full) == {})
