"""Random walks of facts through the life cycle: what holds after every one of them."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.domain import facts as f
from muster.domain.deadlines import counts
from muster.domain.edges import EDGES, IllegalEdge
from muster.domain.evolve import evolve, fold
from muster.domain.phases import TERMINAL, Phase
from muster.domain.state import KNOWN_REQUESTS, JobState, Ledgers
from tests.domain.fact_strategies import possible
from tests.support.lives import START, Life, auto_queue, spec

SPECS = (
    spec(),
    spec(auto_queue=auto_queue(1, 2)),
    spec(auto_queue=auto_queue(2, 0), max_runtime_s=60),
    spec(resource={"type": "reserved", "replicas": 2, "gpus_per_replica": 1}),
    spec(
        type="RayJob",
        debug={"enabled": True, "hold_seconds": 60},
        resource={"type": "on_demand", "replicas": 2, "gpus_per_replica": 1},
    ),
)
History = list[tuple[f.Fact, datetime]]
EMPTIES = {
    "released",
    "unscheduled",
    "start_refused",
}


def _begin(data: st.DataObject) -> tuple[JobState, History]:
    chosen = data.draw(st.sampled_from(SPECS))
    state = Life(chosen).state
    first = f.Submitted(
        tenant=state.tenant,
        job=state.job,
        user=state.user,
        pool=state.pool,
        request="r-j1",
        digest="d",
        spec=chosen,
        demand=chosen.demand(),
    )
    return state, [(first, START)]


def _check(before: JobState, fact: f.Fact, after: JobState, at: datetime) -> None:
    assert after.version == before.version + 1
    rises = isinstance(fact, f.Scheduled | f.Restarted)
    assert after.attempt == before.attempt + int(rises)
    assert after.queue_entry - before.queue_entry in {0, 1}
    if before.held and not after.held:
        assert fact.event in EMPTIES
    if before.phase in TERMINAL:
        assert after.phase is before.phase
        assert after.ended_at == before.ended_at
        assert after.reason == before.reason
    if after.phase in TERMINAL | {Phase.ABNORMAL}:
        assert not after.deadlines
        assert after.reason is not None
    if after.phase in {Phase.QUEUED, Phase.INTERRUPTED, Phase.SUBMITTED}:
        assert not after.held
    assert (after.phase in TERMINAL) == (after.ended_at is not None)
    assert len(after.requests) <= KNOWN_REQUESTS
    assert after.since >= before.since
    assert _risen(before.ledgers, after.ledgers) <= 1
    _has_a_clock(before, fact, after)


def _risen(old: Ledgers, new: Ledgers) -> int:
    numbers = (
        max(0, new.requeues - old.requeues),
        max(0, new.restarts - old.restarts),
        max(0, new.starts - old.starts),
        len(set(new.infrastructure) - set(old.infrastructure)),
    )
    return sum(numbers)


def _has_a_clock(before: JobState, fact: f.Fact, after: JobState) -> None:
    if after.phase in {Phase.FAULTED, Phase.DEBUG_HOLDING, Phase.STARTING}:
        assert any(counts(kind, after) for kind in after.deadlines), fact.event
    limited = after.demand.queue is not None or after.one_shot
    if after.phase is Phase.QUEUED and limited:
        assert any(counts(kind, after) for kind in after.deadlines), fact.event


@given(data=st.data())
@settings(max_examples=250, deadline=None)
def test_every_walk_of_legal_facts_keeps_the_rules(data: st.DataObject) -> None:
    state, history = _begin(data)
    at = START
    for _ in range(data.draw(st.integers(5, 40))):
        fact = data.draw(possible(state))
        at += timedelta(seconds=data.draw(st.integers(0, 4000)))
        try:
            after = evolve(state, fact, at, EDGES[fact.event].owners[0])
        except IllegalEdge:
            continue  # the edge allows it, a field of the state does not
        _check(state, fact, after, at)
        state = after
        history.append((fact, at))
    assert fold(history) == state


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_a_state_reads_back_from_json_as_it_was(data: st.DataObject) -> None:
    state, _ = _begin(data)
    at = START
    for _ in range(data.draw(st.integers(1, 25))):
        fact = data.draw(possible(state))
        at += timedelta(seconds=1)
        try:
            state = evolve(state, fact, at)
        except IllegalEdge:
            continue
        text = state.model_dump_json(exclude_none=True)
        assert JobState.model_validate_json(text) == state


@given(data=st.data(), wrong=st.integers(-3, 3).filter(bool))
@settings(max_examples=100, deadline=None)
def test_a_word_about_another_attempt_changes_nothing(data: st.DataObject, wrong: int) -> None:
    life = Life().running()
    attempt = max(0, life.state.attempt + wrong)
    kinds = [f.Launching, f.Started, f.Signalled, f.Succeeded, f.Released]
    fact = data.draw(st.sampled_from(kinds))(attempt=attempt)
    if attempt == life.state.attempt:
        return
    try:
        evolve(life.state, fact, life.at)
    except IllegalEdge:
        return
    raise AssertionError(f"{fact.event} of attempt {attempt} counted")
