"""Every waiting phase has a clock: which counts when, and whose it is."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.deadlines import (
    DEADLINES,
    RELEASE_MARGIN_S,
    ROUND_S,
    SETTLE_S,
    VERDICT_S,
    VICTIM_MARGIN_S,
    armed,
    counts,
    passed,
)
from muster.domain.edges import EDGES, Owner
from muster.domain.phases import Phase
from muster.domain.state import DeadlineKind as K
from muster.domain.state import JobState, Wait
from tests.support.lives import Life, auto_queue, spec


def _queued() -> JobState:
    return Life(spec(auto_queue=auto_queue(2, 1))).queued().state


LIVES: dict[K, tuple[JobState, float, Owner]] = {
    K.QUEUE: (_queued(), 2 * 3600, Owner.REQUEUE),
    K.ROUND: (Life().queued().state, ROUND_S, Owner.REQUEUE),
    K.PLAN: (
        Life().placed(waits_for=(Wait(tenant="t", job="v", attempt=1),), grace_s=30).state,
        30 + VICTIM_MARGIN_S,
        Owner.SCHEDULER,
    ),
    K.START: (Life(spec(start_deadline_s=77)).launching().state, 77, Owner.EXECUTOR),
    K.GRACE: (
        Life().running().then(f.Preempted(cause=EvictionCause.SPOT_RECLAIM, grace_s=30)).state,
        30,
        Owner.EXECUTOR,
    ),
    K.RELEASE: (
        Life(spec(grace_s=9)).running().then(f.StopRequested(by="ann", request="s")).state,
        9 + RELEASE_MARGIN_S,
        Owner.EXECUTOR,
    ),
    K.SETTLE: (Life().faulted().state, SETTLE_S, Owner.FAULT_TOLERANCE),
    K.VERDICT: (Life().faulted().state, VERDICT_S, Owner.FAULT_TOLERANCE),
    K.HOLD: (
        Life(spec(debug={"enabled": True, "hold_seconds": 600}))
        .running()
        .then(f.Succeeded(attempt=1))
        .state,
        600,
        Owner.EXECUTOR,
    ),
    K.RUN: (Life(spec(max_runtime_s=50)).running().state, 50, Owner.EXECUTOR),
}


def test_every_kind_has_a_row_and_a_case() -> None:
    assert set(DEADLINES) == set(K) == set(LIVES)


@pytest.mark.parametrize("kind", K)
def test_a_clock_counts_in_its_phase_and_is_armed_for_its_owner(kind: K) -> None:
    state, seconds, owner = LIVES[kind]
    due = state.due(kind)
    assert due is not None
    assert counts(kind, state)
    assert due - _begun(state, kind) == timedelta(seconds=seconds)
    assert (kind, due) in list(armed(state, owner))
    for other in set(Owner) - {owner}:
        assert kind not in dict(armed(state, other))


def _begun(state: JobState, kind: K) -> datetime:
    if kind is K.START:  # the deadline runs from `launching`, which does not change the phase
        return state.since + timedelta(seconds=1)
    return state.since


@pytest.mark.parametrize("kind", K)
def test_a_clock_is_over_at_its_instant_and_not_before(kind: K) -> None:
    state, _, _ = LIVES[kind]
    due = state.deadlines[kind]
    assert not passed(state, kind, due - timedelta(microseconds=1))
    assert passed(state, kind, due)


@pytest.mark.parametrize("kind", K)
def test_in_any_other_phase_it_does_not_count(kind: K) -> None:
    for phase in Phase:
        state = LIVES[kind][0].model_copy(update={"phase": phase})
        assert counts(kind, state) == (phase in DEADLINES[kind].phases)


def test_a_plan_has_its_clock_only_until_something_is_launched() -> None:
    state = LIVES[K.PLAN][0]
    assert not counts(K.PLAN, state.model_copy(update={"launched": True}))


@pytest.mark.parametrize("kind", K)
def test_what_follows_is_an_event_of_the_same_owner(kind: K) -> None:
    row = DEADLINES[kind]
    if row.event:
        assert row.owner in EDGES[row.event].owners


@pytest.mark.parametrize(
    "state", [each[0] for each in LIVES.values()], ids=[kind.value for kind in LIVES]
)
def test_an_end_leaves_no_clock(state: JobState) -> None:
    life = Life()
    life.state, life.at = state, state.since + timedelta(seconds=5)
    life.then(f.StopRequested(by="ann", request="stop"))
    if life.state.phase is Phase.STOPPING:
        life.then(f.Released(attempt=life.state.attempt), f.Stopped())
    assert life.state.terminal
    assert not life.state.deadlines
