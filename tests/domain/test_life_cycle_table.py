"""The life cycle as the product describes it, written down a second time and by hand."""

from __future__ import annotations

from random import Random

import pytest

from muster.domain.edges import EDGES, IllegalEdge, Owner, check_source, check_target, may_follow
from muster.domain.evolve import evolve
from muster.domain.facts import FACTS, Fact
from muster.domain.phases import ACTIVE, PARKED, TERMINAL, Phase
from tests.domain.making import MAKERS, make
from tests.domain.stages import STAGES, stage
from tests.support.lives import START

SOURCES: dict[str, str] = {
    "submitted": "",
    "admitted": "submitted",
    "rejected": "submitted",
    "scheduled": "queued",
    "unscheduled": "starting",
    "declined": "queued",
    "launching": "starting",
    "start_refused": "starting",
    "start_failed": "starting",
    "started": "starting",
    "preempted": "starting running faulted debug_holding",
    "grace_shortened": "evicting stopping",
    # whoever may still hold something: pods outlive phases, also those of the end
    "signalled": "starting running evicting faulted stopping debug_holding abnormal"
    " failed succeeded stopped",
    "workers_failed": "starting running evicting",
    "succeeded": "running evicting stopping",
    "released": "submitted rejected queued starting running evicting interrupted faulted stopping"
    " debug_holding abnormal stopped succeeded failed",
    "release_overdue": "evicting stopping",
    "requeued": "interrupted",
    "not_requeued": "interrupted",
    "requeue_exhausted": "interrupted",
    "queue_timed_out": "queued",
    "hang_suspected": "running",
    "hung": "running",
    "restarted": "faulted",
    "replacement_ordered": "faulted",
    "failed": "faulted",
    "escalated": "faulted",
    "run_timed_out": "running",
    # a job never rests in submitted: its verdict is written together with it
    "stop_requested": "queued interrupted abnormal starting running evicting faulted stopping"
    " debug_holding",
    "stopped": "stopping",
    "hold_ended": "debug_holding",
    "resumed": "abnormal",
    "respecified": "queued abnormal",
    "prioritised": "submitted queued starting running evicting interrupted faulted stopping"
    " debug_holding",
    "relabelled": "submitted rejected queued starting running evicting interrupted faulted stopping"
    " debug_holding abnormal stopped succeeded failed",
    "shared": "submitted rejected queued starting running evicting interrupted faulted stopping"
    " debug_holding abnormal stopped succeeded failed",
    "scale_requested": "running",
    "scaled_down": "running",
    "rescaled": "running",
    "checkpoint_saved": "running evicting",
    "resume_verified": "running",
    "progress_lost": "running",
    "archived": "rejected stopped succeeded failed",
}

TARGETS: dict[str, str] = {
    "submitted": "submitted",
    "admitted": "queued",
    "rejected": "rejected",
    "scheduled": "starting",
    "unscheduled": "queued",
    "declined": "failed",
    "start_refused": "queued abnormal",
    "start_failed": "evicting",
    "started": "running",
    "preempted": "evicting",
    "workers_failed": "faulted",
    "succeeded": "succeeded debug_holding",
    "requeued": "queued",
    "not_requeued": "failed",
    "requeue_exhausted": "abnormal",
    "queue_timed_out": "abnormal",
    "hung": "faulted",
    "restarted": "starting",
    "replacement_ordered": "evicting",
    "failed": "failed debug_holding",
    "escalated": "abnormal",
    "run_timed_out": "stopping",
    "stop_requested": "stopped stopping",
    "stopped": "stopped succeeded failed",
    "hold_ended": "succeeded failed",
    "resumed": "queued",
}
"""Events that are not here change no phase; `released` has a test of its own."""

WRITERS: dict[str, str] = {
    "admission": "submitted admitted rejected stop_requested resumed respecified prioritised"
    " relabelled shared",
    "scheduler": "scheduled unscheduled declined preempted grace_shortened rescaled",
    "executor": "launching start_refused start_failed started signalled workers_failed succeeded"
    " released release_overdue run_timed_out stopped hold_ended scale_requested scaled_down"
    " checkpoint_saved resume_verified progress_lost",
    "requeue": "declined requeued not_requeued requeue_exhausted queue_timed_out",
    "fault-tolerance": "hang_suspected hung restarted replacement_ordered failed escalated",
    "gateway": "archived",
    "notifier": "",
}

EVENTS = sorted(SOURCES)
PAIRS = [(event, phase) for event in EVENTS for phase in Phase]


def phases(words: str) -> set[Phase]:
    return {Phase(word) for word in words.split()}


def happens(event: str, phase: Phase, owner: Owner | None = None) -> Phase:
    """Let an event happen to a job in a phase; return the phase after it."""
    life = stage(phase, event)
    assert life.state.phase is phase
    return evolve(life.state, make(event, life.state, Random(1)), life.at, owner).phase


