"""A queue asked line by line is a queue asked job by job: same moves, same verdicts."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.domain.state import JobState
from muster.scheduler.core import victims
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.snapshot import Snapshot
from muster.scheduler.core.verdicts import Waiting
from tests.scheduler.job_by_job import JobByJob
from tests.scheduler.small_world import SmallWorld
from tests.scheduler.worlds import at, node, queued, running, world

seeds = st.integers(min_value=0, max_value=2**32)
policies = st.sampled_from(
    [Policy(), Policy(max_decisions=1), Policy(max_decisions=3), Policy(min_run_s=30)]
)


def same(snapshot: Snapshot, policy: Policy) -> None:
    """Check that both ways through the queue agree in all but what is told of kept room."""
    made, slowly = plan(snapshot, policy), JobByJob(snapshot, policy)
    assert made.moves == slowly.moves
    told = [(key, replace(verdict, kept=None)) for key, verdict in made.verdicts.items()]
    assert told == list(slowly.verdicts.items())
    assert len(made.verdicts) == len(slowly.verdicts)
    for why in Waiting:
        counted = sum(verdict.why is why for verdict in slowly.verdicts.values())
        if why not in {Waiting.NOT_BEFORE, Waiting.SET_ASIDE}:
            assert made.verdicts.count(why) == counted


def crowd(dice: Random) -> list[JobState]:
    """Make a long queue of few shapes, with some jobs that sleep or avoid a node."""
    jobs: list[JobState] = []
    for number in range(dice.randint(0, 25)):
        kind = dice.choice(["on_demand", "on_demand", "reserved", "spot", "idle"])
        more: dict[str, Any] = {}
        if dice.random() < 0.2:
            more["not_before"] = at(dice.choice([-5, 50]))
        if dice.random() < 0.1:
            more["avoid"] = (f"n{dice.randint(0, 3)}",)
        job = queued(
            f"q{number}",
            dice.choice([1, 1, 2]),
            dice.choice([1, 2, 4]),
            entered=-dice.randint(1, 50),
            kind=kind,
            priority=dice.choice([10, 50, 90]),
            tenant=dice.choice(["t", "u"]),
            auto=dice.random() < 0.7,
            guarantee=kind == "reserved" and dice.random() < 0.5,
            **more,
        )
        jobs.append(job)
    return jobs


@settings(max_examples=200, deadline=None)
@given(seeds, policies)
def test_a_long_queue_of_few_shapes(seed: int, policy: Policy) -> None:
    crowded(seed, policy)


@settings(max_examples=150, deadline=None)
@given(seeds)
def test_victims_found_by_counting_are_those_found_by_placing(seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(victims, "EXACT", 0)
        crowded(seed, Policy())


def crowded(seed: int, policy: Policy) -> None:
    """Check it in a pool in which jobs run already."""
    dice = Random(seed)
    nodes = [node(f"n{i}", dice.randint(1, 6)) for i in range(dice.randint(0, 4))]
    free = {one.node: one.shape.gpus for one in nodes}
    runs: list[JobState] = []
    for number in range(dice.randint(0, 8)):
        gpus = dice.choice([1, 2, 4])
        name = next((n for n, left in free.items() if left >= gpus), None)
        if name is not None:
            free[name] -= gpus
            kind, priority = dice.choice(["on_demand", "spot", "idle"]), dice.choice([10, 50])
            since = -dice.choice([10, 200])
            runs.append(running(f"r{number}", [name], gpus, since, kind=kind, priority=priority))
    jobs = crowd(dice)
    aside = frozenset(("t", job.job) for job in jobs if dice.random() < 0.05)
    same(world(nodes, [*runs, *jobs], set_aside=aside), policy)


@settings(max_examples=100, deadline=None)
@given(seeds, policies)
def test_a_pool_that_lives(seed: int, policy: Policy) -> None:
    small = SmallWorld(Random(seed))
    for _ in range(10):
        same(small.snapshot(), policy)
        small.carry_out(small.plan())
        small.live()
