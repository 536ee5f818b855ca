"""What is metered is what was held, for every life, however its events arrive."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.demand import ResourceClass
from muster.domain.metering import (
    WAITING,
    Moment,
    held_milli,
    intervals,
    is_dimension,
    is_over,
    summed,
)
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.domain.usage import CARD
from tests.domain.walks import WALKS, Step
from tests.support.lives import START, Life, auto_queue, spec

HOUR = timedelta(hours=1)


def moments(steps: Sequence[Step]) -> list[Moment]:
    return [(step.after, step.at) for step in steps]


def held_over_time(told: Sequence[Moment], until_s: int) -> int:
    """Thousandths of GPUs x microseconds, added up state by state, the plain way."""
    ends = [at for _, at in told[1:]] + [told[-1][1] + timedelta(seconds=until_s)]
    sums = 0
    for (state, began), ended in zip(told, ends, strict=True):
        for node in state.held:
            for worker in state.held[node]:
                role = state.demand.role_of(worker)
                shared = role.gpu_milli if worker in state.cards else CARD * bool(role.gpu_milli)
                sums += (role.gpus * CARD + shared) * ((ended - began) // timedelta(microseconds=1))
    return sums


def charge(found: Sequence[object]) -> int:
    return sum(each.span * sum(each.milli.values()) for each in found)  # type: ignore[attr-defined]


@given(steps=WALKS, more=st.integers(0, 10_000))
@settings(max_examples=300, deadline=None)
def test_the_sum_is_the_integral_of_what_was_held(steps: list[Step], more: int) -> None:
    told = moments(steps)
    until = told[-1][1] + timedelta(seconds=more)
    found = intervals(told, until)
    assert charge(found) == held_over_time(told, more)
    for one, following in pairwise(found):
        assert one.began < one.ended <= following.began < following.ended
    for each in found:
        assert not (each.phase in WAITING and each.milli)


@given(steps=WALKS, seed=st.integers(0, 2**16))
@settings(max_examples=150, deadline=None)
def test_doubled_and_late_events_change_nothing(steps: list[Step], seed: int) -> None:
    told = moments(steps)
    until = told[-1][1] + HOUR
    mixed = [*told, *told[: len(told) // 2]]
    Random(seed).shuffle(mixed)
    assert intervals(mixed, until) == intervals(told, until)


@given(steps=WALKS, at=st.integers(0, 200_000))
@settings(max_examples=150, deadline=None)
def test_two_parts_of_the_time_come_to_the_whole(steps: list[Step], at: int) -> None:
    told = moments(steps)
    until, cut = told[-1][1] + HOUR, START + timedelta(seconds=at)
    parts = [*intervals(told, min(cut, until)), *intervals(told, until, since=cut)]
    assert charge(parts) == charge(intervals(told, until))
    assert sum(p.span for p in parts) == sum(p.span for p in intervals(told, until))


def of(life: Life, *, until: timedelta = HOUR, told: list[Moment]) -> dict[str, tuple[float, ...]]:
    rows = summed([(life.state, intervals(told, life.at + until))], by=("phase",))
    return {key[0]: (used.seconds, used.gpu_seconds) for key, used in rows.items()}


def recorded(life: Life, *facts: f.Fact, told: list[Moment], after: float = 1.0) -> None:
    for fact in facts:
        life.then(fact, after=after)
        told.append((life.state, life.at))


def test_an_evicted_job_pays_until_it_is_gone_and_nothing_while_it_waits() -> None:
    life = Life(spec(auto_queue=auto_queue()))
    told: list[Moment] = [(life.state, life.at)]
    place = {"n1": ("worker-0",), "n2": ("worker-1",)}
    recorded(life, f.Admitted(), f.Scheduled(placement=place), told=told, after=100)
    recorded(life, f.Launching(attempt=1), f.Started(attempt=1), told=told, after=10)
    leave = f.Preempted(cause=EvictionCause.SPOT_RECLAIM, grace_s=30)
    recorded(life, leave, f.Signalled(attempt=1), f.Released(attempt=1), told=told, after=50)
    recorded(life, f.Requeued(cause=EvictionCause.SPOT_RECLAIM, counted=True), told=told, after=5)
    assert of(life, told=told) == {
        "submitted": (100.0, 0.0),
        "queued": (100.0 + 3600, 0.0),
        "starting": (20.0, 160.0),
        "running": (50.0, 400.0),
        "evicting": (100.0, 800.0),
        "interrupted": (5.0, 0.0),
    }
    used = summed([(life.state, intervals(told, life.at + HOUR))])[()]
    assert (used.waiting_seconds, used.waiting_gpu_seconds) == (3805.0, 0.0)


def test_who_ended_pays_until_it_is_released_and_is_over_then() -> None:
    life = Life().running()
    told = [(life.state, life.at)]
    recorded(life, f.Succeeded(attempt=1), told=told)
    assert not is_over(life.state)
    assert of(life, told=told)["succeeded"] == (3600.0, 8 * 3600.0)
    recorded(life, f.Released(attempt=1), told=told, after=7)
    assert is_over(life.state)
    assert of(life, told=told)["succeeded"] == (7.0, 56.0)


def test_a_share_of_a_card_counts_as_that_share() -> None:
    job = spec(resource={"type": "spot", "replicas": 1, "gpu_milli_per_replica": 300})
    life = Life(job).placed({"n1": ("worker-0",)}, cards={"worker-0": 2})
    (found,) = intervals([(life.state, life.at)], life.at + timedelta(seconds=10))
    assert found.gpu_seconds == 3.0
    assert (found.attempt, found.resource_class) == (1, ResourceClass.SPOT)


def test_gpus_stand_under_the_model_of_their_node() -> None:
    life = Life().placed()
    models = {"n1": "H100"}
    assert held_milli(life.state, lambda pool, node: models.get(node)) == {"H100": 4000, "?": 4000}
    found = intervals(
        [(life.state, life.at)], life.at + HOUR, models=lambda pool, node: models.get(node)
    )
    rows = summed([(life.state, found)], by=("model",))
    assert {key[0]: used.gpu_seconds for key, used in rows.items()} == {
        "H100": 14400.0,
        "?": 14400.0,
    }


def test_nothing_is_counted_twice_where_a_clock_went_back() -> None:
    life = Life().running()
    before = life.state
    life.then(f.Signalled(attempt=1))
    told = [(before, START), (life.state, START - HOUR), (life.state, START - HOUR)]
    (found,) = intervals(told, START + HOUR)
    assert (found.began, found.ended, found.phase) == (START, START + HOUR, Phase.RUNNING)


def test_sums_go_by_whatever_is_asked_for() -> None:
    life = Life(spec(labels={"team": "vision"})).running()
    own = intervals([(life.state, life.at)], life.at + HOUR)
    by = ("tenant", "user", "pool", "class", "phase", "job", "label:team", "label:run")
    ((key, used),) = summed([(life.state, own)], by).items()
    assert key == ("acme", "ann", "default", "spot", "running", "acme/j1", "vision", "")
    assert used.jobs == 1


@pytest.mark.parametrize(
    ("text", "known"), [("class", True), ("label:team", True), ("label:", False), ("nodes", False)]
)
def test_what_use_may_be_summed_up_by(text: str, known: bool) -> None:
    assert is_dimension(text) is known


def test_an_ended_job_of_which_only_the_last_event_is_left_has_no_use() -> None:
    life = Life().running().then(f.Succeeded(attempt=1), f.Released(attempt=1))
    state: JobState = life.state
    assert intervals([(state, life.at)], life.at + HOUR) == []
