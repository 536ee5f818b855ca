"""Which fields of a job each fact changes, and that it changes no other."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest

from muster.domain import facts as f
from muster.domain.edges import IllegalEdge
from muster.domain.evolve import evolve
from muster.domain.phases import Phase
from muster.domain.state import JobState, Wait
from tests.domain.making import make
from tests.domain.stages import debug_holding, reclaim, stage, stop
from tests.support.lives import limits

MOVES = "phase since shown"
ENDS = f"{MOVES} reason ended_at"
LEAVES = f"{MOVES} eviction reason deadlines"

CHANGES: list[tuple[str, Phase, str]] = [
    ("admitted", Phase.SUBMITTED, f"{MOVES} queue_entry entered_at deadlines"),
    ("rejected", Phase.SUBMITTED, ENDS),
    ("scheduled", Phase.QUEUED, f"{MOVES} attempt held waits_for deadlines"),
    ("unscheduled", Phase.STARTING, f"{MOVES} held deadlines reason"),
    ("declined", Phase.QUEUED, f"{ENDS} deadlines"),
    ("launching", Phase.STARTING, "launched deadlines"),
    ("start_refused", Phase.STARTING, f"{MOVES} held launched deadlines reason ledgers"),
    ("start_failed", Phase.STARTING, LEAVES),
    ("started", Phase.STARTING, f"{MOVES} started_at deadlines"),
    ("preempted", Phase.STARTING, LEAVES),
    ("preempted", Phase.RUNNING, LEAVES),
    ("preempted", Phase.FAULTED, LEAVES),
    ("preempted", Phase.DEBUG_HOLDING, LEAVES),
    ("grace_shortened", Phase.EVICTING, "deadlines"),
    ("grace_shortened", Phase.STOPPING, "deadlines"),
    ("workers_failed", Phase.STARTING, f"{MOVES} deadlines reason"),
    ("workers_failed", Phase.RUNNING, f"{MOVES} deadlines reason"),
    ("workers_failed", Phase.EVICTING, f"{MOVES} deadlines reason"),
    ("succeeded", Phase.RUNNING, ENDS),
    ("succeeded", Phase.EVICTING, f"{ENDS} deadlines eviction"),
    ("succeeded", Phase.STOPPING, f"{ENDS} deadlines outcome"),
    ("released", Phase.EVICTING, "phase since held launched deadlines"),
    ("released", Phase.STOPPING, "held launched"),
    ("released", Phase.FAILED, "held launched"),
    ("released", Phase.QUEUED, ""),
    ("release_overdue", Phase.EVICTING, "deadlines"),
    ("release_overdue", Phase.STOPPING, "deadlines"),
    (
        "requeued",
        Phase.INTERRUPTED,
        f"{MOVES} queue_entry entered_at deadlines ledgers eviction avoid",
    ),
    ("not_requeued", Phase.INTERRUPTED, f"{ENDS} eviction"),
    ("requeue_exhausted", Phase.INTERRUPTED, f"{MOVES} reason eviction"),
    ("queue_timed_out", Phase.QUEUED, f"{MOVES} reason deadlines"),
    ("hang_suspected", Phase.RUNNING, ""),
    ("hung", Phase.RUNNING, f"{MOVES} deadlines reason"),
    ("restarted", Phase.FAULTED, f"{MOVES} attempt launched ledgers deadlines reason"),
    ("replacement_ordered", Phase.FAULTED, f"{LEAVES} ledgers avoid"),
    ("failed", Phase.FAULTED, f"{ENDS} deadlines"),
    ("escalated", Phase.FAULTED, f"{MOVES} reason deadlines"),
    ("run_timed_out", Phase.RUNNING, f"{MOVES} outcome reason deadlines"),
    ("stop_requested", Phase.QUEUED, f"{ENDS} deadlines requests"),
    ("stop_requested", Phase.INTERRUPTED, f"{ENDS} eviction requests"),
    ("stop_requested", Phase.ABNORMAL, f"{ENDS} requests"),
    ("stop_requested", Phase.STARTING, f"{MOVES} outcome reason deadlines requests"),
    ("stop_requested", Phase.RUNNING, f"{MOVES} outcome reason deadlines requests"),
    ("stop_requested", Phase.EVICTING, f"{MOVES} outcome reason eviction requests"),
    ("stop_requested", Phase.FAULTED, f"{MOVES} outcome reason deadlines requests"),
    ("stop_requested", Phase.DEBUG_HOLDING, f"{MOVES} deadlines requests"),
    ("stop_requested", Phase.STOPPING, "requests"),
    ("stopped", Phase.STOPPING, f"{MOVES} ended_at deadlines outcome"),
    ("hold_ended", Phase.DEBUG_HOLDING, f"{MOVES} ended_at deadlines outcome"),
    ("resumed", Phase.ABNORMAL, f"{MOVES} queue_entry entered_at deadlines reason requests"),
    ("respecified", Phase.QUEUED, "demand deadlines requests"),
    ("respecified", Phase.ABNORMAL, "demand requests"),
    ("prioritised", Phase.RUNNING, "demand requests"),
    ("relabelled", Phase.SUCCEEDED, "labels requests"),
    ("shared", Phase.SUCCEEDED, "requests"),
    ("scale_requested", Phase.RUNNING, ""),
    ("scaled_down", Phase.RUNNING, "held"),
    ("rescaled", Phase.RUNNING, "held"),
    ("checkpoint_saved", Phase.RUNNING, "progress"),
    ("checkpoint_saved", Phase.EVICTING, "progress"),
    ("resume_verified", Phase.RUNNING, "progress"),
    ("progress_lost", Phase.RUNNING, "progress"),
    ("archived", Phase.SUCCEEDED, "archived"),
    *(
        ("signalled", phase, "signalled")
        for phase in (Phase.RUNNING, Phase.EVICTING, Phase.ABNORMAL, Phase.FAILED)
    ),
]


def changed(before: JobState, after: JobState) -> set[str]:
    """Names of the fields that differ."""
    names = JobState.model_fields
    return {name for name in names if getattr(before, name) != getattr(after, name)}


def sure(event: str, state: JobState) -> f.Fact:
    """The fact with every choice made, so that what changes does not depend on luck."""
    changes: dict[str, dict[str, object]] = {
        "scheduled": {"waits_for": (Wait(tenant="acme", job="victim", attempt=2),)},
        "start_refused": {"permanent": True, "not_before": None},
        "requeued": {"not_before": None, "avoid": ("n1",)},
        "replacement_ordered": {"infrastructure": True, "restart": False},
        "resumed": {"queue": None},
        "respecified": {"demand": state.demand.model_copy(update={"queue": limits(9, 3)})},
        "prioritised": {"priority": 77},
        "relabelled": {"labels": {"team": "vision"}},
        "scaled_down": {"workers": ("worker-0",)},
    }
    return make(event, state, Random(1)).model_copy(update=changes.get(event, {}))


@pytest.mark.parametrize(
    ("event", "phase", "fields"), CHANGES, ids=[f"{e}-{phase}" for e, phase, _ in CHANGES]
)
def test_a_fact_changes_these_fields_and_no_other(event: str, phase: Phase, fields: str) -> None:
    life = stage(phase, event)
    before = life.state
    after = life.then(sure(event, before), after=7).state
    assert changed(before, after) == {"version", *fields.split()}
    assert after.version == before.version + 1


def test_the_table_speaks_of_every_event() -> None:
    assert {event for event, _, _ in CHANGES} == set(f.FACTS) - {"submitted"}


@pytest.mark.parametrize("phase", list(Phase))
def test_nothing_changes_in_the_state_that_a_fact_happens_to(phase: Phase) -> None:
    life = stage(phase)
    before = life.state.model_copy(deep=True)
    for event in f.FACTS:
        with suppress(IllegalEdge):
            evolve(life.state, sure(event, life.state), life.at)
    assert life.state == before


WHAT_STANDS = ("tenant", "job", "user", "name", "pool", "submitted_at")


def test_who_a_job_is_never_changes() -> None:
    for _, _, fields in CHANGES:
        assert not set(WHAT_STANDS) & set(fields.split())


@pytest.mark.parametrize("failed", [False, True])
def test_a_hold_carries_the_outcome_and_its_reason_through_an_eviction(*, failed: bool) -> None:
    life = debug_holding(failed=failed)
    outcome, held = life.state.outcome, life.state.held
    assert outcome is not None
    assert outcome.phase is (Phase.FAILED if failed else Phase.SUCCEEDED)
    life.then(reclaim(grace_s=0), f.Signalled(attempt=1))
    assert (life.state.outcome, life.state.held) == (outcome, held)
    state = life.then(f.Released(attempt=1)).state
    assert (state.phase, state.reason, state.outcome) == (outcome.phase, outcome.reason, None)
    assert (state.held, state.ended_at) == ({}, life.at)


def test_a_second_stop_keeps_what_the_first_one_led_to() -> None:
    life = stage(Phase.STOPPING)
    first = life.state
    state = life.then(stop("again"), after=20).state
    assert (state.outcome, state.deadlines, state.reason) == (
        first.outcome,
        first.deadlines,
        first.reason,
    )
    assert state.knows("again")
    assert state.knows("stop-1")


def test_a_worker_that_ends_while_a_hold_is_evicted_is_no_new_failure() -> None:
    life = debug_holding(failed=False).then(reclaim())
    failure = f.WorkerFailure(worker="worker-0", node="n2", exit_code=1)
    with pytest.raises(IllegalEdge, match="outcome that is held"):
        life.then(f.WorkersFailed(attempt=1, failures=(failure,)))
