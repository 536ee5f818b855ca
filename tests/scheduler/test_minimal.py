"""The victims are the best there are: compared with every set, on pools made by chance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, combinations
from random import Random
from typing import Any

import pytest

from muster.domain import facts as f
from muster.domain.demand import Role
from muster.domain.nodes import NodeState
from muster.domain.state import JobState
from muster.scheduler.core.minimal import NOTHING, Piece, Price, best_set, price_of
from muster.scheduler.core.placement import Shortfall, how_for, place
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rank import level
from muster.scheduler.core.rooms import Site, gathered
from muster.scheduler.core.round import Round
from muster.scheduler.core.stayers import stayer_of
from muster.scheduler.core.victims import candidates, piece
from tests.scheduler.worlds import (
    at,
    decide,
    held,
    node,
    placements,
    queued,
    role,
    running,
    victims,
    world,
)

KINDS = ("idle", "spot", "on_demand", "on_demand", "reserved")
MOST = 12


def fill(random: Random, nodes: Sequence[NodeState]) -> list[JobState]:
    """Put up to a dozen gangs of all sorts on the nodes."""
    free = {each.node: each.shape.gpus for each in nodes}
    jobs: list[JobState] = []
    for number in range(random.randint(1, MOST)):
        gpus = random.choice((1, 1, 2, 2, 4))
        open_to = [name for name, left in free.items() if left >= gpus]
        if not open_to:
            break
        places = random.sample(open_to, random.randint(1, min(3, len(open_to))))
        for name in places:
            free[name] -= gpus
        kind = random.choice(KINDS)
        more: dict[str, Any] = {"kind": kind, "priority": random.choice((10, 20, 30, 50))}
        if random.random() < 0.15:
            jobs.append(held(queued(f"p{number}", len(places), gpus, **more), places))
        else:
            since = -float(random.choice((10, 60, 600, 6000)))
            guarantee = kind == "reserved" and random.random() < 0.4
            job = running(f"r{number}", places, gpus, since=since, guarantee=guarantee, **more)
            jobs.append(job)
    return jobs


def wanted(random: Random) -> JobState:
    """Make the one that needs room: one role, or a large and a small one."""
    kind = random.choice(("on_demand", "on_demand", "spot"))
    priority = random.choice((20, 40, 60, 90))
    workers, gpus = random.randint(1, 4), random.choice((1, 2, 4))
    roles: tuple[Role, ...] = (role(replicas=workers, gpus=gpus),)
    if random.random() < 0.3:
        roles = (role("head", 1, random.choice((1, 2, 4))), *roles)
    return queued("h", kind=kind, priority=priority, roles=roles)


def every_subset(names: Sequence[str]) -> Iterable[tuple[str, ...]]:
    return chain.from_iterable(combinations(names, size) for size in range(len(names) + 1))


def price_by_hand(jobs: Sequence[JobState]) -> Price:
    listed = world([], jobs).holding
    stayers = [stayer_of(job, Policy()) for job in listed]
    return price_of([piece(one) for one in candidates(stayers, at(0))])


def outranks(high: JobState, job: JobState) -> bool:
    return not job.demand.guarantee and level(job) < level(high)


def best_by_hand(
    nodes: Sequence[NodeState], jobs: Sequence[JobState], high: JobState
) -> Price | None:
    """Return the price of the best of all sets, None if even all of them are not enough."""
    may_go = {job.job: job for job in jobs if outranks(high, job)}
    best: Price | None = None
    for names in every_subset(sorted(may_go)):
        price = price_by_hand([may_go[name] for name in names])
        if best is not None and price >= best:
            continue
        left = [job for job in jobs if job.job not in names]
        if fits(nodes, left, high):
            best = price
    return best


def fits(nodes: Sequence[NodeState], jobs: Sequence[JobState], high: JobState) -> bool:
    made = Round(world(nodes, jobs), Policy())
    sites = gathered(Site(n.node, n.shape, made.board.free(n.node)) for n in nodes)
    how = how_for(high.demand, made.taste, ())
    return not isinstance(place(high.demand.roles, sites, how=how), Shortfall)


@pytest.mark.parametrize("part", range(8))
def test_the_best_of_all_sets_leaves(part: int) -> None:
    cases = 0
    for seed in range(part * 400, part * 400 + 400):
        random = Random(seed)
        nodes = [node(f"n{i}", random.choice((2, 4, 8))) for i in range(random.randint(1, 5))]
        jobs, high = fill(random, nodes), wanted(random)
        if sum(outranks(high, job) for job in jobs) > 8 and seed % 8:
            continue  # every eighth of the large ones: two to the twelfth sets each
        made = plan(world(nodes, [*jobs, high]), Policy(age_s=0))
        gone = [
            next(job for job in jobs if job.job == decision.job[1])
            for move in made.moves
            for decision in move.decisions
            if isinstance(decision.fact, f.Preempted | f.Unscheduled)
        ]
        best = best_by_hand(nodes, jobs, high)
        if best is None:
            assert placements(made) == {}, seed
            continue
        assert set(placements(made)) == {"h"}, seed
        assert price_by_hand(gone) == best, seed
        cases += best != NOTHING
    assert cases > 40


# --- the search alone --------------------------------------------------------------------------


def a_piece(name: str, tier: int = 2, *, runs: bool = True, priority: int = 10) -> Piece:
    return Piece(("t", name), runs, tier, priority, 0.0, name)


def test_no_more_sets_are_tried_than_allowed() -> None:
    asked: list[frozenset[tuple[str, str]]] = []

    def enough(keys: frozenset[tuple[str, str]]) -> bool:
        asked.append(keys)
        return len(keys) == 6

    pieces = [a_piece(f"p{i}") for i in range(12)]
    assert best_set(pieces, enough, None, 100) is None
    assert len(asked) == 100
    assert best_set(pieces, enough, None, 4096) is not None


def test_only_what_is_cheaper_than_what_is_known_is_tried() -> None:
    asked: list[frozenset[tuple[str, str]]] = []

    def enough(keys: frozenset[tuple[str, str]]) -> bool:
        asked.append(keys)
        return False

    pieces = [a_piece(f"p{i}") for i in range(12)]
    assert best_set(pieces, enough, price_of(pieces[:2]), 4096) is None
    assert max(len(keys) for keys in asked) <= 2
    assert len(asked) <= 1 + 12 + 66


def test_what_is_on_paper_goes_before_what_runs_and_idle_before_spot_before_the_rest() -> None:
    pieces = [
        a_piece("rest"),
        a_piece("spot", 1),
        a_piece("idle", 0),
        a_piece("paper", runs=False),
        a_piece("idle on paper", 0, runs=False),
    ]
    order = sorted(pieces, key=lambda one: price_of([one]))
    names = [one.key[1] for one in order]
    assert names == ["idle on paper", "paper", "idle", "spot", "rest"]


# --- cases that others got wrong ---------------------------------------------------------------


def test_not_ten_for_what_one_is_enough_for() -> None:
    small = [running(f"s{i}", [f"n{i}"], gpus=1, priority=10) for i in range(10)]
    nodes = [*(node(f"n{i}", 1) for i in range(10)), node("big", 8)]
    jobs = [*small, running("one", ["big"], gpus=8, priority=20), queued("h", priority=80)]
    assert victims(decide(nodes, jobs)) == {"one"}
    ten = [running(f"s{i}", ["n1"], gpus=1, priority=10) for i in range(10)]
    jobs = [*ten, running("one", ["n2"], gpus=10, priority=20), queued("h", gpus=10, priority=80)]
    assert victims(decide([node("n1", 10), node("n2", 10)], jobs)) == {"one"}


def test_not_one_process_of_each_of_ten_gangs() -> None:
    nodes = [node(f"n{i}", 10) for i in range(10)]
    gangs = [running(f"g{i}", [f"n{j}" for j in range(10)], gpus=1, priority=10) for i in range(10)]
    jobs = [*gangs, queued("h", 10, 1, priority=80)]
    assert len(victims(decide(nodes, jobs))) == 1


def test_a_long_row_of_small_ones_goes_only_as_far_as_the_big_one_needs() -> None:
    """Many small jobs came first; two big ones come, each of half the pool."""
    nodes = [node(f"n{i}", 32) for i in range(2)]
    small = [
        running(f"s{i}", [f"n{i % 2}"], gpus=1, priority=10, since=-60.0 * i - 1) for i in range(60)
    ]
    big = queued("big", gpus=16, priority=80)
    made = decide(nodes, [*small, big])
    assert len(victims(made)) == 14  # two are free on each node
    assert len(placements(made)["big"]) == 1