def test_the_tables_speak_of_every_event_and_every_phase() -> None:
    assert set(SOURCES) == set(EDGES) == set(FACTS) == set(MAKERS)
    assert set(STAGES) == set(Phase)
    assert set(WRITERS) == set(Owner)


@pytest.mark.parametrize(("event", "phase"), PAIRS)
def test_an_event_follows_exactly_the_phases_of_the_table(event: str, phase: Phase) -> None:
    assert may_follow(event, phase) is (phase in phases(SOURCES[event]))
    if phase not in phases(SOURCES[event]):
        with pytest.raises(IllegalEdge, match=event):
            happens(event, phase)
        return
    after = happens(event, phase)
    if event != "released":
        assert after in phases(TARGETS.get(event, phase.value))


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_leads_where_the_table_says_and_nowhere_else(event: str) -> None:
    if event == "released":
        return
    allowed = phases(TARGETS.get(event, ""))
    befores: set[Phase | None] = {*phases(SOURCES[event])}
    for before in befores or {None}:
        for after in Phase:
            expected = after in allowed if allowed else after is before
            if expected:
                check_target(event, before, after)
            else:
                with pytest.raises(IllegalEdge, match=f"{event} cannot lead"):
                    check_target(event, before, after)


@pytest.mark.parametrize("phase", list(Phase))
def test_a_release_changes_the_phase_of_an_eviction_alone(phase: Phase) -> None:
    expected = Phase.INTERRUPTED if phase is Phase.EVICTING else phase
    assert happens("released", phase) is expected


@pytest.mark.parametrize("owner", list(Owner))
@pytest.mark.parametrize("event", EVENTS)
def test_each_event_has_its_writers_and_nobody_else_may_write_it(event: str, owner: Owner) -> None:
    mine = event in WRITERS[owner].split()
    assert (owner in EDGES[event].owners) is mine
    if event == "submitted":
        return
    phase = min(phases(SOURCES[event]))
    if mine:
        happens(event, phase, owner)
    else:
        with pytest.raises(IllegalEdge, match=f"not by {owner}"):
            happens(event, phase, owner)


def test_only_declined_has_two_writers() -> None:
    assert [event for event in EVENTS if len(EDGES[event].owners) > 1] == ["declined"]


def test_a_life_begins_with_submitted_and_never_again() -> None:
    first = evolve(None, MAKERS["submitted"](stage(Phase.QUEUED).state, Random(1)), START)
    assert (first.phase, first.version, first.attempt) == (Phase.SUBMITTED, 1, 0)
    check_source("submitted", Owner.ADMISSION, None)
    for event in EVENTS:
        if event != "submitted":
            with pytest.raises(IllegalEdge, match="cannot follow nothing"):
                check_source(event, EDGES[event].owners[0], None)


def test_what_a_phase_is() -> None:
    assert phases("rejected stopped succeeded failed") == TERMINAL
    assert {Phase.ABNORMAL} == PARKED
    assert set(Phase) - TERMINAL - PARKED == ACTIVE
    for phase in Phase:
        state = stage(phase).state
        assert state.terminal is (phase in TERMINAL)
        assert state.parked is (phase is Phase.ABNORMAL)
        assert (state.ended_at is not None) is state.terminal


@pytest.mark.parametrize("phase", sorted(TERMINAL))
def test_an_end_absorbs_every_report(phase: Phase) -> None:
    follow = {event for event in EVENTS if may_follow(event, phase)}
    rest = {"signalled"} if phase is not Phase.REJECTED else set()
    assert follow == {"released", "relabelled", "shared", "archived"} | rest


def test_a_parked_job_obeys_people_and_nobody_else() -> None:
    moves = {e for e in EVENTS if may_follow(e, Phase.ABNORMAL) and TARGETS.get(e)}
    assert moves == {"resumed", "stop_requested"}


@pytest.mark.parametrize("event", ["relabelled", "shared"])
def test_after_the_archive_only_what_people_call_it_changes(event: str) -> None:
    life = stage(Phase.SUCCEEDED)
    life.then(make("archived", life.state, Random(1)))
    assert life.state.archived
    assert life.then(make(event, life.state, Random(1))).state.archived
    for other in ("released", "signalled", "archived"):
        with pytest.raises(IllegalEdge, match="cannot follow archived"):
            life.then(make(other, life.state, Random(1)))


OF_ATTEMPT = "launching start_refused start_failed started signalled workers_failed succeeded"


OF_PROGRESS = "checkpoint_saved resume_verified progress_lost"


@pytest.mark.parametrize("event", [*OF_ATTEMPT.split(), "released", *OF_PROGRESS.split()])
@pytest.mark.parametrize("other", [-1, 1])
def test_a_word_about_another_attempt_is_refused(event: str, other: int) -> None:
    life = stage(max(phases(SOURCES[event])), event)
    fact: Fact = make(event, life.state, Random(1))
    stale = fact.model_copy(update={"attempt": life.state.attempt + other})
    with pytest.raises(IllegalEdge, match="now is 1"):
        evolve(life.state, stale, life.at)
