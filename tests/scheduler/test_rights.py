"""The guards: nobody goes round in circles, and not too many leave at once."""

from __future__ import annotations

from typing import Any

import pytest

from muster.domain.causes import EvictionCause
from muster.domain.state import JobState
from muster.domain.tenants import QuotaSet, Share, TenantView
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.snapshot import Eviction
from muster.scheduler.core.verdicts import Plan, Waiting
from tests.scheduler.worlds import (
    POOL,
    at,
    held,
    launched,
    node,
    placements,
    queued,
    running,
    victims,
    world,
)


def gone(victim: str, by: str, seconds: float = -100, **more: Any) -> Eviction:
    return Eviction(at(seconds), ("t", victim), by, EvictionCause.PRIORITY, **more)


def decided(jobs: list[JobState], *evictions: Eviction, nodes: int = 1, **policy: Any) -> Plan:
    there = [node(f"n{i}") for i in range(1, nodes + 1)]
    return plan(world(there, jobs, evictions=evictions), Policy(**policy))


def pair() -> list[JobState]:
    return [running("low", ["n1"], priority=20), queued("high", priority=80)]


def why(made: Plan, job: str) -> Waiting:
    return made.verdicts["t", job].why


# --- circles -----------------------------------------------------------------------------------


def test_nobody_evicts_the_one_for_which_it_was_evicted() -> None:
    made = decided(pair(), gone("high", by="low"))
    assert made.moves == ()
    assert made.next_at is not None


def test_nor_by_way_of_others() -> None:
    assert decided(pair(), gone("high", by="mid"), gone("mid", by="low")).moves == ()
    assert victims(decided(pair(), gone("high", by="mid"), gone("low", by="mid"))) == {"low"}


def test_what_is_long_past_forbids_nothing_nor_what_somebody_has_turned_round() -> None:
    assert victims(decided(pair(), gone("high", by="low", seconds=-3601))) == {"low"}
    assert victims(decided(pair(), gone("high", by="low", void=True))) == {"low"}


def test_one_with_a_past_keeps_nobody_else_from_its_place() -> None:
    jobs = [running("low", ["n1"], priority=20)]
    jobs += [queued("fell", priority=80, entered=-500), queued("fresh", priority=80)]
    made = decided(jobs, gone("fell", by="low"))
    assert victims(made) == {"low"}
    assert set(placements(made)) == {"fresh"}


def test_a_guaranteed_job_inside_its_share_takes_back_whatever_happened() -> None:
    share = Share(pool=POOL, gpu_model="A100", guaranteed=8)
    tenants = {"t": TenantView(quota=QuotaSet(by="op", request="q", shares=(share,)))}
    jobs = [
        running("low", ["n1"], priority=20, tenant="other"),
        queued("high", priority=80, guarantee=True),
    ]
    past = (gone("high", by="low"),)
    made = plan(world([node("n1")], jobs, tenants=tenants, evictions=past), Policy())
    assert victims(made) == {"low"}


def test_the_same_victim_only_after_it_has_run_in_between() -> None:
    starting = launched(held(queued("low", priority=20), ["n1"]))
    jobs = [starting, queued("high", priority=80)]
    assert decided(jobs, gone("low", by="high")).moves == ()
    assert victims(decided(jobs, gone("low", by="another"))) == {"low"}
    assert victims(decided(pair(), gone("low", by="high"))) == {"low"}
    assert decided(pair(), gone("low", by="high"), min_run_s=60).moves == ()


# --- the limit ---------------------------------------------------------------------------------


def many(count: int) -> list[JobState]:
    low = [running(f"low{i}", [f"n{i}"], priority=20) for i in range(1, count + 1)]
    return [*low, *(queued(f"high{i}", priority=80) for i in range(1, count + 1))]


@pytest.mark.parametrize(("limit", "leave"), [(2, 2), (3, 3), (4, 3)])
def test_no_more_leave_in_a_minute_than_the_limit_says(limit: int, leave: int) -> None:
    made = decided(many(3), nodes=3, max_evictions_per_minute=limit)
    assert len(victims(made)) == leave
    waiting = [verdict.why for verdict in made.verdicts.values()]
    assert waiting == [Waiting.EVICTION_LIMIT] * (3 - leave)


def test_those_of_the_last_minute_count_and_older_ones_do_not() -> None:
    before = [gone("x", by="y", seconds=-59), gone("z", by="y", seconds=-61)]
    made = decided(many(3), *before, nodes=3, max_evictions_per_minute=2)
    assert len(victims(made)) == 1
    assert made.next_at == at(1)


def test_what_is_larger_than_the_limit_goes_when_nothing_else_did() -> None:
    low = [running(f"low{i}", [f"n{i}"], priority=20) for i in range(1, 4)]
    jobs = [*low, queued("high", 3, priority=80)]
    assert len(victims(decided(jobs, nodes=3, max_evictions_per_minute=2))) == 3
    made = decided(jobs, gone("x", by="y", seconds=-59), nodes=3, max_evictions_per_minute=2)
    assert made.moves == ()
    assert why(made, "high") is Waiting.EVICTION_LIMIT


def test_once_it_is_not_granted_to_one_those_behind_get_nothing_either() -> None:
    low = [running(f"low{i}", [f"n{i}"], priority=20) for i in range(1, 4)]
    jobs = [*low, queued("big", 3, priority=80), queued("small", priority=70)]
    made = decided(jobs, gone("x", by="y", seconds=-1), nodes=3, max_evictions_per_minute=2)
    assert made.moves == ()
    assert {why(made, "big"), why(made, "small")} == {Waiting.EVICTION_LIMIT}


def test_idle_jobs_that_give_way_are_not_counted() -> None:
    idle = [running(f"i{i}", [f"n{i}"], kind="idle") for i in range(1, 4)]
    jobs = [*idle, *(queued(f"high{i}") for i in range(1, 4))]
    assert len(victims(decided(jobs, nodes=3, max_evictions_per_minute=1))) == 3
