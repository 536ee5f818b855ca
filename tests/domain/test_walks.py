"""Rules of a job's life that hold after every event of any life, however strange."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from hypothesis import given, settings

from muster.contracts.events import job_event, read_event
from muster.domain import facts as f
from muster.domain.deadlines import DEADLINES, armed, counts
from muster.domain.edges import EDGES, Owner
from muster.domain.evolve import fold
from muster.domain.phases import Phase, Shown
from muster.domain.state import DeadlineKind, JobState
from tests.domain.walks import WALKS, Step, walk

MANY = settings(max_examples=300, deadline=None)
FEW = settings(max_examples=30, deadline=None)
TERMINAL = {Phase.REJECTED, Phase.STOPPED, Phase.SUCCEEDED, Phase.FAILED}


def moves(steps: list[Step]) -> Iterator[tuple[JobState, f.Fact, JobState]]:
    for step in steps:
        if step.before is not None:
            yield step.before, step.fact, step.after


@given(steps=WALKS)
@MANY
def test_versions_rise_by_one_and_attempts_only_by_a_placement_or_a_restart(
    steps: list[Step],
) -> None:
    for before, fact, after in moves(steps):
        assert after.version == before.version + 1
        begins = fact.event in {"scheduled", "restarted"}
        assert after.attempt == before.attempt + begins


@given(steps=WALKS)
@MANY
def test_an_end_is_an_end(steps: list[Step]) -> None:
    for before, fact, after in moves(steps):
        if before.phase in TERMINAL:
            assert fact.event in {"released", "signalled", "relabelled", "shared", "archived"}
            assert (after.phase, after.reason) == (before.phase, before.reason)
            assert (after.ended_at, after.since) == (before.ended_at, before.since)
        if before.archived:
            assert fact.event in {"relabelled", "shared"}


@given(steps=WALKS)
@MANY
def test_a_history_folds_to_its_last_state(steps: list[Step]) -> None:
    assert fold((step.fact, step.at) for step in steps) == steps[-1].after


COUNTS_IN: dict[str, set[str]] = {
    "queue": {"queued", "starting", "evicting", "interrupted", "faulted"},
    "round": {"queued", "starting", "evicting", "interrupted", "faulted"},
    "plan": {"starting"},
    "start": {"starting"},
    "grace": {"evicting", "stopping"},
    "release": {"evicting", "stopping"},
    "settle": {"faulted"},
    "verdict": {"faulted"},
    "hold": {"debug_holding"},
    "run": {"running"},
}
"""Where a deadline may be stored; the clocks of a queue entry go on until the job runs."""


@given(steps=WALKS)
@MANY
def test_a_deadline_is_stored_only_where_it_means_something(steps: list[Step]) -> None:
    for step in steps:
        state = step.after
        for kind in state.deadlines:
            assert state.phase.value in COUNTS_IN[kind.value], (kind, state.phase)
            assert counts(kind, state) or kind in {DeadlineKind.QUEUE, DeadlineKind.ROUND}
        told = {kind for owner in Owner for kind, _ in armed(state, owner)}
        assert told == {kind for kind in state.deadlines if counts(kind, state)}


@given(steps=WALKS)
@MANY
def test_every_wait_has_exactly_its_clock(steps: list[Step]) -> None:
    for step in steps:
        assert _clocks(step.after) == _expected(step.after), step.fact.event


def _clocks(state: JobState) -> set[str]:
    # told once, and then no more; and only while others still run
    optional = {DeadlineKind.RELEASE, DeadlineKind.SETTLE}
    return {kind.value for kind in state.deadlines if counts(kind, state)} - optional


def _expected(state: JobState) -> set[str]:
    demand = state.demand
    match state.phase:
        case Phase.QUEUED:
            return {"queue"} if demand.queue else {"round"} if state.one_shot else set()
        case Phase.STARTING:
            planned = DeadlineKind.PLAN in state.deadlines
            return {"plan"} if planned and not state.launched else {"start"}
        case Phase.RUNNING:
            return {"run"} if demand.max_runtime_s else set()
        case Phase.EVICTING | Phase.STOPPING:
            return {"grace"}
        case Phase.FAULTED:
            return {"verdict"}
        case Phase.DEBUG_HOLDING:
            return {"hold"}
    return set()


@given(steps=WALKS)
@MANY
def test_what_is_held_comes_with_a_placement_and_goes_with_a_proof(steps: list[Step]) -> None:
    for before, fact, after in moves(steps):
        old, new = before.placed_on, after.placed_on
        if new.keys() - old.keys():
            assert fact.event in {"scheduled", "rescaled"}
        if old.keys() - new.keys():
            assert fact.event in {"released", "unscheduled", "start_refused", "scaled_down"}
        if after.phase in {Phase.SUBMITTED, Phase.REJECTED, Phase.QUEUED, Phase.INTERRUPTED}:
            assert not after.held
        assert all(after.held.values())


@given(steps=WALKS)
@MANY
def test_each_entry_of_the_queue_is_counted_and_dated(steps: list[Step]) -> None:
    for before, fact, after in moves(steps):
        if after.queue_entry == before.queue_entry:
            assert after.entered_at == before.entered_at
            continue
        assert after.queue_entry == before.queue_entry + 1
        assert fact.event in {"admitted", "requeued", "resumed", "start_refused"}
        assert after.phase is Phase.QUEUED
        assert after.entered_at == after.since
        if after.demand.queue:
            hours = timedelta(hours=after.demand.queue.max_queue_hours)
            assert after.deadlines[DeadlineKind.QUEUE] == after.since + hours


@given(steps=WALKS)
@MANY
def test_no_event_moves_two_ledgers_and_only_a_resume_forgives(steps: list[Step]) -> None:
    for before, fact, after in moves(steps):
        old, new = before.ledgers, after.ledgers
        risen = [
            new.requeues > old.requeues,
            new.restarts > old.restarts,
            new.starts > old.starts,
            len(new.infrastructure) > len(old.infrastructure),
        ]
        assert sum(risen) <= 1, fact.event
        assert new.requeues - old.requeues in {0, 1} or fact.event == "resumed"
        assert new.restarts - old.restarts in {0, 1} or fact.event == "resumed"
        if isinstance(fact, f.Requeued):
            assert risen[0] == fact.counted


@given(steps=WALKS)
@MANY
def test_what_is_shown_follows_from_the_phase(steps: list[Step]) -> None:
    for before, _, after in moves(steps):
        match after.phase:
            case Phase.INTERRUPTED:
                assert after.shown is before.shown
            case Phase.FAULTED:
                assert after.shown is Shown.HANDLING_FAULT
            case Phase.QUEUED:
                assert after.shown is (Shown.SUBMITTED if after.one_shot else Shown.QUEUED)
            case Phase.STARTING:
                assert after.shown in {Shown.STARTING, Shown.RESTARTING}
            case phase:
                assert after.shown.value == phase.value


@given(steps=WALKS)
@MANY
def test_a_request_is_remembered_among_the_last_32(steps: list[Step]) -> None:
    asked = [step.fact.request for step in steps if isinstance(step.fact, f.Asked)]
    requests = steps[-1].after.requests
    assert requests == ("r-j1", *asked)[-32:]


@given(steps=WALKS)
@FEW
def test_every_event_of_a_life_survives_the_log(steps: list[Step]) -> None:
    for step in steps:
        owner = EDGES[step.fact.event].owners[0]
        event = job_event(step.after, step.fact, event_id="i", source=f"muster/{owner}", at=step.at)
        body = event.to_bytes()
        back = read_event(event.subject, body)
        assert back == event
        assert back.to_bytes() == body


def test_walks_go_everywhere() -> None:
    steps = [step for seed in range(300) for step in walk(seed, 60)]
    assert {step.fact.event for step in steps} | {"rejected"} == set(EDGES)
    assert {step.after.phase for step in steps} | {Phase.REJECTED} == set(Phase)
    clocks = {kind for step in steps for kind in step.after.deadlines}
    assert clocks == set(DEADLINES)
